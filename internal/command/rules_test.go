package command

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"callgate/audit"
	"callgate/internal/app"
	"callgate/internal/command/exit"
	"callgate/internal/command/rules"
	"callgate/internal/config"
	"callgate/internal/jsonx"
	"callgate/internal/output"
	"callgate/internal/rulebook"
	"callgate/permissions"
	"callgate/permissions/store"
)

// rulesRun runs `callgate rules ARGS` on the data directory dir.
func rulesRun(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	none := filepath.Join(t.TempDir(), "callgate.yaml")
	if err := os.WriteFile(none, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	root := &cobra.Command{Use: "callgate", SilenceUsage: true, SilenceErrors: true}
	s := config.NewSettings(root.PersistentFlags())
	root.AddCommand(s.Judging(rules.NewCommand(s)))
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(append([]string{"rules", "--config", none, "--data-dir", dir}, args...))
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

// rulesIn makes a data directory with that rules file.
func rulesIn(t *testing.T, text string) (dir, path string) {
	t.Helper()
	dir = t.TempDir()
	path = filepath.Join(dir, "workers", "default", "permissions.jsonc")
	writeRules(t, path, text)
	return dir, path
}

func writeRules(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func rulesText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestRulesListShowsGrants(t *testing.T) {
	dir, _ := rulesIn(t, `{"*": "ask", "$always": [
	  {"tool": "a_*", "pattern": "x", "risk": "WRITE"},
	  {"tool": "shell_exec", "pattern": "git push *", "risk": "NETWORK", "server": "sh", "workspace": "/src", "by": "web:al\u202Eice", "at": "2020-11-20T10:00:00Z", "expires": "2020-11-21T10:00:00Z"}]}`)
	out, err := rulesRun(t, dir, "list", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var listed struct {
		Rules  []output.Rule
		Grants []output.Grant
	}
	if strings.Contains(out, "\u202e") {
		t.Error("JSON shows what cannot be seen as it is")
	}
	if err := json.Unmarshal([]byte(out), &listed); err != nil || len(listed.Rules) != 1 || len(listed.Grants) != 2 {
		t.Fatalf("%v: %s", err, out)
	}
	g := listed.Grants[1]
	if g.Index != 2 || !strings.HasSuffix(g.Source, "permissions.jsonc:3") || g.Risk != "NETWORK" || g.Server != "sh" || g.Workspace != "/src" || g.At.IsZero() || !g.Expired {
		t.Errorf("the second grant is %+v", g)
	}
	out, err = rulesRun(t, dir, "list")
	if err != nil || !strings.Contains(out, "(expired)") || strings.Contains(out, "\u202e") || !strings.Contains(out, "ask     permissions.jsonc:1  file   *     \"*\"") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestRulesRevokeByIndexRemovesThatGrant(t *testing.T) {
	const file = `{"$always": [
	  {"tool": "a", "pattern": "1", "risk": "WRITE"}, // one
	  {"tool": "b", "pattern": "2", "risk": "WRITE"}, // two
	  {"tool": "c", "pattern": "3", "risk": "WRITE"}  // three
	]}`
	for _, c := range []struct {
		args []string
		left []string
	}{
		{[]string{"1", "3"}, []string{"2"}},
		{[]string{"2"}, []string{"1", "3"}},
		{[]string{"--tool", "{a,c}"}, []string{"2"}},
		{[]string{"--all"}, nil},
	} {
		dir, path := rulesIn(t, file)
		if out, err := rulesRun(t, dir, append([]string{"revoke"}, c.args...)...); err != nil {
			t.Fatalf("revoke %q: %v\n%s", c.args, err, out)
		}
		f, err := permissions.ParseFile(path, []byte(rulesText(t, path)), "/h")
		if err != nil {
			t.Fatal(err)
		}
		var left []string
		for _, g := range f.Grants {
			left = append(left, g.Pattern)
		}
		if !slices.Equal(left, c.left) {
			t.Errorf("revoke %q leaves %q, want %q", c.args, left, c.left)
		}
	}
	dir, path := rulesIn(t, file)
	for _, args := range [][]string{{"0"}, {"4"}, {"x"}, {"-1"}, {"1", "4"}} {
		if _, err := rulesRun(t, dir, append([]string{"revoke"}, args...)...); err == nil || rulesText(t, path) != file {
			t.Errorf("revoke %q: %v", args, err)
		}
	}
}

func TestRulesAreNotChangedWithoutARecord(t *testing.T) {
	const file = `{"*": "ask"}`
	dir, path := rulesIn(t, file)
	if err := os.WriteFile(audit.Dir(dir), nil, 0o600); err != nil { // in place of a folder
		t.Fatal(err)
	}
	if _, err := rulesRun(t, dir, "add", "glob", "*", "deny"); err == nil || !strings.Contains(err.Error(), "nothing was changed") || rulesText(t, path) != file {
		t.Errorf("%v, and the file is %s", err, rulesText(t, path))
	}
}

// editorScript stands in for an editor. Each launch applies the next step to the copy.
type editorScript []func(path string) error

func (s *editorScript) launch(_ context.Context, path string) error {
	if len(*s) == 0 {
		return errors.New("launched too often")
	}
	step := (*s)[0]
	*s = (*s)[1:]
	return step(path)
}

func saves(text string) func(string) error {
	return func(path string) error { return os.WriteFile(path, []byte(text), 0o600) }
}

func editRules(t *testing.T, dir, answers string, interactive bool, steps ...func(string) error) (string, error) {
	t.Helper()
	path := filepath.Join(dir, "workers", "default", "permissions.jsonc")
	var out bytes.Buffer
	script := editorScript(steps)
	e := rulebook.Edit{
		Book: &rulebook.Book{
			Store: store.Open(path, store.Options{Home: "/h"}), Out: &out,
			Record: func(apply func() (string, error)) error {
				return app.Change(&config.Config{DataDir: dir, Worker: "default"}, apply)
			},
		},
		Launch: script.launch,
	}
	if typed := bufio.NewReader(strings.NewReader(answers)); interactive {
		e.Answer = func(context.Context) (string, error) { return typed.ReadString('\n') }
	}
	err := e.Run(t.Context())
	if len(script) > 0 {
		t.Errorf("the editor was launched too rarely: %d steps are left", len(script))
	}
	return out.String(), err
}

// copies returns the copies that edits left.
func copies(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "workers", "default", "edit-*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestEditOffersToGoOnUntilItIsValid(t *testing.T) {
	dir, path := rulesIn(t, `{"*": "ask"}`)
	out, err := editRules(t, dir, "\ny\n", true, saves("{\n\"*\": \"alow\"}"), saves("{\"*\": \"ask\""), saves(`{"*": "deny"}`))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, `permissions.jsonc:2:6: unknown action "alow"`) || strings.Count(out, "Edit again?") != 2 || rulesText(t, path) != `{"*": "deny"}` {
		t.Errorf("%s\n%s", out, rulesText(t, path))
	}
	if left := copies(t, dir); len(left) > 0 {
		t.Errorf("copies are left: %q", left)
	}
}

func TestEditThatIsGivenUpKeepsTheText(t *testing.T) {
	for _, c := range []struct {
		name, answers string
		interactive   bool
	}{{"no", "n\n", true}, {"end of input", "", true}, {"nobody to ask", "", false}} {
		t.Run(c.name, func(t *testing.T) {
			dir, path := rulesIn(t, `{"*": "ask"}`)
			_, err := editRules(t, dir, c.answers, c.interactive, saves(`{"*": 1}`))
			left := copies(t, dir)
			if err == nil || len(left) != 1 || !strings.Contains(err.Error(), left[0]) || rulesText(t, left[0]) != `{"*": 1}` {
				t.Errorf("%v, copies %q", err, left)
			}
			if rulesText(t, path) != `{"*": "ask"}` {
				t.Errorf("the file is %s", rulesText(t, path))
			}
		})
	}
}

func TestEditBesideOtherWriters(t *testing.T) {
	dir, path := rulesIn(t, `{"*": "ask"}`)
	other := store.Open(path, store.Options{})
	grant := permissions.Grant{Tool: "shell_exec", Pattern: "git push *", Risk: permissions.Network}

	// A grant that is given while the editor is open stays.
	if _, err := editRules(t, dir, "", false, func(copied string) error {
		return errors.Join(other.AddGrants([]permissions.Grant{grant}), saves(`{"*": "deny" /* mine */}`)(copied))
	}); err != nil {
		t.Fatal(err)
	}
	if text := rulesText(t, path); !strings.Contains(text, "/* mine */") || !strings.Contains(text, "git push *") {
		t.Errorf("the file is %s", text)
	}

	// A rule that somebody else added is not overwritten, and the edited text is not lost.
	before := rulesText(t, path)
	_, err := editRules(t, dir, "", false, func(copied string) error {
		_, err := other.AddRule("glob", "*", permissions.Ask, false)
		return errors.Join(err, saves(`{"*": "allow"}`)(copied))
	})
	if !errors.Is(err, store.ErrRulesChanged) || len(copies(t, dir)) != 1 {
		t.Errorf("%v, copies %q", err, copies(t, dir))
	}
	if text := rulesText(t, path); text == before || !strings.Contains(text, `"glob"`) {
		t.Errorf("the file is %s", text)
	}
}

func TestEditorCommand(t *testing.T) {
	t.Setenv("HOME", "/home/al")
	for text, want := range map[string][]string{
		"vim -u NONE":         {"vim", "-u", "NONE"},
		`code --wait`:         {"code", "--wait"},
		`"/opt/my ed/ed" -w`:  {"/opt/my ed/ed", "-w"},
		"$HOME/bin/ed":        {"/home/al/bin/ed"},
		"":                    {"vi"},
		"'unclosed":           nil,
		"$NO_SUCH_EDITOR_VAR": nil,
	} {
		if got, err := rulebook.EditorCommand(text); !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
}

// trail writes records as a gate would.
func trail(t *testing.T, dir string, records ...audit.Record) {
	t.Helper()
	log, err := audit.Open(audit.Dir(dir), audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range records {
		r.Event, r.CallID, r.Agent = audit.Decision, fmt.Sprintf("call_%d", i), cmp.Or(r.Agent, "default")
		if r.Digest == "" {
			if r.Digest, err = jsonx.Digest(r.Arguments, r.Agent); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := log.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

func simulated(t *testing.T, dir, changed string, args ...string) (sim rulebook.Simulation) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "changed.jsonc")
	writeRules(t, path, changed)
	out, err := rulesRun(t, dir, append([]string{"simulate", "--json", "--file", path}, args...)...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := json.Unmarshal([]byte(out), &sim); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return sim
}

func shellSubjects(command, risk string) []audit.Subject {
	return []audit.Subject{{Tool: "sh_run", Kind: "shell_exec", Value: command, Action: "ask", Rule: "no rule matches", Risk: risk}}
}

func TestSimulateReplaysWholeCallsAndSubjects(t *testing.T) {
	dir, _ := rulesIn(t, `{"*": "ask", "shell_exec": {"ls *": "allow"}}`)
	read := audit.Subject{Tool: "read_file", Kind: "read_file", Value: "/src/.env", Action: "allow", Rule: "no rule matches", Risk: "READ_ONLY"}
	trail(t, dir,
		// Complete calls, judged with everything that the live gate knows.
		audit.Record{Tool: "shell_exec", Kind: "shell_exec", Decision: "approved", Arguments: []byte(`{"command":"git push"}`), Subjects: shellSubjects("git push", "NETWORK")},
		audit.Record{Tool: "shell_exec", Kind: "shell_exec", Decision: "rejected", Arguments: []byte(`{"command":"git push"}`), Subjects: shellSubjects("git push", "NETWORK")},
		audit.Record{Tool: "shell_exec", Kind: "shell_exec", Decision: "auto_approved", Arguments: []byte(`{"command":"ls"}`)},
		// The dangerous option is not in any recorded subject; only the whole call shows it.
		audit.Record{Tool: "shell_exec", Kind: "shell_exec", Decision: "rejected", Arguments: []byte(`{"command":"git push --force"}`)},
		// Judged by subjects, because the arguments are incomplete or the server is not known.
		audit.Record{Tool: "shell_exec", Kind: "shell_exec", Decision: "approved", Digest: "x", Arguments: []byte(`{"command":"git push","token":"[redacted]"}`), Subjects: shellSubjects("git push -v", "NETWORK")},
		audit.Record{Tool: "sh_run", Kind: "shell_exec", Server: "sh", Decision: "approved", Arguments: []byte(`{"command":"cat .env"}`), Subjects: append(shellSubjects("cat .env", "READ_ONLY"), read)},
		// Neither is possible.
		audit.Record{Tool: "sh_run", Kind: "shell_exec", Server: "sh", Decision: "approved", Digest: "y", Subjects: shellSubjects("git push [redacted]", "NETWORK")},
		audit.Record{Tool: "sh_run", Kind: "shell_exec", Server: "sh", Decision: "approved", Digest: "z", Subjects: shellSubjects("git push origin", "NETWORK")},
		audit.Record{Tool: "x_y", Server: "x", Decision: "denied", Digest: "w"},
		audit.Record{Tool: "x_y", Server: "x", Decision: "approved", Digest: "v", Arguments: []byte(`{"token":"[redacted]"}`), Subjects: []audit.Subject{{Tool: "x_y", Action: "ask", Risk: "UNKNOWN"}}},
		audit.Record{Tool: "fs_write", Kind: "write_file", Server: "fs", Decision: "approved", Digest: "u", Subjects: []audit.Subject{{Tool: "fs_write", Kind: "write_file", Value: "a.txt", Action: "ask", Risk: "WRITE"}}},
		// A record of another worker.
		audit.Record{Worker: "other", Tool: "shell_exec", Arguments: []byte(`{"command":"git push"}`)},
	)
	sim := simulated(t, dir, `{"*": "ask", "read_file": {"*.env": "deny"}, "shell_exec": {"ls *": "confirm", "git push *": "allow"}}`)
	if sim.Decisions != 11 || sim.Replayed != 6 || sim.BySubject != 2 {
		t.Errorf("%d decisions, %d replayed, %d by subject: %+v", sim.Decisions, sim.Replayed, sim.BySubject, sim.Skipped)
	}
	var got []string
	for _, d := range sim.Differences {
		got = append(got, fmt.Sprintf("%s %s->%s x%d %v", d.Tool, d.Before, d.After, d.Count, d.Recorded))
	}
	want := []string{
		"shell_exec ask->allow x2 map[approved:1 rejected:1]",
		"shell_exec ask->allow x1 map[approved:1]",
		"sh_run ask->deny x1 map[approved:1]",
		"shell_exec allow->ask x1 map[auto_approved:1]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, reason := range []string{rulebook.SkipRedacted, rulebook.SkipKind, rulebook.SkipNoSubjects, rulebook.SkipArguments, rulebook.SkipPlace} {
		if sim.Skipped[reason] != 1 {
			t.Errorf("%d skipped because %s: %v", sim.Skipped[reason], reason, sim.Skipped)
		}
	}
}

// A recorded path is judged in all its spellings, as the call was.
func TestSimulateSpellsRecordedPaths(t *testing.T) {
	dir, _ := rulesIn(t, `{"*": "ask"}`)
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	trail(t, dir, audit.Record{Tool: "fs_put", Kind: "write_file", Server: "fs", Digest: "x", Subjects: []audit.Subject{
		{Tool: "write_file", Kind: "write_file", Value: filepath.Join(home, "x", "..", "secret.txt"), Action: "ask", Risk: "WRITE"},
	}})
	sim := simulated(t, dir, `{"*": "ask", "write_file": {"~/secret.txt": "deny"}}`)
	if len(sim.Differences) != 1 || sim.Differences[0].After != "deny" || sim.BySubject != 1 {
		t.Errorf("%+v, %v", sim.Differences, sim.Skipped)
	}
}

// Calls are judged in the folder that their host worked in. Hosts' own tools are known without a configured server.
func TestSimulateJudgesInTheProject(t *testing.T) {
	dir, _ := rulesIn(t, `{"*": "ask"}`)
	project := t.TempDir()
	path := filepath.Join(project, "a.txt")
	trail(t, dir,
		audit.Record{Tool: "write_file", Kind: "write_file", Project: project, Arguments: []byte(`{"path":"a.txt","content":"x"}`)},
		audit.Record{Tool: "claude_Write", Kind: "write_file", Server: "host", Project: project, Arguments: slices.Concat([]byte(`{"content":"x","file_path":`), jsonx.Quote(path), []byte("}"))},
		audit.Record{Tool: "fs_put", Kind: "write_file", Server: "fs", Project: project, Digest: "x", Subjects: []audit.Subject{
			{Tool: "write_file", Kind: "write_file", Value: path, Action: "ask", Risk: "WRITE"},
		}},
	)
	sim := simulated(t, dir, `{"*": "ask", "write_file": {"$WORKSPACE/**": "deny"}}`)
	if len(sim.Differences) != 3 || sim.Replayed != 3 || sim.BySubject != 1 {
		t.Errorf("%+v, %v", sim, sim.Skipped)
	}
}

func TestSimulateHearsTheAgentProfile(t *testing.T) {
	dir, _ := rulesIn(t, `{"*": "ask"}`)
	call := audit.Record{Tool: "write_file", Kind: "write_file", Arguments: []byte(`{"path":"a","content":"b"}`)}
	for _, agent := range []string{"default", "explore", "gone"} {
		r := call
		r.Agent = agent
		trail(t, dir, r)
	}
	sim := simulated(t, dir, `{"*": "allow"}`)
	if sim.Decisions != 3 || sim.Replayed != 2 || sim.Skipped[rulebook.SkipAgent] != 1 {
		t.Errorf("%+v", sim)
	}
	// The deny of explore is a veto before and after.
	if len(sim.Differences) != 1 || sim.Differences[0].Count != 1 || sim.Differences[0].After != "allow" {
		t.Errorf("%+v", sim.Differences)
	}
}

func TestRulesListShowsTheAgentLayer(t *testing.T) {
	dir, _ := rulesIn(t, `{"*": "ask"}`)
	out, err := rulesRun(t, dir, "list", "--agent", "explore")
	lines := strings.Split(out, "\n")
	if err != nil || len(lines) < 3 || !strings.Contains(lines[1], "agent  *") || !strings.Contains(out, "permissions.jsonc:1  file") {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := rulesRun(t, dir, "list", "--agent", "../x"); err == nil || !strings.Contains(err.Error(), `unknown agent "../x": an agent's name has no slash`) {
		t.Errorf("an agent by its path: %v", err)
	}
	if _, err := rulesRun(t, dir, "list", "--agent", "nobody"); err == nil || !strings.Contains(err.Error(), `unknown agent "nobody"`) {
		t.Errorf("an unknown agent: %v", err)
	}
}

func TestSimulateLooksAtTheNewest(t *testing.T) {
	dir, _ := rulesIn(t, `{"*": "ask"}`)
	var records []audit.Record
	for range 5 {
		records = append(records, audit.Record{Tool: "glob", Kind: "glob", Arguments: []byte(`{"pattern":"*.go"}`)})
	}
	trail(t, dir, records...)
	if sim := simulated(t, dir, `{"*": "deny"}`, "--limit", "2"); sim.Decisions != 2 || sim.Differences[0].Count != 2 || sim.Differences[0].LastCall != "call_4" {
		t.Errorf("with a limit: %+v", sim)
	}
	if sim := simulated(t, dir, `{"*": "deny"}`, "--limit", "0"); sim.Decisions != 5 {
		t.Errorf("without a limit: %+v", sim)
	}
	if sim := simulated(t, dir, `{"*": "deny"}`, "--since", time.Now().Add(time.Hour).Format(time.RFC3339)); sim.Decisions != 0 {
		t.Errorf("since the future: %+v", sim)
	}
}

// badCases holds files of cases that are refused, and the errors.
var badCases = []struct{ text, want string }{
	{"", "c.jsonc: "},
	{"{}", "cases must be a list"},
	{"[]", "no cases"},
	{"[\n{]", "c.jsonc:2:2: this is not JSON: look for a missing comma"},
	{"[{}]", `c.jsonc:1: want "": use allow, deny or ask`},
	{"[\n\n{\"x\":1}]", "c.jsonc:3: "},
	{`[{"call":{"tool":"a","cwdd":"b"},"want":"deny"}]`, `unknown key "call.cwdd"`},
	{`[{"call":{"tool":1},"want":"deny"}]`, `c.jsonc:1: "call.tool" has a value of the wrong type`},
	{`[{"call":{"tool":"a"},"want":"deny","want":"allow"}]`, "duplicate"},
}

func TestCasesAreReadStrictly(t *testing.T) {
	for _, c := range badCases {
		path := filepath.Join(t.TempDir(), "c.jsonc")
		writeRules(t, path, c.text)
		if cases, err := rulebook.ReadCases(path); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, %v; want %q", c.text, cases, err, c.want)
		}
	}
}

// A file of cases is refused, or each of its elements is a case.
func FuzzParseCases(f *testing.F) {
	for _, c := range badCases {
		f.Add([]byte(c.text))
	}
	f.Add([]byte("[ // two\n{\"call\":{\"tool\":\"a\",\"arguments\":\"b\"},\"want\":\"deny\"},\n{\"call\":{\"tool\":\"a\",\"arguments\":{}},\"want\":\"ask\"},\n]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		cases, err := rulebook.ParseCases("c.jsonc", text)
		if err != nil {
			return
		}
		for _, c := range cases {
			if !slices.Contains([]string{"allow", "deny", "ask"}, c.Want) || !strings.HasPrefix(c.Source, "c.jsonc:") {
				t.Errorf("%+v", c)
			}
		}
		if len(cases) == 0 {
			t.Error("no cases, and no error")
		}
	})
}

func TestCheckExplainsWhatLost(t *testing.T) {
	dir, _ := rulesIn(t, `{"*": "ask", "shell_exec": {"git push *": "ask"}, "$always": [{"tool": "shell_exec", "pattern": "git push *", "risk": "WRITE"}]}`)
	none := filepath.Join(dir, "callgate.yaml")
	if err := os.WriteFile(none, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want bool
	}{{nil, false}, {[]string{"--explain"}, true}, {[]string{"--explain", "--json"}, true}} {
		root := &cobra.Command{SilenceUsage: true, SilenceErrors: true}
		root.AddCommand(newCheckCommand(config.NewSettings(root.PersistentFlags())))
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetArgs(append([]string{"check", "--config", none, "--data-dir", dir, "shell_exec", "git push origin"}, c.args...))
		if err := root.ExecuteContext(t.Context()); !errors.Is(err, exit.Code(3)) {
			t.Fatal(err)
		}
		for _, want := range []string{"(permissions.jsonc:1, file)", "the risk is NETWORK, above the grant's WRITE"} {
			lostLine := strings.Contains(out.String(), want) && (strings.Contains(out.String(), "lost"))
			if lostLine != c.want {
				t.Errorf("%q: %v for %q in\n%s", c.args, lostLine, want, out.String())
			}
		}
	}
}

// callgate understands the commands in the examples for CI.
func TestExamplesForCIRun(t *testing.T) {
	dir := t.TempDir()
	rules, cases := filepath.Join(dir, "permissions.jsonc"), filepath.Join(dir, "permissions.test.jsonc")
	writeRules(t, rules, `{"read_file": {"*": "allow", "**/.env": "deny"}}`)
	writeRules(t, cases, `[{"call": {"tool": "read_file", "arguments": ".env"}, "want": "deny"}]`)
	results := filepath.Join(dir, "results.xml")
	vars := strings.NewReplacer(`"$RULES"`, rules, `"$CASES"`, cases, `"$RESULTS"`, results, " permissions.jsonc", " "+rules, " permissions.test.jsonc", " "+cases)
	ran := 0
	for _, file := range []string{"github-action/action.yml", "pre-commit-config.yaml"} {
		for line := range strings.Lines(rulesText(t, filepath.Join("../../examples/ci", file))) {
			_, command, found := strings.Cut(vars.Replace(strings.TrimSpace(line)), "callgate rules ")
			if !found || !strings.Contains(command, "--") {
				continue
			}
			ran++
			if out, err := rulesRun(t, dir, strings.Fields(command)...); err != nil {
				t.Errorf("%s: callgate rules %s: %v\n%s", file, command, err, out)
			}
		}
	}
	if text := rulesText(t, results); ran != 3 || !strings.Contains(text, `tests="1" failures="0"`) {
		t.Errorf("%d commands ran, and the results are %s", ran, text)
	}
}
