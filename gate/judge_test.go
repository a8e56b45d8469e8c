package gate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"callgate/gate/tools"
	"callgate/internal/jsonx"
	"callgate/permissions"
)

// seeded has the shape of a usual rules file, with a rule of each action.
const seeded = `{
	"*": "ask",
	"read_file": {"*": "allow", "*.env": "deny", "*secret*": "deny"},
	"write_file": {"*": "allow", "*.env": "deny", "*.lock": "confirm"},
	"shell_exec": {"*": "ask", "ls *": "allow", "cat *": "allow", "git *": "allow", "git push *": "ask", "rm *": "deny"},
	"$always": [
		{"tool": "shell_exec", "pattern": "git push *", "risk": "NETWORK"},
		{"tool": "shell_exec", "pattern": "rm *", "risk": "DESTRUCTIVE"}
	]
}`

func policy(t testing.TB, text string) *permissions.Policy {
	t.Helper()
	file, err := permissions.ParseFile("permissions.jsonc", []byte(text), "/home/u")
	if err != nil {
		t.Fatal(err)
	}
	p, err := permissions.NewPolicy(nil, file.Rules, file.Grants)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// kindCall is a call of a kind in dir.
func kindCall(t testing.TB, dir, kind, argument, value string) Call {
	t.Helper()
	arguments := []byte(`{` + string(jsonx.Quote(argument)) + `:` + string(jsonx.Quote(value)) + `}`)
	digest, err := jsonx.Digest(arguments, "default")
	if err != nil {
		t.Fatal(err)
	}
	return Call{ID: "call_" + value, Tool: tools.KindTool(kind), Arguments: arguments, Digest: digest,
		Place: tools.Place{Dir: dir, Roots: []string{dir}, Home: "/home/u"}}
}

func TestJudge(t *testing.T) {
	dir := t.TempDir()
	own := filepath.Join(t.TempDir(), "callgate")
	for _, path := range []string{filepath.Join(dir, "src"), own} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{"a.txt": "a", ".env": "S=1", "src/.env": "S=2", filepath.Join(own, "permissions.jsonc"): "{}"} {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(own, filepath.Join(dir, "innocent")); err != nil {
		t.Fatal(err)
	}
	protected, err := NewProtected([]string{own}, "/home/u", []string{"7777"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name        string
		kind, value string
		change      func(*Judge)
		want        permissions.Action
		decision    string // or, for a question, who asks
		says        string // part of rule or reason
	}{
		{"a rule allows", "read_file", "a.txt", nil, permissions.Allow, DecidedAutoApproved, `read_file "*" allow`},
		{"a rule denies", "read_file", ".env", nil, permissions.Deny, DecidedDenied, `"*.env" deny`},
		{"no rule matches", "skill", "x", nil, permissions.Ask, "rule", `"*" ask`},
		{"a rule asks", "shell_exec", "make", nil, permissions.Ask, "rule", `shell_exec "*" ask`},
		{"every subject is allowed", "shell_exec", "ls -l && cat a.txt", nil, permissions.Allow, DecidedAutoApproved, ""},
		{"one subject asks", "shell_exec", "ls -l && make", nil, permissions.Ask, "rule", ""},
		{"one subject is denied", "shell_exec", "ls -l; rm a.txt", nil, permissions.Deny, DecidedDenied, `"rm *" deny`},
		{"what a shell reads can be denied", "shell_exec", "cat src/../.env", nil, permissions.Deny, DecidedDenied, `"*.env" deny`},
		{"a grant releases an ask", "shell_exec", "git push origin main", nil, permissions.Allow, DecidedTrusted, "always"},
		{"but not above its ceiling", "shell_exec", "git push --force origin main", nil, permissions.Ask, "effect", "--force"},
		{"and never a deny", "shell_exec", "rm -rf build", nil, permissions.Deny, DecidedDenied, `"rm *" deny`},
		{"confirm asks although a rule allows", "write_file", "go.lock", nil, permissions.Ask, "mark", "confirm"},
		{"text that cannot be analysed is marked", "shell_exec", "$CMD x", nil, permissions.Ask, "mark", ""},
		{"and no mode releases it", "shell_exec", "$CMD x", func(j *Judge) { j.Mode = ModeAutoApprove }, permissions.Ask, "mark", ""},
		{"and no level does", "shell_exec", "$CMD x", func(j *Judge) { j.Autonomy = FullAuto }, permissions.Ask, "mark", ""},
		{"privileges are refused", "shell_exec", "sudo ls", nil, permissions.Deny, DecidedRejected, "ESCALATION"},
		{"or asked about when that is configured", "shell_exec", "sudo ls", func(j *Judge) { j.AskEscalations = true }, permissions.Ask, "mark", "escalation"},
		{"but never run by level", "shell_exec", "sudo ls", func(j *Judge) { j.AskEscalations, j.Autonomy = true, FullAuto }, permissions.Ask, "mark", ""},

		{"own files are out of reach", "read_file", filepath.Join(own, "permissions.jsonc"), nil, permissions.Deny, DecidedDenied, "callgate"},
		{"through a link", "read_file", "innocent/permissions.jsonc", nil, permissions.Deny, DecidedDenied, "callgate"},
		{"by the shell", "shell_exec", "cat " + filepath.Join(own, "permissions.jsonc"), nil, permissions.Deny, DecidedDenied, "callgate"},
		{"by a redirection", "shell_exec", "ls > innocent/permissions.jsonc", nil, permissions.Deny, DecidedDenied, "callgate"},
		{"by code in an argument", "shell_exec", "cat \"$(echo '" + own + "/credentials')\"", nil, permissions.Deny, DecidedDenied, "callgate"},
		{"it cannot be run", "shell_exec", "callgate rules add shell_exec '*' allow", nil, permissions.Deny, DecidedDenied, "No tool may run callgate"},
		{"by a path, in a wrapper", "shell_exec", "timeout 5 /usr/local/bin/callgate approve", nil, permissions.Deny, DecidedDenied, "No tool may run callgate"},
		{"in a string, at a level that runs all", "shell_exec", "bash -c 'ls; callgate rules revoke --all'", func(j *Judge) { j.Autonomy = FullAuto }, permissions.Deny, DecidedDenied, "No tool may run callgate"},
		{"in a level that runs all", "read_file", own, func(j *Judge) { j.Autonomy = FullAuto }, permissions.Deny, DecidedDenied, "callgate"},
		{"the approver's address is out of reach", "web_fetch", "http://127.0.0.1:7777/api/approvals", nil, permissions.Deny, DecidedDenied, "address"},
		{"by another name", "shell_exec", "curl -d x localhost:7777/api/approvals/1", nil, permissions.Deny, DecidedDenied, "address"},
		{"by another number", "shell_exec", "nc 0x7f000001 7777", nil, permissions.Deny, DecidedDenied, "address"},
		{"other ports are not", "web_fetch", "http://127.0.0.1:8080/", nil, permissions.Ask, "rule", ""},

		{"a folder that holds a denied file asks", "grep", ".", func(j *Judge) { j.Policy = policy(t, `{"grep":"allow","read_file":{"*":"allow","*.env":"deny"}}`) }, permissions.Ask, "mark", ".env"},
		{"auto-deny lets nothing run", "read_file", "a.txt", func(j *Judge) { j.Mode = ModeAutoDeny }, permissions.Deny, DecidedDenied, "auto-deny"},
		{"no-prompt denies what would ask", "shell_exec", "make", func(j *Judge) { j.Mode = ModeNoPrompt }, permissions.Deny, DecidedDenied, "no-prompt"},
		{"no-prompt lets run what is allowed", "read_file", "a.txt", func(j *Judge) { j.Mode = ModeNoPrompt }, permissions.Allow, DecidedAutoApproved, ""},
		{"auto-approve runs what would ask", "shell_exec", "make", func(j *Judge) { j.Mode = ModeAutoApprove }, permissions.Allow, DecidedAutoApproved, ""},
		{"but not what is denied", "read_file", ".env", func(j *Judge) { j.Mode = ModeAutoApprove }, permissions.Deny, DecidedDenied, ""},
		{"and not under MANUAL", "shell_exec", "make", func(j *Judge) { j.Mode, j.Autonomy = ModeAutoApprove, Manual }, permissions.Ask, "autonomy:MANUAL", ""},
		{"a level runs what rules ask", "shell_exec", "git push origin x; ls", func(j *Judge) { j.Autonomy = Supervised }, permissions.Allow, DecidedTrusted, ""},
		{"a level asks what rules allow", "write_file", "a.txt", func(j *Judge) { j.Autonomy = Cautious }, permissions.Ask, "autonomy:CAUTIOUS", "WRITE"},
		{"a level lifts no deny", "read_file", ".env", func(j *Judge) { j.Autonomy = FullAuto }, permissions.Deny, DecidedDenied, ""},
		{"MANUAL asks for reading too", "read_file", "a.txt", func(j *Judge) { j.Autonomy = Manual }, permissions.Ask, "autonomy:MANUAL", ""},
		{"rules that cannot be read deny", "read_file", "a.txt", func(j *Judge) { j.Policy, j.PolicyError = nil, os.ErrPermission }, permissions.Deny, DecidedDenied, "cannot be read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := &Judge{Policy: policy(t, seeded), Protected: protected, Now: time.Now()}
			if c.change != nil {
				c.change(j)
			}
			argument := tools.PrimaryArgument(tools.KindTool(c.kind))
			v := j.Judge(kindCall(t, dir, c.kind, argument, c.value))
			got := v.Decision
			if c.want == permissions.Ask {
				got = v.By
			}
			if v.Action != c.want || got != c.decision || !strings.Contains(v.Rule+" "+v.Reason, c.says) {
				t.Errorf("%s %s: %s (%s %s) rule %q reason %q, want %s (%s) that says %q", c.kind, c.value, v.Action, v.Decision, v.By, v.Rule, v.Reason, c.want, c.decision, c.says)
			}
		})
	}
}

func TestTerminalAllowList(t *testing.T) {
	rules := policy(t, `{"*": "ask", "read_file": {"*.env": "deny"}, "shell_exec": {"*": "ask", "rm *": "allow"}}`)
	for _, c := range []struct {
		command string
		write   bool
		want    permissions.Action
	}{
		{"ls -la", false, permissions.Allow},
		{"grep -rn TODO src", false, permissions.Allow},
		{"cat .env", false, permissions.Deny},
		{"cat a | wc -l", false, permissions.Deny},
		{"ls && pwd", false, permissions.Deny},
		{"echo $(whoami)", false, permissions.Deny},
		{"echo x > a.txt", false, permissions.Deny},
		{"timeout 5 ls", false, permissions.Deny},
		{"find . -delete", false, permissions.Deny},
		{"rm a.txt", true, permissions.Deny},
		{"sudo ls", true, permissions.Deny},
		{"chmod +x a", true, permissions.Deny},
		{"git status", true, permissions.Deny},
		{"npm test", false, permissions.Deny},
		{"npm test", true, permissions.Ask},
		{"$CMD", true, permissions.Deny},
		{"npx eslint .", true, permissions.Ask},
		{"npx eslint .", false, permissions.Deny},
		{"npx -y cowsay hi", true, permissions.Ask},
		{"timeout 5 npm test", true, permissions.Deny},
		{"env X=1 npm test", true, permissions.Deny},
		{"X=1 npm test", true, permissions.Deny},
		{"find . -exec ls {} +", true, permissions.Deny},
		{"ls > out.txt", true, permissions.Deny},
		{"echo x >> f", true, permissions.Deny},
		{"ls 2>err", true, permissions.Deny},
		{"ls 2>/dev/null", true, permissions.Deny},
		{"ls >| f", true, permissions.Deny},
		{"ls 2>&1", true, permissions.Deny},
		{"cat < f", true, permissions.Deny},
		{"cat<f", false, permissions.Deny},
		{"cat <<< x", false, permissions.Deny},
		{"cat <<X\nx\nX", false, permissions.Deny},
		{"ls &", false, permissions.Deny},
		{"ls;", false, permissions.Deny},
		{"(ls)", false, permissions.Deny},
		{"{ ls; }", false, permissions.Deny},
		{"! ls", false, permissions.Deny},
		{"ls # x", false, permissions.Deny},
		{"ls\npwd", false, permissions.Deny},
		{"cat <(ls)", false, permissions.Deny},
		{"echo `ls`", false, permissions.Deny},
		{"echo \"$(ls)\"", false, permissions.Deny},
		{"echo $((1+1))", false, permissions.Deny},
		{"if ls; then pwd; fi", false, permissions.Deny},
		{"time ls", false, permissions.Deny},
		{"f() { ls; }; f", false, permissions.Deny},
		{"[[ -f a ]]", false, permissions.Deny},
		{"npm test > out", true, permissions.Deny},
		{"npm test | cat", true, permissions.Deny},
		{"npm test && npm publish", true, permissions.Deny},
		{"ls 'a;b' \"c|d\" e\\>f", false, permissions.Allow},
		{"date -s 2020-01-01", false, permissions.Deny},
		{"hostname x", false, permissions.Deny},
		{"date +%s", false, permissions.Allow},
	} {
		j := &Judge{Policy: rules, Terminal: &Terminal{Write: c.write}, Now: time.Now()}
		if v := j.Judge(kindCall(t, t.TempDir(), "shell_exec", "command", c.command)); v.Action != c.want {
			t.Errorf("%s (write %v): %s (%s), want %s", c.command, c.write, v.Action, v.Reason, c.want)
		}
	}
	j := &Judge{Policy: rules, Terminal: &Terminal{}, Now: time.Now()}
	if v := j.Judge(kindCall(t, t.TempDir(), "write_file", "path", "a")); v.Action != permissions.Ask {
		t.Errorf("other tools are none of its business: %s (%s)", v.Action, v.Reason)
	}
}

func TestServersCannotImitateTheGate(t *testing.T) {
	own := t.TempDir()
	protected, err := NewProtected([]string{own}, "/home/u", []string{"7777"})
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, asking, func(o *Options) { o.Protected = protected })
	end := b.decide(t.Context(), b.shell("call_abc_1", "make"))
	b.waiting(1)
	for params, says := range map[string]string{
		`{"message":"What is your name?"}`:                                   "",
		`{"mode":"url","url":"https://example.com/a"}`:                       "",
		`{"mode":"url","url":"http://127.0.0.1:7777/"}`:                      "address",
		`{"mode":"url","url":"http://\u006cocalhost:7777/#pair=x"}`:          "address",
		`{"mode":"url","url":"http://127.0.0.1:07777/"}`:                     "address",
		`{"mode":"url","url":"http://localtest.me:7777/"}`:                   "address",
		`{"message":"Approve call_abc_1?"}`:                                  "pending approval",
		`{"message":"Paste the content of ` + own + `/credentials/approve"}`: "own files",
	} {
		if why := b.gate.Imitates([]byte(params)); says == "" && why != "" || !strings.Contains(why, says) {
			t.Errorf("%s: %q, want one that says %q", params, why, says)
		}
	}
	b.session.Close()
	<-end
}

func TestTheZeroJudgeDenies(t *testing.T) {
	call := kindCall(t, t.TempDir(), "read_file", "path", "a.txt")
	if v := (&Judge{}).Judge(call); v.Action != permissions.Deny {
		t.Errorf("the zero Judge says %s", v.Action)
	}
	if (Verdict{}).Action != permissions.Deny {
		t.Error("the zero Verdict does not deny")
	}
}

// TestAutonomyTable checks the table of levels, line by line.
func TestAutonomyTable(t *testing.T) {
	risks := []permissions.Risk{permissions.ReadOnly, permissions.Write, permissions.Unknown, permissions.Escalation}
	for level, want := range map[Autonomy]string{
		FullAuto: "run run run ask", Supervised: "run run ask ask", Cautious: "run ask ask ask", Manual: "ask ask ask ask",
		AutonomyNone: "ask ask ask ask",
	} {
		var got []string
		for _, risk := range risks {
			if level.runs(risk, "terminal-read", false) {
				got = append(got, "run")
			} else {
				got = append(got, "ask")
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: low, medium, high, critical = %s, want %s", level, s, want)
		}
	}
	for preset, want := range map[Autonomy]string{
		AskOnWrite:        "read:run workspace-write:ask git-write:ask network:ask",
		AskOnExternal:     "read:run workspace-write:run git-write:ask network:ask",
		AllowSafeReadonly: "read:run workspace-write:ask git-write:ask network:ask",
	} {
		risk := map[string]permissions.Risk{"read": permissions.ReadOnly, "workspace-write": permissions.Write, "git-write": permissions.Write, "network": permissions.Network}
		for pair := range strings.FieldsSeq(want) {
			category, does, _ := strings.Cut(pair, ":")
			if preset.runs(risk[category], category, false) != (does == "run") {
				t.Errorf("%s: %s, want %s", preset, category, does)
			}
		}
	}
}

func TestParseNames(t *testing.T) {
	for level := AutonomyNone; level <= AllowSafeReadonly; level++ {
		if got, err := ParseAutonomy(level.String()); err != nil || got != level {
			t.Errorf("ParseAutonomy(%s) = %v, %v", level, got, err)
		}
	}
	for mode := ModeAsk; mode <= ModeNoPrompt; mode++ {
		if got, err := ParseMode(mode.String()); err != nil || got != mode {
			t.Errorf("ParseMode(%s) = %v, %v", mode, got, err)
		}
	}
	if _, err := ParseAutonomy("YOLO"); err == nil {
		t.Error("an unknown level was accepted")
	}
	if mode, err := ParseMode("off"); err == nil || mode != ModeAutoDeny {
		t.Errorf("an unknown mode gave %s, %v", mode, err)
	}
}

// TestNothingLoosensADenial: whatever level, mode or grant is set, a call that is denied without it stays denied, and a
// marked call never runs.
func TestNothingLoosensADenial(t *testing.T) {
	dir := t.TempDir()
	commands := []string{"ls", "rm x", "git push", "git push --force", "$X", "sudo ls", "cat .env", "make", "ls; rm x", "LD_PRELOAD=./x ls"}
	patterns := []string{"*", "git *", "rm *", "ls *", "sudo *", "make"}
	rapid.Check(t, func(t *rapid.T) {
		call := kindCallRapid(dir, rapid.SampledFrom(commands).Draw(t, "command"))
		plain := (&Judge{Policy: mustPolicy(seeded, nil), Now: time.Now()}).Judge(call)
		grants := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) permissions.Grant {
			return permissions.Grant{Tool: "shell_exec", Pattern: rapid.SampledFrom(patterns).Draw(t, "pattern"), Risk: permissions.Escalation}
		}), 0, 3).Draw(t, "grants")
		loose := &Judge{
			Policy: mustPolicy(seeded, grants), Now: time.Now(),
			Autonomy: Autonomy(rapid.IntRange(0, int(AllowSafeReadonly)).Draw(t, "autonomy")),
			Mode:     Mode(rapid.SampledFrom([]Mode{ModeAsk, ModeAutoApprove, ModeNoPrompt}).Draw(t, "mode")),
		}
		got := loose.Judge(call)
		if plain.Action == permissions.Deny && got.Action != permissions.Deny {
			t.Fatalf("%s is denied by the rules, but %s with %+v", call.Arguments, got.Action, loose)
		}
		if len(plain.Marks) > 0 && got.Action == permissions.Allow {
			t.Fatalf("%s is marked, but runs with autonomy %s, mode %s", call.Arguments, loose.Autonomy, loose.Mode)
		}
	})
}

