package permissions

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// story is one permissions file, one subject, and the expected finding.
type story struct {
	name    string
	agent   string // rules of the agent profile, in the file's form; "" for none
	file    string
	subject Subject
	context Context
	want    Action
	rule    string // Pattern of the winning rule; "" if none won
	layer   Layer
	veto    bool
	grant   string // Pattern of the releasing grant; "" if none does
}

const seededReads = `"read_file": {"*": "allow", "*.env": "deny", "*.env.*": "deny", "*secret*": "deny", "*.env.example": "allow"}`

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func read(decides string, also ...Form) Subject {
	return Subject{Tool: "filesystem_read_text_file", Kind: "read_file", KindBound: true, Value: decides, Decides: Form{decides}, Also: also, Risk: ReadOnly}
}

func run(decides string, also ...Form) Subject {
	return Subject{Tool: "commands_run", Kind: "shell_exec", KindBound: true, Value: decides, Decides: Form{decides}, Also: also, Risk: Network}
}

// doubled is a tool whose server has another tool of almost the same name.
var doubled = Subject{Tool: "commands_run_0a1b2c3d", Plain: "commands_run", Value: "x", Decides: Form{"x"}, Risk: Network}

func call(arguments string) Subject {
	return Subject{Tool: "github_create_issue", Arguments: []byte(arguments), Risk: Network}
}

func with(s Subject, change func(*Subject)) Subject {
	change(&s)
	return s
}

func grantFile(grant string) string {
	return `{"shell_exec": "ask", "$always": [` + grant + `]}`
}

