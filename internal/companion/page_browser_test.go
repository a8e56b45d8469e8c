package companion

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/audit"
	"callgate/gate"
	"callgate/internal/tools"
	"callgate/permissions"
)

// The tests of the page need node and "npm ci" in web/; those in web/test/browser need chromium too. They are skipped
// without, unless CALLGATE_REQUIRE_BROWSER=1. With CALLGATE_SCREENSHOTS=1 the pictures in docs/images are taken anew.

const webTests = "web/test"

// requireNode skips the test, or fails it where that is asked for, when node or the packages are missing.
func requireNode(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		missing(t, "this test needs node: %v", err)
	}
	if _, err := os.Stat("web/node_modules/playwright-core"); err != nil {
		missing(t, "this test needs npm ci in internal/companion/web: %v", err)
	}
}

// requireBrowser returns the path of Chromium.
func requireBrowser(t *testing.T) string {
	t.Helper()
	requireNode(t)
	name := os.Getenv("CHROMIUM")
	if name == "" {
		name = "chromium"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		missing(t, "this test needs chromium (apt-get install chromium, or CHROMIUM=path): %v", err)
	}
	return path
}

func missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CALLGATE_REQUIRE_BROWSER") == "1" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// runScripts runs test scripts and makes a subtest of each test that they report.
func runScripts(t *testing.T, path string, env ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "node", "--test", "--test-reporter=./"+webTests+"/report.mjs", webTests+"/"+path)
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = 10 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	ran := 0
	for lines := bufio.NewScanner(bytes.NewReader(output)); lines.Scan(); {
		var result struct {
			Name  string `json:"name"`
			OK    bool   `json:"ok"`
			Error string `json:"error"`
		}
		if json.Unmarshal(lines.Bytes(), &result) != nil {
			t.Logf("%s", lines.Text())
			continue
		}
		ran++
		t.Run(result.Name, func(t *testing.T) {
			if !result.OK {
				t.Error(result.Error)
			}
		})
	}
	if (err != nil && !t.Failed()) || ran == 0 {
		t.Errorf("%s: %d tests ran, %v\n%s", path, ran, err, &stderr)
	}
}

// TestPageSources checks types, builds the page anew and compares it with what is committed, and runs the tests of
// what needs no browser.
func TestPageSources(t *testing.T) {
	requireNode(t)
	for _, args := range [][]string{{"node_modules/typescript/bin/tsc", "--noEmit"}, {"build.mjs", "--check"}} {
		cmd := exec.CommandContext(t.Context(), "node", args...)
		cmd.Dir = "web"
		if output, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", args[0], err, output)
		}
	}
	runScripts(t, "unit/")
}

// TestPageWithCallgate plays the stories of web/test/browser/page.test.mjs against the real program.
func TestPageWithCallgate(t *testing.T) {
	chromium := requireBrowser(t)
	bin := t.TempDir()
	for name, pkg := range map[string]string{"callgate": "callgate/cmd/callgate", "callgate-demo": "callgate/examples/demo"} {
		build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(bin, name), pkg)
		if output, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", pkg, err, output)
		}
	}
	runScripts(t, "browser/page.test.mjs", "CALLGATE="+filepath.Join(bin, "callgate"), "DEMO="+filepath.Join(bin, "callgate-demo"), "CHROMIUM="+chromium)
}

// evil is what a model or an upstream may put into any string, made to be found again by the field's name.
func evil(field string) string {
	return field + `"'><img src=x onerror="window.pwned=1"><script>window.pwned=1</script><style>*{display:none}</style>` +
		"&lt;javascript:window.pwned=1 ${7*7} \u202Etxt.exe\u2066\u200b\u00ad\x1b[31m\ufeff"
}