func kindCallRapid(dir, command string) Call {
	return Call{ID: "call", Tool: tools.KindTool("shell_exec"), Arguments: []byte(`{"command":` + string(jsonx.Quote(command)) + `}`),
		Place: tools.Place{Dir: dir, Roots: []string{dir}, Home: "/home/u"}}
}

func mustPolicy(text string, grants []permissions.Grant) *permissions.Policy {
	file, err := permissions.ParseFile("permissions.jsonc", []byte(text), "/home/u")
	if err != nil {
		panic(err)
	}
	p, err := permissions.NewPolicy(nil, file.Rules, append(file.Grants, grants...))
	if err != nil {
		panic(err)
	}
	return p
}

// A bug of callgate in judging a call denies the call and ends nothing.
func TestAFailureOfOursDenies(t *testing.T) {
	b := newBench(t, `{"*": "allow"}`, nil)
	call := b.shell("1", "touch f")
	b.gate.journal.o.Unkept = func(Call, *tools.Analysis) string { panic("a mistake") }
	if v, _ := b.gate.Decide(t.Context(), b.session, call); v.Action != permissions.Deny {
		t.Errorf("it is %v: %s", v.Action, v.Reason)
	}
	b.gate.journal.o.Unkept = nil
	if v, _ := b.gate.Decide(t.Context(), b.session, b.shell("2", "ls")); v.Action != permissions.Allow {
		t.Errorf("the next call is %v: %s", v.Action, v.Reason)
	}
}