var stories = []story{
	// The last rule that matches wins; without one a person is asked.
	{name: "no rule", file: `{}`, subject: run("ls"), want: Ask, layer: LayerDefault},
	{name: "no rule for the tool", file: `{"read_file": "allow"}`, subject: run("ls"), want: Ask, layer: LayerDefault},
	{name: "one action for all values", file: `{"shell_exec": "allow"}`, subject: run("ls"), want: Allow, rule: "*", layer: LayerFile},
	{name: "the last pattern wins", file: `{"shell_exec": {"*": "allow", "git *": "ask"}}`, subject: run("git push"), want: Ask, rule: "git *", layer: LayerFile},
	{name: "order, not length", file: `{"shell_exec": {"git push *": "deny", "git *": "allow"}}`, subject: run("git push"), want: Allow, rule: "git *", layer: LayerFile},
	{name: "order over tools", file: `{"shell_exec": "deny", "*": "allow"}`, subject: run("ls"), want: Allow, rule: "*", layer: LayerFile},
	{name: "a tool by its qualified name", file: `{"commands_run": "deny"}`, subject: run("ls"), want: Deny, rule: "*", layer: LayerFile},
	{name: "a tool by a glob", file: `{"commands_*": "allow"}`, subject: run("ls"), want: Allow, rule: "*", layer: LayerFile},
	{name: "a deny of the name that two tools would have", file: `{"commands_*": "allow", "commands_run": "deny"}`, subject: doubled, want: Deny, rule: "*", layer: LayerFile},
	{name: "a confirm of it", file: `{"commands_*": "allow", "commands_run": "confirm"}`, subject: doubled, want: Confirm, rule: "*", layer: LayerFile},
	{name: "its allow is none of theirs", file: `{"commands_run": "allow"}`, subject: doubled, want: Ask, rule: "*", layer: LayerFile},
	{name: "it lifts no deny", file: `{"commands_run_0a1b2c3d": "deny", "commands_run": "allow"}`, subject: doubled, want: Deny, rule: "*", layer: LayerFile},
	{name: "a grant of it is none of theirs", file: `{"commands_run": "ask", "$always": [{"tool": "commands_run", "pattern": "*", "risk": "NETWORK"}]}`, subject: doubled, want: Ask, rule: "*", layer: LayerFile},
	{name: "confirm", file: `{"shell_exec": "confirm"}`, subject: run("ls"), want: Confirm, rule: "*", layer: LayerFile},
	{name: "seeded: a plain file", file: "{" + seededReads + "}", subject: read("/w/main.go"), want: Allow, rule: "*", layer: LayerFile},
	{name: "seeded: a secret", file: "{" + seededReads + "}", subject: read("/w/.env.local"), want: Deny, rule: "*.env.*", layer: LayerFile},
	{name: "seeded: an example", file: "{" + seededReads + "}", subject: read("/w/.env.example"), want: Allow, rule: "*.env.example", layer: LayerFile},
	{name: "a line break dodges no deny", file: `{"shell_exec": {"*": "allow", "*rm -rf*": "deny"}}`, subject: run("echo a\nrm -rf b"), want: Deny, rule: "*rm -rf*", layer: LayerFile},

	// Every reading is judged. The strictest denial wins, and an allow counts only for the deciding reading.
	{
		name: "the example links to the secret", file: "{" + seededReads + "}",
		subject: read("/w/.env", Form{".env.example", "/w/.env.example"}), want: Deny, rule: "*.env", layer: LayerFile,
	},
	{
		name: "the secret links to the example", file: "{" + seededReads + "}",
		subject: read("/w/.env.example", Form{".env", "/w/.env"}), want: Deny, rule: "*.env", layer: LayerFile,
	},
	{
		name: "two readings, both allowed by an exception", file: "{" + seededReads + "}",
		subject: read("/w/.env.example", Form{"a/.env.example"}), want: Allow, rule: "*.env.example", layer: LayerFile,
	},
	{
		name: "another reading is allowed", file: `{"read_file": {"/safe/*": "allow"}}`,
		subject: read("/etc/passwd", Form{"/safe/x"}), want: Ask, layer: LayerDefault,
	},
	{
		name: "another reading asks", file: `{"read_file": {"*": "allow", "/odd/*": "ask"}}`,
		subject: read("/w/x", Form{"/odd/x"}), want: Allow, rule: "*", layer: LayerFile,
	},
	{
		name: "another reading needs a confirmation", file: `{"read_file": {"*": "allow", "/odd/*": "confirm"}}`,
		subject: read("/w/x", Form{"/odd/x"}), want: Confirm, rule: "/odd/*", layer: LayerFile,
	},
	{
		name: "a deny beats a confirm over readings", file: `{"read_file": {"*": "confirm", "/odd/*": "deny"}}`,
		subject: read("/w/x", Form{"/w/y"}, Form{"/odd/x"}), want: Deny, rule: "/odd/*", layer: LayerFile,
	},
	{
		name: "any spelling of the deciding reading", file: `{"read_file": {"src/*": "allow"}}`,
		subject: with(read("/w/src/a"), func(s *Subject) { s.Decides = Form{"/w/src/a", "src/a"} }), want: Allow, rule: "src/*", layer: LayerFile,
	},
	{
		name: "a wrapped command is denied by its wrapper", file: `{"shell_exec": {"*": "allow", "sudo *": "deny"}}`,
		subject: run("ls", Form{"sudo ls"}), want: Deny, rule: "sudo *", layer: LayerFile,
	},

	// The agent profile.
	{
		name: "an agent's deny is a veto", agent: `{"*": "deny"}`, file: `{"*": "allow"}`,
		subject: run("ls"), want: Deny, rule: "*", layer: LayerAgent, veto: true,
	},
	{
		name: "no grant lifts a veto", agent: `{"shell_exec": "deny"}`, file: grantFile(`{"tool": "*", "pattern": "*", "risk": "DESTRUCTIVE"}`),
		subject: run("ls"), want: Deny, rule: "*", layer: LayerAgent, veto: true,
	},
	{
		name: "an agent's exception to its own deny", agent: `{"*": "deny", "read_file": "allow"}`, file: `{}`,
		subject: read("/w/a"), want: Allow, rule: "*", layer: LayerAgent,
	},
	{
		name: "a veto on another reading", agent: `{"read_file": {"*": "allow", "*.env": "deny"}}`, file: `{"*": "allow"}`,
		subject: read("/w/x", Form{"/w/.env"}), want: Deny, rule: "*.env", layer: LayerAgent, veto: true,
	},
	{
		name: "the file tightens an agent's allow", agent: `{"*": "allow"}`, file: "{" + seededReads + "}",
		subject: read("/w/.env"), want: Deny, rule: "*.env", layer: LayerFile,
	},
	{
		name: "the file lifts an agent's ask", agent: `{"*": "ask"}`, file: `{"shell_exec": "allow"}`,
		subject: run("ls"), want: Allow, rule: "*", layer: LayerFile,
	},
	{
		name: "the agent's allow stands where the file is silent", agent: `{"shell_exec": {"git log *": "allow"}}`, file: `{"read_file": "deny"}`,
		subject: run("git log"), want: Allow, rule: "git log *", layer: LayerAgent,
	},

	// A guessed kind can only tighten.
	{
		name: "a guessed kind is not allowed by its name", file: `{"read_file": "allow"}`,
		subject: with(read("/w/a"), unbound), want: Ask, rule: "*", layer: LayerFile,
	},
	{
		name: "a guessed kind is denied by its name", file: `{"*": "allow", "read_file": {"*.env": "deny"}}`,
		subject: with(read("/w/.env"), unbound), want: Deny, rule: "*.env", layer: LayerFile,
	},
	{
		name: "a guessed kind's exception lifts no deny", file: "{" + seededReads + "}",
		subject: with(read("/w/.env.example"), unbound), want: Deny, rule: "*.env.*", layer: LayerFile,
	},
	{
		name: "a guessed kind's ask lifts no deny", file: `{"filesystem_*": "deny", "read_file": "ask"}`,
		subject: with(read("/w/a"), unbound), want: Deny, rule: "*", layer: LayerFile,
	},
	{
		name: "a guessed kind's allow makes an allow ask", file: `{"*": "allow", "read_file": "allow"}`,
		subject: with(read("/w/a"), unbound), want: Ask, rule: "*", layer: LayerFile,
	},
	{
		name: "the tool's own later rule decides over its guessed kind", file: `{"read_file": "deny", "filesystem_*": "allow"}`,
		subject: with(read("/w/a"), unbound), want: Allow, rule: "*", layer: LayerFile,
	},
	{
		name: "a guessed kind's confirm", file: `{"*": "allow", "read_file": {"*": "confirm", "*.md": "allow"}}`,
		subject: with(read("/w/a.md"), unbound), want: Confirm, rule: "*", layer: LayerFile,
	},
	{
		name: "a guessed kind has no grants", file: grantFile(`{"tool": "read_file", "pattern": "*", "risk": "WRITE"}`),
		subject: with(read("/w/a"), unbound), want: Ask, layer: LayerDefault,
	},
	{
		name: "an agent's denial of a guessed kind is a veto", agent: `{"read_file": "deny"}`, file: `{"*": "allow"}`,
		subject: with(read("/w/a"), unbound), want: Deny, rule: "*", layer: LayerAgent, veto: true,
	},

	// Subjects that can only deny.
	{
		name: "a file that a command reads", file: `{"*": "ask"}`,
		subject: with(read("/w/a"), deniesOnly), want: Allow, layer: LayerDefault,
	},
	{
		name: "a denied file that a command reads", file: "{" + seededReads + "}",
		subject: with(read("/w/.env"), deniesOnly), want: Deny, rule: "*.env", layer: LayerFile,
	},
	{
		name: "a file to confirm that a command reads", file: `{"read_file": {"*.key": "confirm"}}`,
		subject: with(read("/w/a.key"), deniesOnly), want: Confirm, rule: "*.key", layer: LayerFile,
	},
	{
		name: "a denied reading of a file that a command reads", file: "{" + seededReads + "}",
		subject: with(read("/w/x", Form{"/w/.env"}), deniesOnly), want: Deny, rule: "*.env", layer: LayerFile,
	},
	{
		name: "a vetoed file that a command reads", agent: `{"read_file": "deny"}`, file: `{"*": "allow"}`,
		subject: with(read("/w/x"), deniesOnly), want: Deny, rule: "*", layer: LayerAgent, veto: true,
	},

	// An effect beyond the text.
	{
		name: "an effect from elsewhere is not named", file: `{"shell_exec": {"git log *": "allow"}}`,
		subject: with(run("git log"), effect), want: Ask, layer: LayerDefault,
	},
	{
		name: "everything is everything", file: `{"shell_exec": "allow"}`,
		subject: with(run("git log"), effect), want: Allow, rule: "*", layer: LayerFile,
	},
	{
		name: "an effect is still denied", file: `{"shell_exec": "deny"}`,
		subject: with(run("git log"), effect), want: Deny, rule: "*", layer: LayerFile,
	},
	{
		name: "no grant releases an effect", file: grantFile(`{"tool": "shell_exec", "pattern": "git log *", "risk": "NETWORK"}`),
		subject: with(run("git log"), effect), want: Ask, rule: "*", layer: LayerFile,
	},
	{
		name: "an effect of a subject that denies only", file: `{}`,
		subject: with(with(run("git log"), effect), deniesOnly), want: Ask, layer: LayerDefault,
	},

	// No value.
	{
		name: "no value, any pattern", file: `{"github_*": {"*": "allow"}}`,
		subject: Subject{Tool: "github_list"}, want: Allow, rule: "*", layer: LayerFile,
	},
	{
		name: "no value, two stars", file: `{"github_*": {"**": "allow"}}`,
		subject: Subject{Tool: "github_list"}, want: Allow, rule: "**", layer: LayerFile,
	},
	{
		name: "no value, a narrower pattern", file: `{"github_*": {"*a": "allow", "?(a)": "allow", "!b": "allow"}}`,
		subject: Subject{Tool: "github_list"}, want: Ask, layer: LayerDefault,
	},
	{
		name: "no value, a denied other reading", file: `{"*": "allow", "read_file": {"*.env": "deny"}}`,
		subject: Subject{Tool: "fs_read", Kind: "read_file", KindBound: true, Also: []Form{{"/w/.env"}}}, want: Deny, rule: "*.env", layer: LayerFile,
	},

	// Arguments.
	{
		name: "an argument is allowed", file: `{"github_*": {"*": "ask", "owner=acme": "allow"}}`,
		subject: call(`{"owner": "acme"}`), want: Allow, rule: "owner=acme", layer: LayerFile,
	},
	{
		name: "another value of the argument", file: `{"github_*": {"*": "ask", "owner=acme": "allow"}}`,
		subject: call(`{"owner": "evil"}`), want: Ask, rule: "*", layer: LayerFile,
	},
	{
		name: "an absent argument", file: `{"github_*": {"*": "ask", "owner=*": "allow"}}`,
		subject: call(`{"repo": "x"}`), want: Ask, rule: "*", layer: LayerFile,
	},
	{
		name: "a nested argument", file: `{"github_*": {"repo.owner=ac*": "allow"}}`,
		subject: call(`{"repo": {"owner": "acme"}}`), want: Allow, rule: "repo.owner=ac*", layer: LayerFile,
	},
	{
		name: "a number by its spelling", file: `{"github_*": {"n=1.50": "allow"}}`,
		subject: call(`{"n": 1.50}`), want: Allow, rule: "n=1.50", layer: LayerFile,
	},
	{
		name: "another spelling of the number", file: `{"github_*": {"n=1.50": "allow"}}`,
		subject: call(`{"n": 1.5}`), want: Ask, layer: LayerDefault,
	},
	{
		name: "a large number keeps its digits", file: `{"github_*": {"n=9007199254740993": "allow"}}`,
		subject: call(`{"n": 9007199254740993}`), want: Allow, rule: "n=9007199254740993", layer: LayerFile,
	},
	{
		name: "a boolean and null", file: `{"github_*": {"*": "allow", "force=true": "deny", "x=null": "deny"}}`,
		subject: call(`{"force": true, "x": 1}`), want: Deny, rule: "force=true", layer: LayerFile,
	},
	{
		name: "an escaped string is decoded", file: `{"github_*": {"*": "allow", "path=*.env": "deny"}}`,
		subject: call(`{"path": "\u002eenv"}`), want: Deny, rule: "path=*.env", layer: LayerFile,
	},
	{
		name: "a deny needs one element of an array", file: `{"github_*": {"*": "allow", "paths=*.env": "deny"}}`,
		subject: call(`{"paths": ["a", ["b", ".env"]]}`), want: Deny, rule: "paths=*.env", layer: LayerFile,
	},
	{
		name: "an allow needs every element of an array", file: `{"github_*": {"paths=src/*": "allow"}}`,
		subject: call(`{"paths": ["src/a", "etc/b"]}`), want: Ask, layer: LayerDefault,
	},
	{
		name: "an allow has every element of an array", file: `{"github_*": {"paths=src/*": "allow"}}`,
		subject: call(`{"paths": ["src/a", "src/b"]}`), want: Allow, rule: "paths=src/*", layer: LayerFile,
	},
	{
		name: "an allow has nothing in an empty array", file: `{"github_*": {"paths=*": "allow"}}`,
		subject: call(`{"paths": []}`), want: Ask, layer: LayerDefault,
	},
	{
		name: "all arguments, in another order and spelling", file: `{"github_*": {"\\{\\\"a\\\":1.0,\\\"b\\\":\\\"<é>\\\"\\}": "allow"}}`,
		subject: call(`{"b": "<\u00e9>", "a": 1.0}`), want: Allow, rule: `\{\"a\":1.0,\"b\":\"<é>\"\}`, layer: LayerFile,
	},
	{
		name: "all arguments and one more", file: `{"github_*": {"\\{\\\"a\\\":1\\}": "allow"}}`,
		subject: call(`{"a": 1, "b": 2}`), want: Ask, layer: LayerDefault,
	},
	{
		name: "all arguments with a number in another spelling", file: `{"github_*": {"\\{\\\"a\\\":1\\}": "allow"}}`,
		subject: call(`{"a": 1.0}`), want: Ask, layer: LayerDefault,
	},
	{
		name: "all arguments of a call that holds only a part", file: `{"github_*": {"\\{\\\"a\\\":\\{\\\"b\\\":1\\}\\}": "allow"}}`,
		subject: call(`{"a": {}}`), want: Ask, layer: LayerDefault,
	},
	{
		name: "all arguments that are denied", file: `{"github_*": {"*": "allow", "\\{\\\"a\\\":1\\}": "deny"}}`,
		subject: call(`{ "a" : 1 }`), want: Deny, rule: `\{\"a\":1\}`, layer: LayerFile,
	},
	{
		name: "all arguments that cannot be read", file: `{"github_*": {"*": "allow", "\\{\\\"a\\\":1\\}": "deny"}}`,
		subject: call(`{"a":`), want: Deny, rule: `\{\"a\":1\}`, layer: LayerFile,
	},
	{
		name: "a path goes through arrays", file: `{"github_*": {"*": "allow", "files.name=*.env": "deny"}}`,
		subject: call(`{"files": [{"name": "a"}, {"name": ".env"}]}`), want: Deny, rule: "files.name=*.env", layer: LayerFile,
	},
	{
		name: "a deny looks into an object", file: `{"github_*": {"*": "allow", "file=*.env": "deny"}}`,
		subject: call(`{"file": {"deep": {"name": ".env"}}}`), want: Deny, rule: "file=*.env", layer: LayerFile,
	},
	{
		name: "an allow does not look into an object", file: `{"github_*": {"file=*": "allow"}}`,
		subject: call(`{"file": {"name": "a"}}`), want: Ask, layer: LayerDefault,
	},
	{
		name: "a later argument rule lifts a deny", file: `{"github_*": {"*": "deny", "owner=acme": "ask"}}`,
		subject: call(`{"owner": "acme"}`), want: Ask, rule: "owner=acme", layer: LayerFile,
	},
	{
		name: "arguments that are no object are denied by any argument", file: `{"github_*": {"*": "allow", "a=b": "deny"}}`,
		subject: call(`[1]`), want: Deny, rule: "a=b", layer: LayerFile,
	},
	{
		name: "arguments that cannot be read are not allowed", file: `{"github_*": {"a=b": "allow"}}`,
		subject: call(`{"a": "b"} x`), want: Ask, layer: LayerDefault,
	},
	{
		name: "a negated argument", file: `{"github_*": {"*": "allow", "owner=!acme": "deny"}}`,
		subject: call(`{"owner": "evil"}`), want: Deny, rule: "owner=!acme", layer: LayerFile,
	},
	{
		name: "without arguments the form is text", file: `{"shell_exec": {"dd if=*": "deny", "X=*": "deny"}}`,
		subject: run("X=1"), want: Deny, rule: "X=*", layer: LayerFile,
	},
	{
		name: "with arguments a deny by either reading holds", file: `{"*": {"*": "allow", "a=b": "deny"}}`,
		subject: with(run("a=b"), func(s *Subject) { s.Arguments = []byte(`{}`) }), want: Deny, rule: "a=b", layer: LayerFile,
	},
	{
		name: "with arguments an allow is about the argument", file: `{"*": {"a=b": "allow"}}`,
		subject: with(run("a=b"), func(s *Subject) { s.Arguments = []byte(`{}`) }), want: Ask, layer: LayerDefault,
	},

	// Grants.
	{
		name: "a grant releases an ask", file: grantFile(`{"tool": "shell_exec", "pattern": "git push *", "risk": "NETWORK"}`),
		subject: run("git push origin"), want: Ask, rule: "*", layer: LayerFile, grant: "git push *",
	},
	{
		name: "a grant releases where no rule matches", file: `{"$always": [{"tool": "commands_run", "pattern": "*", "risk": "NETWORK"}]}`,
		subject: run("ls"), want: Ask, layer: LayerDefault, grant: "*",
	},
	{
		name: "a grant for tools by a glob", file: `{"$always": [{"tool": "commands_*", "pattern": "*", "risk": "NETWORK"}]}`,
		subject: run("ls"), want: Ask, layer: LayerDefault, grant: "*",
	},
	{
		name: "a grant for another tool", file: `{"$always": [{"tool": "read_file", "pattern": "*", "risk": "NETWORK"}]}`,
		subject: run("ls"), want: Ask, layer: LayerDefault,
	},
	{
		name: "a grant with another pattern", file: grantFile(`{"tool": "shell_exec", "pattern": "git pull *", "risk": "NETWORK"}`),
		subject: run("git push"), want: Ask, rule: "*", layer: LayerFile,
	},
	{
		name: "a grant by another reading", file: grantFile(`{"tool": "shell_exec", "pattern": "git push *", "risk": "NETWORK"}`),
		subject: run("env git push", Form{"git push"}), want: Ask, rule: "*", layer: LayerFile,
	},
	{
		name: "no grant lifts a deny", file: `{"shell_exec": "deny", "$always": [{"tool": "*", "pattern": "*", "risk": "DESTRUCTIVE"}]}`,
		subject: run("ls"), want: Deny, rule: "*", layer: LayerFile,
	},
	{
		name: "no grant lifts a confirm", file: `{"shell_exec": "confirm", "$always": [{"tool": "*", "pattern": "*", "risk": "DESTRUCTIVE"}]}`,
		subject: run("ls"), want: Confirm, rule: "*", layer: LayerFile,
	},
	{
		name: "an allow needs no grant", file: `{"shell_exec": "allow", "$always": [{"tool": "*", "pattern": "*", "risk": "DESTRUCTIVE"}]}`,
		subject: run("ls"), want: Allow, rule: "*", layer: LayerFile,
	},
	{
		name: "a risk above the ceiling", file: grantFile(`{"tool": "shell_exec", "pattern": "git push *", "risk": "NETWORK"}`),
		subject: with(run("git push --force"), func(s *Subject) { s.Risk = Destructive }), want: Ask, rule: "*", layer: LayerFile,
	},
	{
		name: "an unknown risk is above NETWORK", file: grantFile(`{"tool": "shell_exec", "pattern": "*", "risk": "NETWORK"}`),
		subject: with(run("x"), func(s *Subject) { s.Risk = Unknown }), want: Ask, rule: "*", layer: LayerFile,
	},
	{
		name: "the granted server", file: grantFile(`{"tool": "shell_exec", "pattern": "*", "risk": "NETWORK", "server": "commands"}`),
		subject: run("ls"), context: Context{Server: "commands"}, want: Ask, rule: "*", layer: LayerFile, grant: "*",
	},
	{
		name: "another server", file: grantFile(`{"tool": "shell_exec", "pattern": "*", "risk": "NETWORK", "server": "commands"}`),
		subject: run("ls"), context: Context{Server: "other"}, want: Ask, rule: "*", layer: LayerFile,
	},
	{
		name: "the granted workspace", file: grantFile(`{"tool": "shell_exec", "pattern": "*", "risk": "NETWORK", "workspace": "/w/app"}`),
		subject: run("ls"), context: Context{Workspace: "/w/app"}, want: Ask, rule: "*", layer: LayerFile, grant: "*",
	},
	{
		name: "below the granted workspace", file: grantFile(`{"tool": "shell_exec", "pattern": "*", "risk": "NETWORK", "workspace": "~/app/"}`),
		subject: run("ls"), context: Context{Workspace: "/home/u/app/sub/"}, want: Ask, rule: "*", layer: LayerFile, grant: "*",
	},
	{
		name: "beside the granted workspace", file: grantFile(`{"tool": "shell_exec", "pattern": "*", "risk": "NETWORK", "workspace": "/w/app"}`),
		subject: run("ls"), context: Context{Workspace: "/w/app2"}, want: Ask, rule: "*", layer: LayerFile,
	},
	{
		name: "out of the granted workspace by dots", file: grantFile(`{"tool": "shell_exec", "pattern": "*", "risk": "NETWORK", "workspace": "/w/app"}`),
		subject: run("ls"), context: Context{Workspace: "/w/app/../etc"}, want: Ask, rule: "*", layer: LayerFile,
	},
	{
		name: "no workspace is known", file: grantFile(`{"tool": "shell_exec", "pattern": "*", "risk": "NETWORK", "workspace": "/"}`),
		subject: run("ls"), want: Ask, rule: "*", layer: LayerFile,
	},
	{
		name: "a grant that holds", file: grantFile(`{"tool": "shell_exec", "pattern": "*", "risk": "NETWORK", "expires": "2026-11-20T12:00:01Z"}`),
		subject: run("ls"), context: Context{Now: noon}, want: Ask, rule: "*", layer: LayerFile, grant: "*",
	},
	{
		name: "a grant that just expired", file: grantFile(`{"tool": "shell_exec", "pattern": "*", "risk": "NETWORK", "expires": "2026-11-20T12:00:00Z"}`),
		subject: run("ls"), context: Context{Now: noon}, want: Ask, rule: "*", layer: LayerFile,
	},
	{
		name: "an expiring grant and an unknown time", file: grantFile(`{"tool": "shell_exec", "pattern": "*", "risk": "NETWORK", "expires": "2026-11-20T12:00:00Z"}`),
		subject: run("ls"), want: Ask, rule: "*", layer: LayerFile,
	},
	{
		name: "a grant on arguments", file: `{"$always": [{"tool": "github_create_issue", "pattern": "owner=acme", "risk": "NETWORK"}]}`,
		subject: call(`{"owner": "acme"}`), want: Ask, layer: LayerDefault, grant: "owner=acme",
	},
	{
		name: "a grant on arguments that only some elements match", file: `{"$always": [{"tool": "github_create_issue", "pattern": "owner=acme", "risk": "NETWORK"}]}`,
		subject: call(`{"owner": ["acme", "evil"]}`), want: Ask, layer: LayerDefault,
	},
	{
		name: "a narrow grant and no value", file: `{"$always": [{"tool": "*", "pattern": "x*", "risk": "NETWORK"}]}`,
		subject: Subject{Tool: "github_list", Risk: ReadOnly}, want: Ask, layer: LayerDefault,
	},
	{
		name: "an ask that names what needs no allow", file: `{"shell_exec": {"*": "ask", "exit *": "ask"}}`,
		subject: with(run("exit 1"), deniesOnly), want: Ask, rule: "exit *", layer: LayerFile,
	},
	{
		name: "an ask for every command, and what needs no allow", file: `{"shell_exec": {"*": "ask"}}`,
		subject: with(run("exit 1"), deniesOnly), want: Allow, layer: LayerDefault,
	},
	{
		name: "the first grant that covers", file: grantFile(`{"tool": "shell_exec", "pattern": "git *", "risk": "WRITE"}, {"tool": "shell_exec", "pattern": "git push *", "risk": "NETWORK"}`),
		subject: run("git push"), want: Ask, rule: "*", layer: LayerFile, grant: "git push *",
	},
}