// TestPageWithHostileStrings has such a string in every field that comes from outside.
func TestPageWithHostileStrings(t *testing.T) {
	chromium := requireBrowser(t)
	b := newFakeBackend(evil("session"))
	b.sessions[0].Client = gate.Client{Name: evil("client"), Version: evil("version")}
	b.sessions[0].Agent, b.sessions[0].Worker = evil("agent"), evil("worker")
	b.upstreams = []UpstreamState{{Name: evil("upstream"), State: UpstreamDown, Error: evil("why")}}
	b.records = []audit.Record{{
		Seq: 1, Time: time.Now(), Event: audit.Decision, CallID: evil("call"), SessionID: evil("session"), Worker: evil("worker"),
		Agent: evil("agent"), Server: evil("server"), Tool: evil("tool"), Kind: evil("kind"), Decision: "denied", Risk: "WRITE", By: evil("by"),
		Rule: evil("rule"), Reason: evil("reason"), Summary: evil("record"), Digest: evil("digest"), Error: evil("error"), Hash: evil("hash"), Prev: evil("prev"),
		Subjects: []audit.Subject{{Tool: evil("subjecttool"), Value: evil("value"), Action: "deny", Rule: evil("subjectrule"), Risk: evil("risk")}},
	}}
	a := approval(evil("id"))
	a.SessionID, a.Worker, a.Agent, a.Server, a.Tool, a.Kind = evil("session"), evil("worker"), evil("agent"), evil("server"), evil("tool"), evil("kind")
	a.CreatedAt, a.ExpiresAt = time.Now(), time.Now().Add(10*time.Minute)
	arguments, err := json.Marshal(map[string]any{evil("name"): []any{evil("item"), map[string]string{evil("inner"): "two\nlines " + evil("lines")}}, "command": evil("script")})
	if err != nil {
		t.Fatal(err)
	}
	a.Arguments, a.Reason = arguments, evil("reason")
	a.Analysis = &tools.Analysis{
		Risk: permissions.Write, Category: evil("category"), Summary: evil("summary"),
		Commands: []tools.CommandView{{Argv: []string{evil("argv")}, Via: []string{evil("via")}, Reads: []string{evil("reads")}, Writes: []string{evil("writes")}, Risk: permissions.Write}},
	}
	a.Marks = []tools.Mark{{Code: evil("code"), Text: evil("mark")}}
	a.Reasons = []gate.Reason{{Subject: evil("subject"), Rule: evil("because"), Layer: permissions.Layer(evil("layer"))}}
	a.Offers = []tools.Offer{{Tool: evil("offertool"), Pattern: evil("pattern"), Risk: permissions.Write, Default: true, NewlyAllows: &tools.Widening{Count: 2, Examples: []string{evil("example")}}}}
	definition, err := json.Marshal(map[string]string{"description": evil("definition")})
	if err != nil {
		t.Fatal(err)
	}
	a.Redefined = &gate.Redefinition{New: definition, Why: "changed"}
	b.pending = []*gate.Approval{a}
	r := start(t, b)
	address, err := PageURL(t.Context(), Target{DataDir: r.dir, Client: ClientInfo{Name: "alice"}})
	if err != nil {
		t.Fatal(err)
	}
	// The script answers with an autonomy level when it has seen everything that waits: then somebody else ends it.
	events := b.Subscribe()
	defer events.Close()
	go func() {
		for event := range events.Events {
			if _, ok := event.(gate.AutonomyChanged); ok {
				b.publish(gate.Resolved{SessionID: a.SessionID, ID: a.ID, Decision: "reject", By: evil("resolver"), Reason: evil("feedback")})
			}
		}
	}()
	runScripts(t, "browser/hostile.test.mjs", "PAGE="+address, "CHROMIUM="+chromium)
}

// TestPageLooks checks accessibility, colours and width with several sessions and many kinds of calls.
func TestPageLooks(t *testing.T) {
	chromium := requireBrowser(t)
	r := start(t, showcase(t))
	var pages []string
	for range 4 {
		address, err := PageURL(t.Context(), Target{DataDir: r.dir, Client: ClientInfo{Name: "alice"}})
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, address)
	}
	env := []string{"PAGES=" + strings.Join(pages, " "), "CHROMIUM=" + chromium}
	if os.Getenv("CALLGATE_SCREENSHOTS") == "1" {
		images, err := filepath.Abs("../../docs/images")
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, "SCREENSHOTS="+images)
	}
	runScripts(t, "browser/looks.test.mjs", env...)
}

