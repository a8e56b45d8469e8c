package permissions

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

var plainFields = cmp.Options{cmpopts.IgnoreUnexported(Rule{}, Grant{})}

func rule(tool, pattern string, action Action, line int) Rule {
	return Rule{Tool: tool, Pattern: pattern, Action: action, Layer: LayerFile, Source: fmt.Sprintf("/d/permissions.jsonc:%d", line)}
}

// fileCases are whole files and their contents. They also seed the fuzz target.
var fileCases = []struct {
	name, text string
	want       File
}{
	{"nothing", `{}`, File{}},
	{"comments and trailing commas", "// hello\n{\n  \"*\": \"ask\", // rest\n  /* all */ \"glob\": \"allow\",\n}\n// bye", File{Rules: []Rule{
		rule("*", "*", Ask, 3), rule("glob", "*", Allow, 4),
	}}},
	{"order is kept", `{"z": {"b": "deny", "a": "allow", "*": "confirm"}, "a": "ask"}`, File{Rules: []Rule{
		rule("z", "b", Deny, 1), rule("z", "a", Allow, 1), rule("z", "*", Confirm, 1), rule("a", "*", Ask, 1),
	}}},
	{"no patterns", `{"a": {}}`, File{}},
	{"one pattern for two tools", `{"a": {"x": "deny"}, "b": {"x": "deny"}}`, File{Rules: []Rule{
		rule("a", "x", Deny, 1), rule("b", "x", Deny, 1),
	}}},
	{"escapes in keys", `{"\u0061": {"\\\"": "ask", "\\*": "ask"}}`, File{Rules: []Rule{
		rule("a", `\"`, Ask, 1), rule("a", `\*`, Ask, 1),
	}}},
	{"home", `{"a": {"~/x/*": "allow", "$HOME/.ssh/*": "deny", "p=~/x": "deny", "a.b=$HOME/y": "deny", "~": "ask", "a~/b": "ask", "~bob/x": "ask", "cat ~/x": "ask", "!$HOME/x": "allow"}}`, File{Rules: []Rule{
		rule("a", `/home/a\(b\)/x/*`, Allow, 1), rule("a", `/home/a\(b\)/.ssh/*`, Deny, 1), rule("a", `p=/home/a\(b\)/x`, Deny, 1),
		rule("a", `a.b=/home/a\(b\)/y`, Deny, 1), rule("a", "~", Ask, 1), rule("a", "a~/b", Ask, 1), rule("a", "~bob/x", Ask, 1), rule("a", "cat ~/x", Ask, 1), rule("a", `!/home/a\(b\)/x`, Allow, 1),
	}}},
	{"examples", `{"a": {"~/x/*": {"action": "deny", "match": ["~/x/y"], "notMatch": ["~/xy", "x=~/x/y"]}, "p=~/*": {"match": ["p=~/x"], "action": "ask"}, "z": {"action": "allow", "match": []}}}`, File{Rules: []Rule{
		rule("a", `/home/a\(b\)/x/*`, Deny, 1), rule("a", `p=/home/a\(b\)/*`, Ask, 1), rule("a", "z", Allow, 1),
	}}},
	{"no grants", `{"$always": []}`, File{}},
	{"grants", `{"$always": [
	  {"tool": "shell_exec", "pattern": "git push *", "risk": "NETWORK"},
	  {"tool": "a_*", "pattern": "~/x", "risk": "WRITE", "server": "a", "workspace": "~/src", "by": "web:alice", "at": "2026-11-20T10:00:00Z", "expires": "2026-11-21T10:00:00.5+01:00"}, // two
	]}`, File{Grants: []Grant{
		{Tool: "shell_exec", Pattern: "git push *", Risk: Network, Layer: LayerAlways, Source: "/d/permissions.jsonc:2"},
		{
			Tool: "a_*", Pattern: `/home/a\(b\)/x`, Risk: Write, Server: "a", Workspace: "/home/a(b)/src", By: "web:alice",
			At: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC), Expires: time.Date(2026, 11, 21, 9, 0, 0, 5e8, time.UTC),
			Layer: LayerAlways, Source: "/d/permissions.jsonc:3",
		},
	}}},
}