func unbound(s *Subject)    { s.KindBound = false }
func deniesOnly(s *Subject) { s.DeniesOnly = true }
func effect(s *Subject)     { s.Effects = []Effect{{Text: "env LD_PRELOAD"}} }

func TestEvaluate(t *testing.T) {
	for _, c := range stories {
		t.Run(c.name, func(t *testing.T) {
			p := mustPolicy(t, c.agent, c.file)
			f := Evaluate(p, c.context, &c.subject)
			if f.Action != c.want {
				t.Fatalf("action = %v by %v, want %v", f.Action, f.Rule, c.want)
			}
			var rule, grant string
			if f.Rule != nil {
				rule = f.Rule.Pattern
			}
			if f.Grant != nil {
				grant = f.Grant.Pattern
			}
			if rule != c.rule || f.Layer != c.layer || f.Veto != c.veto || grant != c.grant {
				t.Errorf("rule %q of layer %s (veto %v), grant %q; want %q of %s (%v), %q",
					rule, f.Layer, f.Veto, grant, c.rule, c.layer, c.veto, c.grant)
			}
			if f.Subject.Value != c.subject.Value || f.Subject.Tool != c.subject.Tool {
				t.Errorf("the finding is about %q of %s", f.Subject.Value, f.Subject.Tool)
			}
		})
	}
}

