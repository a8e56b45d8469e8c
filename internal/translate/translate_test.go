package translate

import (
	"slices"
	"strings"
	"testing"

	"callgate/permissions"
)

// imported imports a file of another program and compiles the rules.
func imported(t *testing.T, from, text string) (*permissions.Policy, *Import) {
	t.Helper()
	im, err := Importers[from]([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	file, err := im.File()
	if err != nil {
		t.Fatal(err)
	}
	rules, err := permissions.ParseFile("p", file, "/home/u")
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	policy, err := permissions.NewPolicy(nil, rules.Rules, nil)
	if err != nil {
		t.Fatal(err)
	}
	return policy, im
}

func subject(tool, value string) *permissions.Subject {
	s := &permissions.Subject{Tool: tool, Kind: tool, KindBound: true, Value: value, Decides: permissions.Form{value}, Harmless: true}
	if strings.Contains(tool, "__") || !slices.Contains(kinds, tool) {
		s.Kind, s.Decides = "", nil
	}
	return s
}

const claudeFile = `{
  // comments are fine
  "permissions": {
    "allow": ["Bash(npm run test:*)", "Bash(git diff *)", "Bash(ls)", "Read(./src/**)", "Read(docs/*.md)", "Edit(/src/**)", "WebFetch(domain:Go.dev)", "mcp__github", "mcp__fs__read_file", "Task(Explore)"],
    "ask": ["Bash(git push:*)", "mcp__github__create_issue"],
    "deny": ["Read(.env)", "Read(~/.ssh/**)", "Read(//etc/passwd)", "Bash(curl:*)", "WebFetch(domain:evil.com)", "Edit(secrets/)", "Bash(a)b", "Read(!x)"],
    "defaultMode": "acceptEdits", "additionalDirectories": ["../other"]
  }}`

func TestImportClaude(t *testing.T) {
	policy, im := imported(t, "claude", claudeFile)
	for _, c := range []struct{ tool, value, want string }{
		{"shell_exec", "npm run test", "allow"}, {"shell_exec", "npm run test -- x", "allow"}, {"shell_exec", "npm run testing", "ask"},
		{"shell_exec", "git diff HEAD", "allow"}, {"shell_exec", "ls", "allow"}, {"shell_exec", "ls -l", "ask"},
		{"shell_exec", "git push origin", "ask"}, {"shell_exec", "curl https://x", "deny"},
		{"read_file", "$WORKSPACE/src/a/b.go", "allow"}, {"read_file", "$WORKSPACE/docs/a.md", "allow"}, {"read_file", "$WORKSPACE/docs/a/b.md", "ask"},
		{"read_file", "$WORKSPACE/src/.env", "deny"}, {"read_file", "/home/u/.ssh/id", "deny"}, {"read_file", "/etc/passwd", "deny"}, {"read_file", "/etc/hosts", "ask"},
		{"edit_file", "$WORKSPACE/src/a", "allow"}, {"write_file", "$WORKSPACE/src/a", "allow"}, {"write_file", "/x/secrets/a", "deny"}, {"write_file", "/x/secrets", "deny"},
		{"web_fetch", "https://go.dev/x", "allow"}, {"web_fetch", "https://go.dev.evil.org/", "ask"}, {"web_fetch", "https://evil.com/", "deny"},
		{"github_list", "", "allow"}, {"github_create_issue", "", "ask"}, {"fs_read_file", "", "allow"}, {"other_x", "", "ask"},
	} {
		if got := permissions.Evaluate(policy, permissions.Context{}, subject(c.tool, c.value)); got.Action.String() != c.want {
			t.Errorf("%s %q: %s, want %s", c.tool, c.value, got.Action, c.want)
		}
	}
	var left []string
	for _, l := range im.Left {
		left = append(left, l.What)
	}
	if want := []string{"Task(Explore)", "Bash(a)b", "Read(!x)", "defaultMode acceptEdits", "additionalDirectories ../other"}; !slices.Equal(left, want) {
		t.Errorf("left are %q, want %q", left, want)
	}
}

func TestImportCodex(t *testing.T) {
	policy, _ := imported(t, "codex", `
# comment
prefix_rule(
    pattern = ["git", ["status", "diff"]],  # words
    justification = "looks \"only\"",
    match = ["git status", ["git", "diff"]],
)
prefix_rule(pattern=["rm"], decision="forbidden")
prefix_rule(pattern=["rm", "-i"], decision="allow")
prefix_rule(pattern=['gh', 'pr'], decision='prompt')`)
	for command, want := range map[string]string{"git status": "allow", "git diff x": "allow", "git log": "ask", "rm -i x": "deny", "gh pr view": "ask"} {
		if got := permissions.Evaluate(policy, permissions.Context{}, subject("shell_exec", command)); got.Action.String() != want {
			t.Errorf("%q: %s, want %s", command, got.Action, want)
		}
	}
	for _, text := range []string{"prefix_rule(", "prefix_rule(pattern=[)", "x = 1", `prefix_rule(pattern=["a"], decision="maybe")`, "prefix_rule()", `prefix_rule(pattern=[["a",["b"]]])`, `prefix_rule(pattern=["a\n"])`} {
		if _, err := importCodex([]byte(text)); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

func TestImportOpencode(t *testing.T) {
	policy, im := imported(t, "opencode", `{"permission": {"*": "ask", "bash": {"*": "ask", "git *": "allow", "git push *": "deny"}, "edit": "deny", "read": {"*": "allow", "*.env": "deny"}, "github_*": "allow", "doom_loop": "ask", "webfetch": {"http?://x": "allow"}}}`)
	for _, c := range []struct{ tool, value, want string }{
		{"shell_exec", "git log", "allow"}, {"shell_exec", "git push x", "deny"}, {"shell_exec", "ls", "ask"}, {"write_file", "a", "deny"}, {"edit_file", "a", "deny"},
		{"read_file", "$WORKSPACE/a", "allow"}, {"read_file", "/etc/x", "ask"}, {"read_file", "x/.env", "deny"}, {"github_x", "", "allow"}, {"other", "", "ask"},
	} {
		if got := permissions.Evaluate(policy, permissions.Context{}, subject(c.tool, c.value)); got.Action.String() != c.want {
			t.Errorf("%s %q: %s, want %s", c.tool, c.value, got.Action, c.want)
		}
	}
	if len(im.Left) != 2 {
		t.Errorf("left are %+v", im.Left)
	}
	if policy, _ := imported(t, "opencode", `{"permission": "allow"}`); permissions.Evaluate(policy, permissions.Context{}, subject("x_y", "")).Action != permissions.Allow {
		t.Error("one action for all is not read")
	}
}

func TestImportGemini(t *testing.T) {
	policy, im := imported(t, "gemini", `
[[rule]]
toolName = "run_shell_command"
commandPrefix = ["git status", "git push"]
decision = "allow"
priority = 100
[[rule]]
toolName = "run_shell_command"
commandPrefix = "git push"
decision = "deny"
priority = 200
[[rule]]
mcpName = "git hub"
toolName = "list"
decision = "allow"
priority = 10
[[rule]]
toolName = ["write_file", "replace"]
decision = "ask_user"
priority = 5
[[rule]]
toolName = "run_shell_command"
commandRegex = "rm.*"
decision = "deny"
priority = 300
[[rule]]
toolName = "read_file"
modes = ["yolo"]
decision = "allow"
priority = 1`)
	for _, c := range []struct{ tool, value, want string }{
		{"shell_exec", "git status", "ask"}, {"shell_exec", "git push x", "deny"}, {"git_hub_list", "", "allow"}, {"write_file", "a", "ask"}, {"read_file", "a", "ask"},
	} {
		if got := permissions.Evaluate(policy, permissions.Context{}, subject(c.tool, c.value)); got.Action.String() != c.want {
			t.Errorf("%s %q: %s, want %s", c.tool, c.value, got.Action, c.want)
		}
	}
	if len(im.Left) != 3 { // including the allow that the regular expression may restrict
		t.Errorf("left are %+v", im.Left)
	}
}

// TestImportsNeverWiden checks that what the other program asks about or denies is not allowed if its rule is lost.
func TestImportsNeverWiden(t *testing.T) {
	for _, c := range []struct{ from, text, tool, value, want string }{
		{"claude", `{"permissions": {"allow": ["WebFetch"], "ask": ["WebFetch(https://x.org/*)"]}}`, "web_fetch", "https://x.org/a", "ask"},
		{"claude", `{"permissions": {"allow": ["WebFetch"], "deny": ["WebFetch(domain:evil.com)"]}}`, "web_fetch", "https://evil.com:8443/a", "deny"},
		{"claude", `{"permissions": {"allow": ["WebFetch"], "deny": ["WebFetch(domain:evil.com)"]}}`, "web_fetch", "https://u@evil.com/a", "deny"},
		{"claude", `{"permissions": {"allow": ["WebFetch"], "deny": ["WebFetch(domain:evil.com)"]}}`, "web_fetch", "https://evil.com", "deny"},
		{"claude", `{"permissions": {"allow": ["WebFetch"], "deny": ["WebFetch(domain:evil.com)"]}}`, "web_fetch", "https://evil.com.org/", "allow"},
		{"claude", `{"permissions": {"allow": ["Read"], "deny": ["Read(key[0-9].pem)"]}}`, "read_file", "/w/key1.pem", "deny"},
		{"claude", `{"permissions": {"allow": ["Read"], "deny": ["Read(a\\ b)"]}}`, "read_file", "/w/a b", "deny"},
		{"claude", `{"permissions": {"allow": ["Read"], "deny": ["Read(!x)"]}}`, "read_file", "/w/x", "allow"},
		{"claude", `{"permissions": {"allow": ["Read(./a**b)"]}}`, "read_file", "$WORKSPACE/a/b", "ask"},
		{"claude", `{"permissions": {"allow": ["Read(./a?b)"]}}`, "read_file", "$WORKSPACE/a/b", "ask"},
		{"claude", `{"permissions": {"allow": ["Bash(git *)"], "deny": ["*"]}}`, "shell_exec", "git log", "deny"},
		{"claude", `{"permissions": {"allow": ["mcp__github", "Bash(ls)"], "deny": ["mcp__*__delete"]}}`, "github_delete", "", "ask"},
		{"claude", `{"permissions": {"allow": ["mcp__github", "Bash(ls)"], "deny": ["mcp__*__delete"]}}`, "shell_exec", "ls", "allow"},
		{"claude", `{"permissions": {"allow": ["mcp__callgate"]}}`, "callgate_rollback_checkpoint", "", "ask"},
		{"claude", `{"permissions": {"allow": ["mcp__callgate", "mcp__callgate__files_*"], "deny": ["mcp__callgate__files_rm"]}}`, "files_rm", "", "deny"},
		{"claude", `{"permissions": {"allow": ["mcp__callgate__files_*"]}}`, "files_ls", "", "allow"},
		{"claude", `{"permissions": {"allow": ["mcp__files__ls", "Bash(ls)"], "deny": ["mcp__callgate__*"]}}`, "files_ls", "", "ask"},
		{"claude", `{"permissions": {"allow": ["mcp__files__ls", "Bash(ls)"], "deny": ["mcp__callgate__*"]}}`, "shell_exec", "ls", "allow"},
		{"claude", `{"permissions": {"allow": ["mcp__callgate__callgate_search"]}}`, "callgate_search", "", "allow"},
		{"opencode", `{"permission": {"callgate_*": "allow", "callgate-project_files_rm": "deny"}}`, "files_rm", "", "deny"},
		{"opencode", `{"permission": {"callgate_*": "allow"}}`, "callgate_rollback_checkpoint", "", "ask"},
		{"gemini", "[[rule]]\nmcpName=\"callgate\"\ndecision=\"allow\"\n[[rule]]\nmcpName=\"callgate\"\ntoolName=\"files_rm\"\ndecision=\"deny\"\npriority=1", "files_rm", "", "deny"},
		{"opencode", `{"permission": {"bash": {"*": "allow", "rm ?x": "deny"}}}`, "shell_exec", "rm ax", "ask"},
		{"opencode", `{"permission": {"bash": {"git *": "allow", "rm ?x": "deny"}}}`, "shell_exec", "git log", "allow"},
		{"opencode", `{"permission": {"github_*": "allow", "github_delete": {"x": "ask"}}}`, "github_delete", "", "ask"},
		{"gemini", "[[rule]]\ntoolName=\"*\"\ndecision=\"allow\"\n[[rule]]\ntoolName=\"write_file\"\nargsPattern=\"x\"\ndecision=\"ask_user\"\npriority=1", "write_file", "x", "ask"},
		{"gemini", "[[rule]]\nmcpName=\"a\"\ndecision=\"allow\"\n[[rule]]\nmcpName=\"a\"\nargsPattern=\"x\"\ndecision=\"deny\"\npriority=1", "a_b", "", "ask"},
		{"gemini", "[[rule]]\ntoolName=\"glob\"\nmodes=[\"x\"]\ndecision=\"deny\"\n[[rule]]\ntoolName=\"glob\"\ndecision=\"allow\"\npriority=1", "glob", "x", "allow"},
	} {
		policy, im := imported(t, c.from, c.text)
		if got := permissions.Evaluate(policy, permissions.Context{}, subject(c.tool, c.value)); got.Action.String() != c.want {
			t.Errorf("%s %s: %s %q: %s, want %s; left %+v", c.from, c.text, c.tool, c.value, got.Action, c.want, im.Left)
		}
	}
}

const exportedFile = `{
  "*": "ask",
  "read_file": {"*": "allow", "*.env*": "deny", "*.env.example": "allow", "~/.ssh/**": "deny"},
  "{write,edit}_file": {"$WORKSPACE/**": "allow"},
  "write_file": {"/tmp/*": "allow"},
  "shell_exec": {"git @(status|log) *": "allow", "git log -p": "ask", "npm test": "allow", "rm *": "deny", "ls [a-z]": "allow", "make *": {"action": "allow", "risk": "WRITE"}},
  "github_create_issue": "confirm",
  "github_*": "deny",
  "mail_send": {"to=a": "allow"}
}`

func export(t *testing.T, to string) (string, string) {
	t.Helper()
	file, err := permissions.ParseFile("p", []byte(exportedFile), "/home/u")
	if err != nil {
		t.Fatal(err)
	}
	policy, err := permissions.NewPolicy(nil, file.Rules, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := &Export{Rules: policy.File, Home: "/home/u", Servers: []string{"github"}}
	text, ok, err := e.Write(to)
	if err != nil || !ok {
		t.Fatal(to, ok, err)
	}
	var b strings.Builder
	if err := Print(&b, e.Left); err != nil {
		t.Fatal(err)
	}
	return string(text), b.String()
}

func TestExport(t *testing.T) {
	for to, want := range map[string]struct{ has, hasNot, left []string }{
		"claude": {
			has:    []string{`"Read"`, `"Read(**/*.env*)"`, `"Read(~/.ssh/**)"`, `"Edit(./**)"`, `"Bash(git status:*)"`, `"Bash(git log:*)"`, `"Bash(git log -p)"`, `"Bash(npm test)"`, `"Bash(rm:*)"`, `"mcp__github"`},
			hasNot: []string{`"Bash"`, "/tmp", "make"}, left: []string{"exception to", "allow the pattern for both", "ls [a-z]", "a highest risk", "cannot look at arguments"},
		},
		"codex": {
			has:    []string{`prefix_rule(pattern = ["git", "status"], decision = "allow")`, `["git", "log", "-p"], decision = "prompt"`, `["rm"], decision = "forbidden"`},
			hasNot: []string{"npm", "read"}, left: []string{"further arguments", "rules only for commands"},
		},
		"opencode": {
			has:    []string{`"*": "ask"`, `"git status *": "allow"`, `"git log -p": "ask"`, `"~/.ssh/*": "deny"`, `"github_*": "deny"`, `"github_create_issue": "ask"`, `"edit": "allow"`},
			hasNot: []string{"confirm", "/tmp", "make"}, left: []string{"a highest risk", "no arguments"},
		},
		"gemini": {
			has:    []string{"commandPrefix = \"git status\"\ndecision = \"allow\"", "commandPrefix = \"rm\"\ndecision = \"deny\"", "mcpName = \"github\"\ntoolName = \"create_issue\"\ndecision = \"ask_user\"", "toolName = \"*\"\ndecision = \"ask_user\"\npriority = 1"},
			hasNot: []string{"npm", ".env"}, left: []string{"patterns only for commands", "further arguments"},
		},
		"cedar": {
			has:    []string{`permit (principal, action, resource)` + "\n" + `when { context.kind == "read_file" }`, `context.value like "*.env*"`, `unless { context.kind == "read_file" && context.value like "*.env.example" }`, `@callgate("ask")`, `resource.name like "github_*"`, `context.value == "git log" || context.value like "git log *"`},
			hasNot: []string{"ls ", "make", "mail_send"}, left: []string{"ls [a-z]", "a highest risk"},
		},
	} {
		text, left := export(t, to)
		for _, s := range want.has {
			if !strings.Contains(text, s) {
				t.Errorf("%s lacks %s", to, s)
			}
		}
		for _, s := range want.hasNot {
			if strings.Contains(text, s) {
				t.Errorf("%s has %s", to, s)
			}
		}
		for _, s := range want.left {
			if !strings.Contains(left, s) {
				t.Errorf("%s does not list %q", to, s)
			}
		}
		if t.Failed() {
			t.Logf("%s:\n%s\n%s", to, text, left)
		}
	}
}

// TestExportListsOnce checks that a rule that does not translate is listed exactly once.
func TestExportListsOnce(t *testing.T) {
	file, err := permissions.ParseFile("p", []byte(`{
  "{read_file,glob,grep}": {"/usr/{lib,include}/**": "allow", "/opt/*": "allow"},
  "shell_exec": {"make *": "allow", "rm [a-z]": "deny", "make [a-z]": "deny", "ls [a-z]": "allow"}
}`), "/home/u")
	if err != nil {
		t.Fatal(err)
	}
	policy, err := permissions.NewPolicy(nil, file.Rules, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range To() {
		e := &Export{Rules: policy.File, Home: "/home/u"}
		if _, _, err := e.Write(to); err != nil {
			t.Fatal(err)
		}
		seen := map[Left]bool{}
		for _, l := range e.Left {
			if seen[l] {
				t.Errorf("%s lists twice: %+v", to, l)
			}
			seen[l] = true
		}
		if !slices.ContainsFunc(e.Left, func(l Left) bool {
			return strings.HasPrefix(l.What, `shell_exec "make *"`) && strings.Contains(l.Why, "overlaps it")
		}) {
			t.Errorf("%s does not list the allow that it leaves out: %+v", to, e.Left)
		}
	}
}

// TestThereAndBack checks that rules which are exported and imported again allow nothing new.
func TestThereAndBack(t *testing.T) {
	file, err := permissions.ParseFile("p", []byte(exportedFile), "/home/u")
	if err != nil {
		t.Fatal(err)
	}
	before, err := permissions.NewPolicy(nil, file.Rules, nil)
	if err != nil {
		t.Fatal(err)
	}
	for from := range Importers {
		text, _ := export(t, from)
		after, _ := imported(t, from, text)
		for _, s := range []*permissions.Subject{
			subject("shell_exec", "git status"), subject("shell_exec", "git log -p"), subject("shell_exec", "git log"), subject("shell_exec", "npm test"), subject("shell_exec", "npm test x"),
			subject("shell_exec", "rm x"), subject("shell_exec", "make"), subject("shell_exec", "ls a"), subject("read_file", "a.go"), subject("read_file", "/home/u/.ssh/id"),
			subject("read_file", "$WORKSPACE/.env"), subject("read_file", "$WORKSPACE/.env.example"), subject("write_file", "/tmp/x"), subject("write_file", "$WORKSPACE/x"), subject("edit_file", "/tmp/x"),
			subject("github_create_issue", ""), subject("github_x", ""), subject("mail_send", ""), subject("web_fetch", "https://x/"),
		} {
			was, is := permissions.Evaluate(before, permissions.Context{}, s).Action, permissions.Evaluate(after, permissions.Context{}, s).Action
			if is == permissions.Allow && was != is {
				t.Errorf("%s: %s %q was %s and is %s\n%s", from, s.Tool, s.Value, was, is, text)
			}
		}
	}
}

func TestMeet(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{{"a*", "*b", true}, {"a", "a", true}, {"a", "b", false}, {"git push *", "git * main", true}, {"*.env", "*.env.example", false}, {"*", "", true}, {"a*c", "ab*d", false}, {"", "", true}} {
		if meet(c.a, c.b) != c.want || meet(c.b, c.a) != c.want {
			t.Errorf("%q and %q", c.a, c.b)
		}
	}
}