func TestParseFile(t *testing.T) {
	for _, c := range fileCases {
		t.Run(c.name, func(t *testing.T) {
			f, err := ParseFile("/d/permissions.jsonc", []byte(c.text), "/home/a(b)")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&c.want, f, plainFields); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

// badFiles are refused with an error that names the place and says what to write instead.
var badFiles = []struct {
	name, text   string
	line, column int
	want         string
}{
	{"nothing at all", "", 1, 1, "the file is empty"},
	{"white space", " \n\t", 1, 1, "the file is empty"},
	{"only comments", "// hello\n", 2, 1, "missing"},
	{"an array", "\n  []", 2, 3, "is an object"},
	{"null", "null", 1, 1, "is an object"},
	{"cut off", "{\n  \"a\": \"ask\",\n  \"b\": {\"*\"", 3, 12, "missing comma, quote or bracket"},
	{"a missing comma", "{\"a\": \"ask\"\n \"b\": \"ask\"}", 2, 2, "expecting ',' or '}'"},
	{"two values", `{} {}`, 1, 4, "after top-level value"},
	{"a byte order mark", "\uFEFF{}", 1, 1, "byte order mark"},
	{"not UTF-8", "{\n\"a\xff\": \"ask\"}", 2, 3, "UTF-8"},
	{"a duplicate tool", "{\n \"a\": \"ask\",\n \"a\": \"deny\"}", 3, 2, `duplicate key "a", first at /d/permissions.jsonc:2`},
	{"a duplicate tool in disguise", `{"a": "ask", "\u0061": "deny"}`, 1, 14, "duplicate key"},
	{"a duplicate pattern", `{"a": {"x": "deny", "x": "allow"}}`, 1, 21, `duplicate key "x"`},
	{"a duplicate $always", `{"$always": [], "$always": []}`, 1, 17, "duplicate key"},
	{"an unknown action", "{\n  \"a\": \"alow\"\n}", 2, 8, `unknown action "alow": use allow, ask, confirm or deny`},
	{"an action in capitals", `{"a": "Allow"}`, 1, 7, "unknown action"},
	{"an unknown action of a pattern", `{"a": {"x": "no"}}`, 1, 13, "unknown action"},
	{"true", `{"a": true}`, 1, 7, "an action is expected"},
	{"a list", `{"a": ["deny"]}`, 1, 7, "an action is expected"},
	{"a ceiling of a deny", `{"a": {"x": {"action": "deny", "risk": "WRITE"}}}`, 1, 24, "leave it out"},
	{"an unknown ceiling", `{"a": {"x": {"action": "allow", "risk": "LOW"}}}`, 1, 41, "risk"},
	{"a workspace in an argument", `{"a": {"p=$WORKSPACE/x": "allow"}}`, 1, 8, "map the tool"},
	{"a workspace without a slash", `{"a": {"$WORKSPACES": "allow"}}`, 1, 8, "write $WORKSPACE/"},
	{"an object too deep", `{"a": {"x": {"y": "deny"}}}`, 1, 14, "use action, risk, approvers, when, match, notMatch"},
	{"an unknown condition", `{"a": {"x": {"action": "deny", "when": {"holds": "private"}}}}`, 1, 41, "use after, notAfter"},
	{"a condition of nothing", `{"a": {"x": {"action": "deny", "when": {}}}}`, 1, 40, "leave it out"},
	{"a wrong label", `{"a": {"x": {"action": "deny", "when": {"carries": "public"}}}}`, 1, 52, `"private" or "secret"`},
	{"a wrong source", `{"a": {"x": {"action": "deny", "when": {"from": "private"}}}}`, 1, 49, `"untrusted"`},
	{"an object without an action", `{"a": {"x": {"match": ["x"]}}}`, 1, 13, `a rule needs "action"`},
	{"an object with a wrong action", `{"a": {"x": {"action": "no"}}}`, 1, 24, "unknown action"},
	{"an object in place of an action", `{"a": {"x": {"action": {"action": "deny"}}}}`, 1, 24, "an action is expected"},
	{"an action twice", `{"a": {"x": {"action": "deny", "action": "deny"}}}`, 1, 32, "duplicate key"},
	{"examples that are no list", `{"a": {"x": {"action": "deny", "match": "x"}}}`, 1, 41, `"match" is a list`},
	{"an example that is no string", `{"a": {"x": {"action": "deny", "match": [1]}}}`, 1, 42, "an example is a string"},
	{"an example that does not match", "{\"a\": {\"*.env\": {\"action\": \"deny\",\n \"match\": [\"a/.env\", \".envrc\"]}}}", 2, 22, `the pattern "*.env" does not match ".envrc"`},
	{"an example that matches", `{"a": {"git push *": {"action": "ask", "notMatch": ["git pull", "git push"]}}}`, 1, 65, `the pattern "git push *" matches "git push"`},
	{"an example of an argument", `{"a": {"owner=acme": {"action": "ask", "match": ["owner=acm"]}}}`, 1, 50, "does not match"},
	{"an empty tool", `{"": "ask"}`, 1, 2, "tool pattern"},
	{"a bad tool", `{"(a)": "ask"}`, 1, 2, "write @(a|b)"},
	{"an empty pattern", `{"a": {"": "ask"}}`, 1, 8, `write "*"`},
	{"a bad pattern", `{"a": {"{x": "ask"}}`, 1, 8, `\{ for the character`},
	{"a bad argument pattern", `{"a": {"x=": "ask"}}`, 1, 8, "empty"},
	{"a quote in a pattern", `{"a": {"\"": "ask"}}`, 1, 8, `\\\"`},
	{"a Windows path", `{"a": {"C:\\Users\\*": "deny"}}`, 1, 8, "write / between path elements"},
	{"a key of callgate's own", `{"$allways": []}`, 1, 2, `"$always" is the only one`},
	{"$always is an object", `{"$always": {}}`, 1, 13, "array of grants"},
	{"a grant is a string", `{"$always": ["x"]}`, 1, 14, "a grant is an object"},
	{"a grant without a tool", `{"$always": [{"pattern": "*", "risk": "WRITE"}]}`, 1, 14, `needs "tool"`},
	{"a grant without a pattern", `{"$always": [{"tool": "a", "risk": "WRITE"}]}`, 1, 14, `needs "pattern"`},
	{"a grant without a ceiling", `{"$always": [{"tool": "a", "pattern": "*"}]}`, 1, 14, `needs "risk"`},
	{"a grant with an unknown risk", `{"$always": [{"tool": "a", "pattern": "*", "risk": "low"}]}`, 1, 52, "unknown risk"},
	{"a grant with an unknown field", `{"$always": [{"tool": "a", "expire": "x"}]}`, 1, 28, `unknown key "expire" in a grant`},
	{"a grant with a field twice", `{"$always": [{"tool": "a", "tool": "b"}]}`, 1, 28, "duplicate key"},
	{"a grant with a number", `{"$always": [{"tool": 1}]}`, 1, 23, `"tool" of a grant is a string`},
	{"a grant with a bad time", `{"$always": [{"at": "yesterday"}]}`, 1, 21, "write it as 2026-11-20T10:00:00Z"},
	{"a grant that expires at zero", `{"$always": [{"expires": "0001-01-01T00:00:00Z"}]}`, 1, 26, "zero time"},
	{"a grant with no server's name", `{"$always": [{"server": ""}]}`, 1, 25, "leave it out"},
	{"a grant with a relative workspace", `{"$always": [{"workspace": "src"}]}`, 1, 28, "not an absolute directory"},
	{"a path with a bare (", `{"read_file": {"a(b)": "deny"}}`, 1, 16, `pattern "a(b)": has a bare (`},
	{"a path at home with a bare (", `{"read_file": {"~/a(b)": "deny"}}`, 1, 16, `pattern "~/a(b)": has a bare (`},
	{"a grant with a bad pattern", `{"$always": [{"pattern": "("}]}`, 1, 26, "bare ("},
	{"too large", "{" + strings.Repeat(" ", MaxFile) + "}", 1, 1, "larger than"},
	{"too deep", strings.Repeat("[", maxFileBrackets+1), 1, 1, "brackets"},
	{"deep", strings.Repeat("[", 1000), 1, 1001, "missing"},
}

func TestParseFileRefuses(t *testing.T) {
	for _, c := range badFiles {
		t.Run(c.name, func(t *testing.T) {
			f, err := ParseFile("/d/permissions.jsonc", []byte(c.text), "/home/u")
			var fault *FileError
			if f != nil || !errors.As(err, &fault) {
				t.Fatalf("got %v, %v; want a FileError", f, err)
			}
			if fault.Line != c.line || fault.Column != c.column || !strings.Contains(fault.Message, c.want) {
				t.Errorf("got %d:%d %s\nwant %d:%d with %q", fault.Line, fault.Column, fault.Message, c.line, c.column, c.want)
			}
			if want := fmt.Sprintf("/d/permissions.jsonc:%d:%d: ", c.line, c.column); !strings.HasPrefix(err.Error(), want) {
				t.Errorf("the error begins %.60q, want %q", err, want)
			}
		})
	}
}

func TestHomeMustBeKnownWhereItIsUsed(t *testing.T) {
	for _, text := range []string{
		`{"a": {"~/x": "deny"}}`, `{"a": {"p=$HOME/x": "deny"}}`,
		`{"$always": [{"tool": "a", "pattern": "~/x", "risk": "WRITE"}]}`,
		`{"$always": [{"tool": "a", "pattern": "x", "risk": "WRITE", "workspace": "~"}]}`,
	} {
		if f, err := ParseFile("p", []byte(text), ""); f != nil || err == nil || !strings.Contains(err.Error(), "home directory is not known") {
			t.Errorf("%s without a home gives %v, %v", text, f, err)
		}
	}
}

func TestAQuotedTextIsNoHome(t *testing.T) {
	texts := rapid.StringMatching(`(~|\$HOME|[a=~$])?[/a~$=]{0,4}`)
	rapid.Check(t, func(t *rapid.T) {
		text := QuoteGlob(texts.Draw(t, "text"))
		if expanded, err := ExpandHome(text, ""); err != nil || expanded != text {
			t.Errorf("%q reads as a home directory", text)
		}
	})
}

func TestHomeMatchesAsItIs(t *testing.T) {
	f, err := ParseFile("p", []byte(`{"read_file": {"~/*": "allow"}}`), "/home/*")
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPolicy(nil, f.Rules, nil)
	if err != nil {
		t.Fatal(err)
	}
	inside, outside := read("/home/*/x"), read("/home/bob/x")
	if got := Evaluate(p, Context{}, &inside).Action; got != Allow {
		t.Errorf("below the home directory: %v", got)
	}
	if got := Evaluate(p, Context{}, &outside).Action; got != Ask {
		t.Errorf("below another home directory: %v", got)
	}
}

func TestACeilingBoundsAnAllow(t *testing.T) {
	f, err := ParseFile("p", []byte(`{"shell_exec": {"git *": {"action": "allow", "risk": "READ_ONLY"}, "git branch *": {"action": "allow", "risk": "WRITE"}}}`), "/h")
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPolicy(nil, f.Rules, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		command string
		risk    Risk
		want    Action
	}{
		{"git log", ReadOnly, Allow}, {"git push", Network, Ask}, {"git branch -D x", Destructive, Ask}, {"git branch x", Write, Allow}, {"git frob", Unknown, Ask},
	} {
		s := Subject{Tool: "shell_exec", Kind: "shell_exec", KindBound: true, Decides: Form{c.command}, Risk: c.risk}
		if got := Evaluate(p, Context{}, &s).Action; got != c.want {
			t.Errorf("%s: %v, want %v", c.command, got, c.want)
		}
	}
}

// TestDocumentedFiles checks that every whole file in the documentation is valid and does what the documentation says.
func TestDocumentedFiles(t *testing.T) {
	page, err := os.ReadFile("../docs/permissions.md")
	if err != nil {
		t.Fatal(err)
	}
	var policies []*Policy
	for i, block := range strings.Split(string(page), "```") {
		text, ok := strings.CutPrefix(block, "jsonc\n")
		if i%2 == 0 || !ok {
			continue
		}
		if !strings.HasPrefix(text, "{") {
			text = "{" + text + "}"
		}
		f, err := ParseFile("permissions.md", []byte(text), "/home/u")
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		p, err := NewPolicy(nil, f.Rules, f.Grants)
		if err != nil {
			t.Fatal(err)
		}
		policies = append(policies, p)
	}
	if len(policies) != 8 {
		t.Fatalf("%d files are shown, want 8", len(policies))
	}
	edit := func(path string) Subject {
		return Subject{Tool: "fs_edit", Kind: "edit_file", KindBound: true, Decides: Form{path}}
	}
	start := func(command string) Subject {
		return Subject{Tool: "commander_start_process", Kind: "shell_exec", Value: command, Decides: Form{command}}
	}
	for _, c := range []struct {
		file    int
		subject Subject
		want    Action
	}{
		{0, read("/w/.env.example", Form{"x"}), Allow},
		{0, read("/w/.env", Form{"/w/.env.example"}), Deny},
		{0, run("git status"), Allow},
		{0, run("git push -f"), Confirm},
		{1, start("ls"), Allow},
		{1, start("rm -rf x"), Deny},
		{2, read("/home/u/src/other/main.go"), Allow},
		{2, read("/home/u/src/app/.env.local"), Deny},
		{2, read("/home/u/.ssh/id_rsa"), Deny},
		{2, read("/home/u/.aws/config"), Deny},
		{2, edit("/home/u/src/app/main.go"), Allow},
		{2, edit("/home/u/src/app/.git/config"), Deny},
		{2, edit("/etc/passwd"), Deny},
		{2, run("git log"), Ask},
		{3, run("git log"), Allow},
		{3, run("npm run test:unit"), Ask},
		{3, run("npm run test --watch"), Allow},
		{3, run("git push"), Confirm},
		{3, run("npm publish --tag next"), Confirm},
		{3, run("rm -rf build"), Deny},
		{5, read("/w/.envrc", Form{".envrc"}), Deny},
		{6, call(`{"owner": "acme"}`), Allow},
		{6, call(`{"owner": "acme", "labels": ["ui", "security-high"]}`), Deny},
	} {
		if f := Evaluate(policies[c.file], Context{}, &c.subject); f.Action != c.want {
			t.Errorf("file %d: %s = %v by %v, want %v", c.file, c.subject.Value, f.Action, f.Rule, c.want)
		}
	}
}

func FuzzParseFile(f *testing.F) {
	for _, c := range fileCases {
		f.Add([]byte(c.text))
	}
	for _, c := range badFiles {
		if len(c.text) < 10_000 {
			f.Add([]byte(c.text))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := ParseFile("p", data, "/home/u")
		if (file == nil) == (err == nil) {
			t.Fatalf("got %v and error %v", file, err)
		}
		if err != nil {
			var fault *FileError
			if !errors.As(err, &fault) || fault.Line < 1 || fault.Column < 1 || fault.Message == "" {
				t.Fatalf("the error %#v names no place", err)
			}
			return
		}
		if _, err := NewPolicy(nil, file.Rules, file.Grants); err != nil {
			t.Fatalf("what parses does not compile: %v", err)
		}
	})
}