func TestUnboundFindingsSaySo(t *testing.T) {
	p := mustPolicy(t, "", `{"*": "allow", "read_file": "allow"}`)
	s := with(read("/w/a"), unbound)
	if f := Evaluate(p, Context{}, &s); !f.Unbound || f.Rule.Tool != "read_file" {
		t.Errorf("finding by %v does not say that the kind is a guess", f.Rule)
	}
	s.KindBound = true
	if f := Evaluate(p, Context{}, &s); f.Unbound {
		t.Errorf("finding by %v says that a bound kind is a guess", f.Rule)
	}
}

func TestOneToolWithAndWithoutABoundKind(t *testing.T) {
	p := mustPolicy(t, "", `{"read_file": "allow"}`)
	s := read("/w/a")
	for i := range 4 {
		s.KindBound = i%2 == 0
		want := Ask
		if s.KindBound {
			want = Allow
		}
		if f := Evaluate(p, Context{}, &s); f.Action != want {
			t.Errorf("bound %v: %v, want %v", s.KindBound, f.Action, want)
		}
	}
}

func TestOnlyACompiledPolicyDecides(t *testing.T) {
	s := run("ls")
	allow := Rule{Tool: "*", Pattern: "*", Action: Allow}
	for name, p := range map[string]*Policy{"nil": nil, "zero": {}, "literal": {File: []Rule{allow}}} {
		if f := Evaluate(p, Context{}, &s); f.Action != Deny {
			t.Errorf("a %s policy says %v", name, f.Action)
		}
	}
}

