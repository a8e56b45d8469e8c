package hooks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/audit"
	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/testserver/waits"
	"callgate/permissions/store"
)

// seen is what a hook's program got.
type seen struct {
	Args  []string
	Env   []string
	Stdin string
}

// TestMain makes this test binary a program that hooks can start: it writes what it got into a file.
func TestMain(m *testing.M) {
	if file := os.Getenv("HOOK_FILE"); file != "" {
		stdin, err := io.ReadAll(os.Stdin)
		text, _ := json.Marshal(seen{os.Args[1:], os.Environ(), string(stdin)})
		if err := errors.Join(err, os.WriteFile(file+".tmp", text, 0o600), os.Rename(file+".tmp", file)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if text := os.Getenv(crashVariable); text != "" {
		fmt.Fprintln(os.Stderr, crash(text))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// lines is a log that many goroutines write to.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func start(t *testing.T, hooks ...Config) (*Runner, *lines) {
	t.Helper()
	r, err := New(Options{Hooks: hooks, Worker: "w1", StateFile: filepath.Join(t.TempDir(), "state", "hooks.json"), Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	log := &lines{}
	if err := r.Start(slog.New(slog.NewTextHandler(log, nil))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r, log
}

// hostile lists texts that do harm where they are read as code, or are taken for something else.
var hostile = []string{
	"$(touch PWNED)", "`touch PWNED`", "; touch PWNED", "| touch PWNED", "&& touch PWNED #", "\ntouch PWNED\n", "' ; touch PWNED '",
	`" ; touch PWNED "`, "--exec=touch PWNED", "-e touch PWNED", "${IFS}touch${IFS}PWNED", "%PATH% & calc", "\x00touch PWNED", "\u202etouch",
	"{{args}}", "{{error}}", "a b\tc", "*", "~", "\\", "é\xff", strings.Repeat("x", 300_000),
}

func TestNoPlaceholderCanInject(t *testing.T) {
	file := filepath.Join(t.TempDir(), "seen")
	var command []any
	env := []string{"HOOK_FILE=" + file}
	command = append(command, self(t))
	for _, p := range placeholders {
		command = append(command, "{{"+p.name+"}}", p.name+"={{ "+p.name+" }}")
		env = append(env, "VALUE_"+p.name+"={{"+p.name+"}}")
	}
	r, _ := start(t, Config{Name: "h", Event: []string{ToolFailed}, Action: Action{Command: command, Env: env}})
	for _, text := range hostile {
		arguments, err := json.Marshal(map[string]string{"a": text})
		if err != nil {
			t.Fatal(err)
		}
		e := Event{
			Name: ToolFailed, SessionID: text, Agent: text, Tool: text, ToolName: text, Kind: text, Server: text, Arguments: arguments,
			Risk: text, Decision: text, Error: text, Duration: time.Second, Ended: true,
		}
		if _, err := r.Test(t.Context(), "h", e); err != nil {
			t.Fatalf("%.40q: %v", text, err)
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var got seen
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Args) != 2*len(placeholders) {
			t.Errorf("%.40q: %d words, want %d: %.2000q", text, len(got.Args), 2*len(placeholders), got.Args)
		}
		for i, p := range placeholders {
			word := got.Args[2*i]
			if strings.HasPrefix(word, "-") {
				t.Errorf("%.40q: the value of %s passes for an option: %.100q", text, p.name, word)
			}
			if got.Args[2*i+1] != p.name+"="+word || !slices.Contains(got.Env, "VALUE_"+p.name+"="+word) {
				t.Errorf("%.40q: %s is not the same everywhere: %.100q, %.100q", text, p.name, word, got.Args[2*i+1])
			}
			if len(word) > maxValue+len("…") {
				t.Errorf("%s has %d bytes", p.name, len(word))
			}
		}
		var m map[string]any
		if err := json.Unmarshal([]byte(got.Stdin), &m); err != nil {
			t.Errorf("%.40q: standard input is no JSON: %v: %.300q", text, err, got.Stdin)
		}
	}
}

func TestConfigurations(t *testing.T) {
	dir := t.TempDir()
	for _, script := range []string{"notify.sh", "two words.sh"} {
		if err := os.WriteFile(filepath.Join(dir, script), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if runtime.GOOS == "windows" {
		t.Skip("the programs are those of a POSIX system")
	}
	words := func(w ...any) any { return w }
	for _, c := range []struct {
		command any
		env     []string
		want    string // part of the error; "" means none
	}{
		{command: "./notify.sh {{agentId}} {{ error }}"},
		{command: words("./two words.sh", "{{args}}")},
		{command: words("sh", "-c", `echo "$1"`, "sh", "{{args}}")},
		{command: words("sh", "-c", `echo "$MESSAGE" | cat`), env: []string{"MESSAGE={{error}}"}},
		{command: words("sh", "~/notify.sh", "{{args}}")},
		{command: words("env", "A=b", "./notify.sh", "{{args}}")},
		{command: "echo {{toolName}} >> log", want: `list of words`},
		{command: "echo $(date)", want: "list of words"},
		{command: "./notify.sh && echo done", want: "list of words"},
		{command: `./notify.sh "two words"`, want: "list of words"},
		{command: words("sh", "-c", "echo {{args}}"), want: `could become a command. The script that sh runs depends on "echo {{args}}".`},
		{command: words("bash", "-lc", "{{args}}"), want: "could become a command"},
		{command: words("sh", "{{args}}"), want: "could become a command"},
		{command: words("env", "sh", "-c", "notify '{{error}}'"), want: "could become a command"},
		{command: words("timeout", "5", "sh", "-c", "{{error}}"), want: "could become a command"},
		{command: words("xargs", "{{args}}"), want: "could become a command"},
		{command: words("perl", "-e", "print '{{args}}'"), want: "can run words as code (code print '{{args}}')"},
		{command: words("awk", "{{args}}"), want: "can run words as code"},
		{command: words("./notify.sh"), env: []string{"LD_PRELOAD={{args}}"}, want: "makes programs run something"},
		{command: words("./notify.sh"), env: []string{"CALLGATE_X=1"}, want: "callgate's own"},
		{command: words("./notify.sh"), env: []string{"novalue"}, want: "NAME=value"},
		{command: words("{{toolName}}"), want: "cannot depend on the event"},
		{command: words("./notify.sh", "{{tool}}"), want: "placeholder {{tool}} is not known: use {{toolName}}"},
		{command: words("./missing.sh"), want: "/missing.sh cannot be started: no such file or directory"},
		{command: words("no-such-program-anywhere"), want: "no-such-program-anywhere cannot be started: executable file not found in $PATH"},
		{command: words("./notify.sh", 3), want: "put it in quotes"},
		{command: words(), want: "command is missing"},
		{command: "", want: "command is missing"},
	} {
		r, err := New(Options{Dir: dir, Hooks: []Config{{Name: "h", Event: []string{ToolCompleted}, Action: Action{Type: "command", Command: c.command, Env: c.env}}}})
		if err == nil {
			if problem := r.List(nil)[0].Problem; problem != "" {
				err = errors.New(problem)
			}
		}
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%q: %v", c.command, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%q: got %v, want %q", c.command, err, c.want)
		case err != nil && (strings.Contains(err.Error(), "$event") || strings.Contains(err.Error(), "stat ")): // the user did not write those
			t.Errorf("%q: %v", c.command, err)
		}
	}
}

func TestBrokenHooks(t *testing.T) {
	log := Action{Message: "x"}
	for want, hooks := range map[string][]Config{
		"needs a name":        {{Event: []string{ToolFailed}, Action: log}},
		"event is missing":    {{Name: "a", Action: log}},
		`event "tool.tested"`: {{Name: "a", Event: []string{"tool.tested"}, Action: log}},
		"matcher":             {{Name: "a", Event: []string{ToolFailed}, Matcher: "!(a", Action: log}},
		"a name of its own":   {{Name: "a", Event: []string{ToolFailed}, Action: log}, {Name: "A", Event: []string{ToolFailed}, Action: log}},
		"timeout":             {{Name: "a", Event: []string{ToolFailed}, Action: log, Timeout: time.Hour}},
		`type "mail"`:         {{Name: "a", Event: []string{ToolFailed}, Action: Action{Type: "mail"}}},
		"when":                {{Name: "a", Event: []string{ToolFailed}, Action: log, When: "after all"}},
	} {
		if _, err := New(Options{Hooks: hooks}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if r, err := New(Options{}); r != nil || err != nil {
		t.Errorf("without hooks: %v, %v", r, err)
	}
	var none *Runner
	if err := none.Start(nil); err != nil {
		t.Error(err)
	}
	none.Fire(Event{Name: ToolFailed})
	none.Watch(nil)
	none.Close()
	if none.Wants(ToolFailed) || none.List(nil) != nil || none.Has("x") || none.Files() != nil {
		t.Error("a runner without hooks has some")
	}
}

func TestMatcher(t *testing.T) {
	for _, c := range []struct {
		matcher string
		event   Event
		want    bool
	}{
		{"", Event{}, true},
		{"*", Event{}, true},
		{"shell_exec", Event{Tool: "desk_start_process", Kind: "shell_exec"}, true},
		{"desk_*", Event{Tool: "desk_start_process", Kind: "shell_exec"}, true},
		{"explore", Event{Tool: "a_b", Agent: "explore"}, true},
		{"github", Event{Server: "github"}, true},
		{"deploy*", Event{Tool: "server_deploy_app", ToolName: "deploy_app", Server: "server"}, true},
		{"deploy*", Event{Tool: "deployer_run", ToolName: "run", Server: "server"}, true},
		{"deploy*", Event{Tool: "server_undeploy", ToolName: "undeploy", Server: "server"}, false},
		{"shell_exec", Event{Tool: "a_b", Kind: "read_file", Agent: "default", Server: "a"}, false},
		{"explore", Event{}, false},
	} {
		r, _ := start(t, Config{Name: "h", Event: []string{ToolFailed}, Matcher: c.matcher, Action: Action{Message: "x"}})
		c.event.Name = ToolFailed
		if got := r.hooks[0].wants(&c.event); got != c.want {
			t.Errorf("%q for %+v: %v", c.matcher, c.event, got)
		}
		c.event.Name = ToolCompleted
		if r.hooks[0].wants(&c.event) {
			t.Errorf("%q is for another event", c.matcher)
		}
	}
}

func TestRunsAreBoundedAndNeverWaitedFor(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the hook is a shell script")
	}
	dir := t.TempDir()
	r, log := start(t, Config{
		Name: "slow", Event: []string{ToolCompleted}, Timeout: maxTimeout, // none ends before the check
		Action: Action{Command: []any{"sh", "-c", `: > "$0/$$"; sleep 3600`, dir}},
	})
	began := time.Now()
	for range workers + maxQueued + 50 {
		r.Fire(Event{Name: ToolCompleted})
	}
	if took := time.Since(began); took > waits.Limit { // a run takes longer
		t.Errorf("firing took %s", took)
	}
	running := func() int {
		began, err := os.ReadDir(dir)
		if err != nil {
			t.Error(err)
		}
		return len(began)
	}
	waits.Until(t, "as many run as may", func() bool { return running() >= workers })
	time.Sleep(200 * time.Millisecond) // time for one more to start, if it could
	if n := running(); n != workers {
		t.Errorf("%d ran at once", n)
	}
	began = time.Now()
	r.Close()
	if took := time.Since(began); took > waits.Limit {
		t.Errorf("closing took %s", took)
	}
	status := r.List(nil)[0]
	if status.Failures < 50 || status.Runs == 0 || status.Runs+50 > workers+maxQueued+50 || status.LastFailure == nil {
		t.Errorf("%+v", status)
	}
	if !strings.Contains(log.String(), "this run is dropped") {
		t.Error("the log does not say what was dropped")
	}
}

// A hook whose program is missing fails, and that is logged. One that hangs delays only its own runs.
func TestMissingAndHangingPrograms(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	followed := []string{ToolCompleted}
	r, log := start(t,
		Config{Name: "missing", Event: followed, Action: Action{Command: []any{"no-such-program-anywhere"}}},
		Config{Name: "hanging", Event: followed, Timeout: maxTimeout, Action: Action{Command: []any{"sleep", "3600"}}},
		Config{Name: "line", Event: followed, Action: Action{Message: "it happened"}},
	)
	for range 3 * workers {
		r.Fire(Event{Name: ToolCompleted})
	}
	waits.Until(t, "the others ran", func() bool {
		list := r.List(nil)
		return list[2].Runs == 3*workers && list[0].Failures == 3*workers && list[1].Failures == 0
	})
	if list := r.List(nil); !strings.Contains(list[0].Problem, "no-such-program-anywhere") || list[1].Problem != "" || list[2].Problem != "" {
		t.Errorf("%+v", list)
	}
	if !strings.Contains(log.String(), "a hook cannot run") {
		t.Error("the log does not say that a hook cannot run")
	}
}

func TestMatcherThatMatchesNothing(t *testing.T) {
	known := []string{"up", "up_deploy", "deploy", "default"}
	for _, c := range []struct {
		matcher string
		event   string
		problem bool
	}{
		{"", ToolCompleted, false}, {"deploy*", ToolCompleted, false}, {"up_*", ToolCompleted, false}, {"up", UpstreamDown, false},
		{"shell_exec", ToolCompleted, false}, {"shel_exec", ToolCompleted, true}, {"deplyo*", ToolCompleted, true}, {"agent-of-a-client", AgentError, false},
	} {
		r, _ := start(t, Config{Name: "h", Event: []string{c.event}, Matcher: c.matcher, Action: Action{Message: "x"}})
		if problem := r.List(known)[0].Problem; (problem != "") != c.problem {
			t.Errorf("%q for %s: %q", c.matcher, c.event, problem)
		}
		if problem := r.List(nil)[0].Problem; problem != "" {
			t.Errorf("%q, when nothing is known: %q", c.matcher, problem)
		}
	}
}

func TestBrokenProgramsAreCounted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the hooks are shell scripts")
	}
	command := func(script string) Action { return Action{Command: []any{"sh", "-c", script}} }
	r, log := start(t,
		Config{Name: "code", Event: []string{ToolCompleted}, Action: command(`echo "no way" >&2; exit 3`)},
		Config{Name: "crash", Event: []string{ToolCompleted}, Action: command(`kill -s SEGV $$`)},
		Config{Name: "flood", Event: []string{ToolCompleted}, Action: command(`yes`)},
		Config{Name: "deaf", Event: []string{ToolCompleted}, Action: command(`exec <&-; exit 0`)},
		Config{Name: "hang", Event: []string{ToolCompleted}, Timeout: 200 * time.Millisecond, Action: command(`trap '' TERM; while :; do sleep 1; done`)},
	)
	r.Fire(Event{Name: ToolCompleted, Tool: "a_b", Arguments: []byte(`{"x":"` + strings.Repeat("y", 1<<19) + `"}`)})
	waits.Until(t, "all have run", func() bool {
		failures := 0
		for _, s := range r.List(nil) {
			failures += s.Failures
		}
		return failures == 4 && r.List(nil)[3].Runs == 1
	})
	for i, want := range []string{"exit code 3: no way", "segmentation fault", "MiB", "", "longer than the 200ms"} {
		last := r.List(nil)[i].LastFailure
		if want == "" && last == nil {
			continue
		}
		if last == nil || !strings.Contains(last.Error, want) {
			t.Errorf("%s: %+v", r.List(nil)[i].Name, last)
		}
		waits.Until(t, "the log says so too", func() bool { return strings.Contains(log.String(), want) })
	}
}

func TestSecretsAreTakenOut(t *testing.T) {
	dir := t.TempDir()
	event := Event{
		Name: ToolFailed, Tool: "a_b", Ended: true,
		Arguments: []byte(`{"password":"hunter2hunter2","note":"use ghp_abcdefghijklmnopqrstuvwxyz0123456789"}`),
		Error:     "token=abcdefgh12345678", Result: []byte(`{"content":[{"type":"text","text":"AKIAIOSFODNN7EXAMPLE"}]}`),
	}
	secrets := []string{"hunter2", "ghp_abc", "abcdefgh1234", "AKIAIOSF"}
	for _, whole := range []bool{false, true} {
		file := filepath.Join(dir, fmt.Sprint(whole))
		r, log := start(t,
			Config{Name: "p", Event: []string{ToolFailed}, Secrets: whole, Action: Action{Command: []any{self(t), "{{args}}", "{{error}}"}, Env: []string{"HOOK_FILE=" + file}}},
			Config{Name: "l", Event: []string{ToolFailed}, Secrets: whole, Action: Action{Message: "{{args}} {{error}}"}},
		)
		r.Fire(event)
		waits.Until(t, "both have run", func() bool {
			_, err := os.Stat(file)
			return err == nil && strings.Contains(log.String(), "password")
		})
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, secret := range secrets {
			if strings.Contains(string(text), secret) != whole {
				t.Errorf("secrets %v: the program gets %q: %v", whole, secret, !whole)
			}
			if i < 3 && strings.Contains(log.String(), secret) != whole {
				t.Errorf("secrets %v: the log has %q: %v", whole, secret, !whole)
			}
		}
	}
}

func TestSwitches(t *testing.T) {
	off := false
	hooks := []Config{
		{Name: "a", Event: []string{ToolCompleted}, Action: Action{Message: "a ran"}},
		{Name: "b", Event: []string{ToolCompleted}, Enabled: &off, Action: Action{Message: "b ran"}},
	}
	file := filepath.Join(t.TempDir(), "w", "hooks.json")
	open := func() *Runner {
		r, err := New(Options{Hooks: hooks, StateFile: file})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Start(slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.Close)
		return r
	}
	on := func(r *Runner) string {
		var names string
		for _, s := range r.List(nil) {
			if s.Enabled {
				names += s.Name
			}
		}
		return names
	}
	one, other := open(), open()
	if on(one) != "a" {
		t.Errorf("at first %q is on", on(one))
	}
	for _, step := range []struct {
		name string
		on   bool
		want string
	}{{"b", true, "ab"}, {"a", false, "b"}, {"b", false, ""}, {"A", true, "a"}} {
		if err := one.SetEnabled(step.name, step.on); err != nil {
			t.Fatal(err)
		}
		if on(one) != step.want || on(other) != step.want || on(open()) != step.want {
			t.Errorf("%+v: %q, %q, %q", step, on(one), on(other), on(open()))
		}
	}
	if err := one.SetEnabled("c", true); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	at := time.Unix(1_700_000_000, 0)
	for _, a := range []bool{false, true} { // a file of the same size, within one tick of the clock
		if err := errors.Join(one.SetEnabled("a", a), one.SetEnabled("b", !a), os.Chtimes(file, at, at)); err != nil {
			t.Fatal(err)
		}
		if want := map[bool]string{true: "a", false: "b"}[a]; on(other) != want {
			t.Errorf("%q is on, not %q", on(other), want)
		}
	}
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() {
			if err := []*Runner{one, other}[i%2].SetEnabled("ab"[i%2:i%2+1], true); err != nil {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	if got := on(open()); got != "ab" {
		t.Errorf("after writers at once %q is on", got)
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := on(one); got != "a" {
		t.Errorf("with a broken file %q is on, not what the configuration says", got)
	}
	if err := one.SetEnabled("b", true); err == nil {
		t.Error("a broken file was overwritten")
	}
}

func TestWatch(t *testing.T) {
	dir := t.TempDir()
	log, err := audit.Open(audit.Dir(dir), audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	g := gate.New(gate.Options{Audit: log, Store: store.Open(filepath.Join(dir, "p.jsonc"), store.Options{})})
	r, out := start(t, Config{Name: "h", Event: []string{SessionStart, SessionEnd}, Action: Action{Message: "{{sessionId}} is told"}})
	r.Watch(g)
	s, err := g.OpenSession("", nil)
	if err != nil {
		t.Fatal(err)
	}
	s.SetClient(gate.Client{Name: "claude-code"})
	s.Close()
	g.Close()
	r.Close()
	got := out.String()
	if strings.Count(got, s.ID()+" is told") != 2 || !strings.Contains(got, SessionStart) || !strings.Contains(got, SessionEnd) {
		t.Errorf("the log is %s", got)
	}
}

func TestCloseEndsTheWatch(t *testing.T) {
	dir := t.TempDir()
	log, err := audit.Open(audit.Dir(dir), audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	g := gate.New(gate.Options{Audit: log, Store: store.Open(filepath.Join(dir, "p.jsonc"), store.Options{})})
	defer g.Close()
	r, _ := start(t, Config{Name: "h", Event: []string{SessionStart}, Action: Action{Message: "x"}})
	r.Watch(g)
	ctx, cancel := context.WithTimeout(t.Context(), waits.Limit)
	defer cancel()
	closed := make(chan struct{})
	go func() { r.Close(); close(closed) }()
	select {
	case <-closed:
	case <-ctx.Done():
		t.Fatal("Close waits for the gate")
	}
}

// An approval names its tool by both names, like every other event.
func TestApprovalsNameTheTool(t *testing.T) {
	w := &watcher{sessions: map[string]gate.SessionInfo{}}
	a := &gate.Approval{Tool: "server_send_mail", Own: "send_mail", Analysis: &tools.Analysis{}}
	if e := w.approval(ApprovalAsked, a); e.Tool != "server_send_mail" || e.ToolName != "send_mail" {
		t.Errorf("%q %q", e.Tool, e.ToolName)
	}
	a.Own = ""
	if e := w.approval(ApprovalAsked, a); e.ToolName != "server_send_mail" {
		t.Errorf("of another process: %q", e.ToolName)
	}
}