// BenchmarkJudge measures the whole verdict on a shell line: parsing, classifying, and the rules for each subject.
func BenchmarkJudge(b *testing.B) {
	f, err := permissions.ParseFile("permissions.jsonc", []byte(`{"*": "ask", "shell_exec": {"*": "ask", "cd *": "allow", "npm test *": "allow", "grep *": "allow", "head *": "allow", "rm *": "deny"}, "read_file": {"*": "allow", "*.env": "deny"}}`), "/home/u")
	if err != nil {
		b.Fatal(err)
	}
	policy, err := permissions.NewPolicy(nil, f.Rules, nil)
	if err != nil {
		b.Fatal(err)
	}
	j := Judge{Policy: policy, Mode: ModeAsk}
	for name, line := range map[string]string{
		"typical": "cd web && npm test 2>&1 | grep -E 'FAIL|PASS' | head -20",
		"32KiB":   strings.Repeat("grep -rn 'needle in a haystack' src/main.go | head -5; ", 32<<10/56),
	} {
		b.Run(name, func(b *testing.B) {
			call := kindCall(b, b.TempDir(), "shell_exec", "command", line)
			b.ReportAllocs()
			for b.Loop() {
				j.Judge(call)
			}
		})
	}
}

// A level also asks about what the rules allow. A grant must answer that question, or it comes back for ever.
func TestAGrantReleasesWhatALevelAsks(t *testing.T) {
	const rules = `{ "shell_exec": { "git commit *": "allow", "git push *": "confirm" },
		"$always": [ {"tool": "shell_exec", "pattern": "git commit *", "risk": "WRITE"}, {"tool": "shell_exec", "pattern": "git push *", "risk": "NETWORK"} ] }`
	for command, want := range map[string]permissions.Action{
		"git commit -m x": permissions.Allow, "git push origin x": permissions.Ask, "git commit -m x && touch y": permissions.Ask,
	} {
		j := &Judge{Policy: policy(t, rules), Autonomy: Cautious, Now: time.Now()}
		v := j.Judge(kindCall(t, t.TempDir(), "shell_exec", "command", command))
		if v.Action != want || want == permissions.Allow && v.Decision != DecidedTrusted {
			t.Errorf("%s: %v by %s (%s), want %v", command, v.Action, v.Decision, v.Reason, want)
		}
	}
}