func TestNewPolicyRefuses(t *testing.T) {
	rule := func(change func(*Rule)) []Rule {
		r := Rule{Tool: "t", Pattern: "*", Action: Ask, Source: "agent.md:3"}
		change(&r)
		return []Rule{r}
	}
	grant := func(change func(*Grant)) []Grant {
		g := Grant{Tool: "t", Pattern: "*", Risk: Write, Source: "agent.md:3"}
		change(&g)
		return []Grant{g}
	}
	cases := []struct {
		rules  []Rule
		grants []Grant
		want   string
	}{
		{rule(func(r *Rule) { r.Tool = "" }), nil, "tool"},
		{rule(func(r *Rule) { r.Pattern = "{a" }), nil, "unclosed"},
		{rule(func(r *Rule) { r.Pattern = "a=(b)" }), nil, "bare ("},
		{rule(func(r *Rule) { r.Action = 9 }), nil, "unknown action"},
		{nil, grant(func(g *Grant) { g.Tool = "(" }), "tool"},
		{nil, grant(func(g *Grant) { g.Pattern = "" }), "empty"},
		{nil, grant(func(g *Grant) { g.Risk = 99 }), "unknown risk"},
		{nil, grant(func(g *Grant) { g.Workspace = "rel" }), "absolute"},
	}
	for _, c := range cases {
		refused := func(p *Policy, err error) {
			t.Helper()
			if p != nil || err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "agent.md:3: ") {
				t.Errorf("%+v, %+v give %v, %v; want an error with %q", c.rules, c.grants, p, err, c.want)
			}
		}
		refused(NewPolicy(nil, c.rules, c.grants))
		refused(NewPolicy(c.rules, nil, c.grants))
	}
}