// showcase is two sessions with calls of every kind, as the pictures show them.
func showcase(t *testing.T) *fakeBackend {
	t.Helper()
	b := newFakeBackend("s-4KQ7WZP2MHXA", "s-9TN3RD6VBLEC")
	now := time.Now()
	b.sessions[0].Client = gate.Client{Name: "claude-code", Version: "2.1.0"}
	b.sessions[1].Client = gate.Client{Name: "cursor", Version: "1.9.2"}
	b.sessions[1].Agent, b.sessions[1].Autonomy = "explore", "CAUTIOUS"
	for i := range b.sessions {
		b.sessions[i].Status, b.sessions[i].StartedAt = "waiting", now.Add(-time.Duration(40+i*25)*time.Minute)
	}
	b.upstreams = []UpstreamState{
		{Name: "commands", State: UpstreamUp, Tools: 3},
		{Name: "files", State: UpstreamUp, Tools: 11},
		{Name: "github", State: UpstreamStarting},
		{Name: "database", State: UpstreamDown, Error: "the server ended with exit status 1: DATABASE_URL is not set"},
	}
	add := func(session int, server, tool, kind, arguments, summary string, risk permissions.Risk, category, reason string) *gate.Approval {
		var check map[string]any
		if err := json.Unmarshal([]byte(arguments), &check); err != nil {
			t.Fatal(err)
		}
		s := b.sessions[session]
		a := &gate.Approval{
			ID: "call_" + tool + string(rune('a'+len(b.pending))), SessionID: s.ID, Worker: s.Worker, Agent: s.Agent, Server: server, Tool: tool, Kind: kind,
			Arguments: []byte(arguments), Digest: "d" + string(rune('a'+len(b.pending))), Reason: reason, CreatedAt: now, ExpiresAt: now.Add(2 * time.Minute),
			Analysis: &tools.Analysis{Risk: risk, Category: category, Summary: summary},
		}
		b.pending = append(b.pending, a)
		return a
	}

	push := add(0, "commands", "commands_run", "shell_exec",
		`{"command": "npm version patch && git push origin main 2>&1 | tee release.log", "cwd": "~/src/app", "timeout": 1.2e2}`,
		`Run 3 commands: "npm version patch && git push origin main 2>&1 | tee release.log". It writes "release.log".`,
		permissions.Network, "network", `The rule shell_exec "git push *" ask (permissions.jsonc:12, file) asks about shell_exec "git push origin main".`)
	push.Analysis.Commands = []tools.CommandView{
		{Argv: []string{"npm", "version", "patch"}, Writes: []string{"package.json", "package-lock.json"}, Risk: permissions.Write},
		{Argv: []string{"git", "push", "origin", "main"}, Risk: permissions.Network},
		{Argv: []string{"tee", "release.log"}, Writes: []string{"release.log"}, Risk: permissions.Write},
	}
	push.Reasons = []gate.Reason{
		{Subject: `shell_exec "npm version patch"`, Rule: `shell_exec "*" ask (permissions.jsonc:9, file)`, Layer: "file", Action: permissions.Ask},
		{Subject: `shell_exec "git push origin main"`, Rule: `shell_exec "git push *" ask (permissions.jsonc:12, file)`, Layer: "file", Action: permissions.Ask},
		{Subject: `write_file "~/src/app/release.log"`, Rule: `write_file "*" allow (permissions.jsonc:6, file)`, Layer: "file", Action: permissions.Allow},
	}
	push.Offers = []tools.Offer{
		{Tool: "shell_exec", Pattern: "npm version patch", Risk: permissions.Write},
		{Tool: "shell_exec", Pattern: "npm version *", Risk: permissions.Write, Default: true},
		{Tool: "shell_exec", Pattern: "git push origin main", Risk: permissions.Network, Subject: 1},
		{Tool: "shell_exec", Pattern: "git push *", Risk: permissions.Network, Subject: 1, Default: true, NewlyAllows: &tools.Widening{Count: 2, Examples: []string{"git push origin dev", "git push --tags"}}},
	}

	edit := add(0, "files", "files_edit_file", "edit_file",
		`{"path": "src/server.ts", "edits": [{"oldText": "const port = 8080;\nconst host = \"127.0.0.1\";\n\nlisten(host, port);\n", "newText": "const port = Number(process.env.PORT ?? 8080);\nconst host = \"0.0.0.0\";\n\nlisten(host, port);\n"}], "dryRun": false}`,
		`Edit "src/server.ts".`, permissions.Write, "workspace-write", `The rule edit_file "src/*" ask (permissions.jsonc:7, file) asks about edit_file "src/server.ts".`)
	edit.Reasons = []gate.Reason{{Subject: `edit_file "src/server.ts"`, Rule: `edit_file "src/*" ask (permissions.jsonc:7, file)`, Layer: "file", Action: permissions.Ask}}
	edit.Offers = []tools.Offer{{Tool: "edit_file", Pattern: "src/server.ts", Risk: permissions.Write, Default: true}, {Tool: "edit_file", Pattern: "src/*", Risk: permissions.Write}}

	remove := add(1, "commands", "commands_run", "shell_exec", `{"command": "rm -rf build/ dist/"}`,
		`Run "rm -rf build/ dist/". It writes "build", "dist".`, permissions.Destructive, "terminal-write", `No rule says anything about shell_exec "rm -rf build/ dist/".`)
	remove.Analysis.Commands = []tools.CommandView{{Argv: []string{"rm", "-rf", "build/", "dist/"}, Writes: []string{"build", "dist"}, Risk: permissions.Destructive}}
	remove.Reasons = []gate.Reason{{Subject: `shell_exec "rm -rf build/ dist/"`, Rule: "no rule matches", Action: permissions.Ask}}
	remove.Offers = []tools.Offer{{Tool: "shell_exec", Pattern: "rm -rf build/ dist/", Risk: permissions.Destructive, Default: true}}

	hook := add(1, "files", "files_write_file", "write_file",
		`{"path": ".git/hooks/pre-commit", "content": "#!/bin/sh\nexec npm test\n"}`,
		`Write ".git/hooks/pre-commit" (2 lines).`, permissions.Write, "git-write", `A person must look at a write to ".git/hooks/pre-commit".`)
	hook.Marks = []tools.Mark{{Code: "git-folder", Text: `The file ".git/hooks/pre-commit" is run by git.`}}

	for i, r := range []audit.Record{
		{Decision: "auto_approved", Tool: "files_read_text_file", Risk: "READ_ONLY", By: "rule", Rule: `read_file "*" allow (permissions.jsonc:4, file)`, Summary: `Read "README.md".`},
		{Decision: "denied", Tool: "files_read_text_file", Risk: "READ_ONLY", By: "rule", Rule: `read_file "*.env" deny (permissions.jsonc:4, file)`, Summary: `Read ".env".`},
		{Decision: "approved", Tool: "commands_run", Risk: "BUILD_TEST", By: "web:alice", Rule: `shell_exec "*" ask (permissions.jsonc:9, file)`, Summary: `Run "npm test".`},
		{Decision: "rejected", Tool: "commands_run", Risk: "DESTRUCTIVE", By: "tui:alice", Reason: "A person refused this call and says: keep the branch", Summary: `Run "git branch -D feature".`},
		{Decision: "trusted", Tool: "commands_run", Risk: "NETWORK", By: "grant", Summary: `Run "git fetch origin".`},
	} {
		r.Seq, r.Event, r.Time, r.SessionID, r.Hash = uint64(90-i), audit.Decision, now.Add(-time.Duration(i*37)*time.Second), b.sessions[i%2].ID, string(rune('a'+i))
		b.records = append(b.records, r)
	}
	return b
}