// For the levels that let reading run, reading a credential store is more than reading.
func TestLevelsGuardCredentialStores(t *testing.T) {
	dir := t.TempDir()
	policy := mustPolicy(`{"*": "allow"}`, nil)
	place := tools.Place{Dir: dir, Home: "/home/u"}
	for _, c := range []struct {
		level Autonomy
		kind  string
		value string
		want  permissions.Action
	}{
		{Cautious, "read_file", `{"path":"~/.ssh/id_rsa"}`, permissions.Ask},
		{Cautious, "read_file", `{"path":".env"}`, permissions.Ask},
		{Cautious, "read_file", `{"path":".env.example"}`, permissions.Allow},
		{Cautious, "read_file", `{"path":"secretary.go"}`, permissions.Allow},
		{Cautious, "shell_exec", `{"command":"cat ~/.aws/credentials"}`, permissions.Ask},
		{Cautious, "shell_exec", `{"command":"cat README.md"}`, permissions.Allow},
		{AskOnWrite, "read_file", `{"path":"~/.kube/config"}`, permissions.Ask},
		{AllowSafeReadonly, "read_file", `{"path":"~/.netrc"}`, permissions.Ask},
		{Supervised, "read_file", `{"path":"main.go"}`, permissions.Allow},
		{AllowSafeReadonly, "shell_exec", `{"command":"git status"}`, permissions.Allow},
		{AllowSafeReadonly, "shell_exec", `{"command":"git commit -m x"}`, permissions.Ask},
		{AllowSafeReadonly, "shell_exec", `{"command":"git push"}`, permissions.Ask},
		{AllowSafeReadonly, "shell_exec", `{"command":"make"}`, permissions.Ask},
		{AllowSafeReadonly, "shell_exec", `{"command":"npm test"}`, permissions.Ask},
		{AllowSafeReadonly, "write_file", `{"path":"a","content":"x"}`, permissions.Ask},
		{AllowSafeReadonly, "web_fetch", `{"url":"https://example.com"}`, permissions.Ask},
		{AskOnWrite, "shell_exec", `{"command":"git commit -m x"}`, permissions.Ask},
		{AskOnWrite, "shell_exec", `{"command":"make"}`, permissions.Ask},
	} {
		j := Judge{Policy: policy, Autonomy: c.level, Now: time.Now()}
		v := j.Judge(Call{ID: "x", Tool: tools.KindTool(c.kind), Arguments: []byte(c.value), Place: place})
		if v.Action != c.want {
			t.Errorf("%s %s under %s: %v, want %v (%s)", c.kind, c.value, c.level, v.Action, c.want, v.Reason)
		}
	}
}