func TestWithKeepsTheFileAndAddsTheSession(t *testing.T) {
	base := mustPolicy(t, "", grantFile(`{"tool": "shell_exec", "pattern": "ls *", "risk": "NETWORK"}`))
	session, err := base.With(
		[]Rule{{Tool: "shell_exec", Pattern: "rm *", Action: Deny, Source: "explore.md:4"}},
		[]Grant{{Tool: "shell_exec", Pattern: "git push *", Risk: Network}},
	)
	if err != nil {
		t.Fatal(err)
	}
	veto, old, added := run("rm x"), run("ls"), run("git push")
	if f := Evaluate(session, Context{}, &veto); !f.Veto || f.Layer != LayerAgent {
		t.Errorf("the agent's deny gives %v of %s", f.Action, f.Layer)
	}
	if f := Evaluate(session, Context{}, &old); f.Grant == nil || f.Grant.Layer != LayerAlways {
		t.Errorf("the worker's grant gives %v", f.Grant)
	}
	if f := Evaluate(session, Context{}, &added); f.Grant == nil || f.Grant.Layer != LayerSession {
		t.Errorf("the session's grant gives %v", f.Grant)
	}
	if f := Evaluate(base, Context{}, &added); f.Grant != nil {
		t.Errorf("the session's grant %v is in the worker's policy", f.Grant)
	}
}

func TestViewsAreBounded(t *testing.T) {
	p := mustPolicy(t, "", `{"*": "ask", "*7": "deny"}`)
	for i := range maxTools + 100 {
		s := Subject{Tool: fmt.Sprintf("tool_%d", i), Decides: Form{"v"}}
		want := Ask
		if i%10 == 7 {
			want = Deny
		}
		if f := Evaluate(p, Context{}, &s); f.Action != want {
			t.Fatalf("%s = %v, want %v", s.Tool, f.Action, want)
		}
	}
	if n := len(p.views.byTool); n != 100 {
		t.Errorf("%d tools are kept, want 100", n)
	}
	if n := len(p.views.same); n != 2 {
		t.Errorf("tools have %d views, want 2", n)
	}
}

func TestEvaluateConcurrently(t *testing.T) {
	p := mustPolicy(t, "", "{"+seededReads+"}")
	done := make(chan Action)
	for i := range 8 {
		go func() {
			worst := Allow
			for j := range 200 {
				s := read("/w/a")
				s.Tool = "server" + string(rune('a'+(i+j)%8)) + "_read"
				worst = worst.Stricter(Evaluate(p, Context{}, &s).Action)
			}
			done <- worst
		}()
	}
	for range 8 {
		if worst := <-done; worst != Allow {
			t.Errorf("a concurrent evaluation gave %v", worst)
		}
	}
}

func TestEvaluateDoesNotAllocate(t *testing.T) {
	p := mustPolicy(t, "", "{"+seededReads+"}")
	s := read("/w/main.go", Form{"main.go", "./main.go"})
	if n := testing.AllocsPerRun(100, func() { Evaluate(p, Context{}, &s) }); n != 0 {
		t.Errorf("an allowed call allocates %v times", n)
	}
}

// mustPolicy compiles rules written as in a file, the agent profile's first.
func mustPolicy(t testing.TB, agent, file string) *Policy {
	t.Helper()
	parse := func(name, text string) *File {
		f, err := ParseFile(name, []byte(text), "/home/u")
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	var profile []Rule
	if agent != "" {
		for _, r := range parse("agent.md", agent).Rules {
			profile = append(profile, Rule{Tool: r.Tool, Pattern: r.Pattern, Action: r.Action, Source: r.Source})
		}
	}
	f := parse("permissions.jsonc", file)
	p, err := NewPolicy(profile, f.Rules, f.Grants)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
