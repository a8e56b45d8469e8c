package lint

import (
	"strings"
	"testing"

	"callgate/permissions"
	"callgate/permissions/store"
)

var lintKinds = []string{
	"read_file", "write_file", "edit_file", "delete_file", "move_file", "glob", "grep", "shell_exec", "web_fetch", "skill",
	"process_input", "resource_read", "prompt_get", "sampling",
}

// lintCases are files and the findings of Rules: check, severity, line, and a text that the finding contains.
var lintCases = []struct {
	name, file string
	tools      []Tool
	servers    []string
	want       []string // "check severity line: text"
}{
	{name: "nothing to say", file: `{"*": "ask", "read_file": {"*": "allow", "*.env": "deny"}, "shell_exec": {"*": "ask", "git @(status|diff|log) *": "allow"}}`},

	{name: "shadowed", file: "{\"glob\": \"allow\",\n\"*\": \"ask\"}", want: []string{`shadowed warning 1: It never decides: the last rule that matches wins, and * "*" ask`}},
	{name: "shadowed by the same", file: "{\"glob\": \"ask\",\n\"*\": \"ask\"}", want: []string{"shadowed note 1: says the same"}},
	{name: "shadowed by a group", file: "{\"write_file\": {\"a/*\": \"allow\"},\n\"{write,edit}_file\": {\"a/**\": \"ask\"}}", want: []string{"shadowed warning 1: {write,edit}_file"}},
	{name: "a deny is lifted altogether", file: "{\"read_file\": {\"*.env\": \"deny\",\n\"*\": \"allow\"}}", want: []string{"lifted-deny warning 1: It denies nothing"}},
	{name: "a deny is lifted in part", file: "{\"read_file\": {\"*.env\": \"deny\",\n\"src/*\": \"allow\"}}", want: []string{`lifted-deny warning 1: "src/.env"`}},
	{name: "an exception to a deny", file: "{\"read_file\": {\"*.env.*\": \"deny\",\n\"*.env.example\": \"allow\"}}"},
	{name: "lifted and denied again", file: "{\"read_file\": {\"*.env\": \"deny\",\n\"src/*\": \"allow\",\n\"**/*.env\": \"deny\"}}", want: []string{"shadowed note 1: says the same"}},
	{name: "lifted by the name of a tool", file: "{\"read_file\": {\"*.env\": \"deny\"},\n\"fs_*\": \"allow\"}", want: []string{"lifted-deny note 1: a tool fs_* that is of the kind read_file"}},
	{name: "lifted for a tool that is known", file: "{\"read_file\": {\"*.env\": \"deny\"},\n\"fs_*\": \"allow\"}", tools: []Tool{{"fs_cat", "read_file", true}},
		want: []string{"lifted-deny warning 1: one of fs_cat"}},
	{name: "no tool is both", file: "{\"read_file\": {\"*.env\": \"deny\"},\n\"fs_*\": \"allow\"}", tools: []Tool{{"fs_x", "", false}, {"a_cat", "read_file", true}}},

	{name: "a condition about no tool", file: `{"glob": {"a": {"action": "allow", "when": {"after": "tests", "notAfter": "edit_file"}}}}`, want: []string{`condition warning 1: "after" never holds`}},
	{name: "no such kind", file: `{"bash": "deny"}`, want: []string{`never-matches warning 1: "bash" is neither a kind`}},
	{name: "no such tool", file: `{"read_files": "deny", "fs_cat": "ask"}`, tools: []Tool{{"fs_cat", "", false}}, want: []string{`never-matches warning 1: "read_files" is neither`}},
	{name: "a misspelled kind", file: `{"shell_exce": {"rm *": "deny"}}`, want: []string{`misspelled warning 1: did you mean "shell_exec"?`}},
	{name: "one of several kinds is misspelled", file: `{"{read_file,wirte_file}": {"*.env": "deny"}}`, want: []string{`misspelled warning 1: "write_file"`}},
	{name: "a misspelled server", file: `{"note_send": "deny"}`, servers: []string{"notes"}, want: []string{`misspelled warning 1: "notes_send"`}},
	{name: "a tool of a server that is spelled like a kind", file: `{"red_file": "deny", "mail_send": "deny"}`, servers: []string{"red", "notes"}},

	{name: "an argument of a kind", file: `{"read_file": {"path=*.env": "deny"}}`, want: []string{`never-matches warning 1: names the argument "path"`}},
	{name: "an argument of a tool", file: `{"fs_cat": {"path=*.env": "deny"}}`},
	{name: "a folder with a slash", file: `{"write_file": {"src/": "allow"}}`, want: []string{"never-matches warning 1: never ends in a slash"}},
	{name: "a name that is meant anywhere", file: `{"read_file": {".env": "deny", "/etc/shadow": "deny"}}`, want: []string{"narrow warning 1: folders below it"}},

	{name: "a folder that is denied", file: `{"read_file": {"src/": "deny", "/etc": "deny", "./private": "deny", "$WORKSPACE": "deny"}}`},
	{name: "a path with ..", file: "{\"read_file\": {\"../x/**\": \"deny\",\n\"a/*/../b\": \"deny\", \"a/../b/c\": \"deny\"}}", want: []string{`never-matches warning 1: has no ".."`, `never-matches warning 2: has no ".."`}},
	{name: "a home that is not spelled so", file: "{\"read_file\": {\"${HOME}/x/**\": \"deny\",\n\"~root/**\": \"deny\", \"~/y/z\": \"deny\"}}", want: []string{"never-matches warning 1: Only ~/", "never-matches warning 2: Only ~/"}},
	{name: "a host alone", file: "{\"web_fetch\": {\"evil.example\": \"deny\",\n\"*.evil.example\": \"deny\",\n\"evil.example/*\": \"deny\",\n\"https://evil.example\": \"deny\", \"*other*\": \"deny\", \"*://*.evil.example/*\": \"deny\"}}",
		want: []string{`never-matches warning 1: begins with its scheme`, `never-matches warning 2: begins with its scheme`, `never-matches warning 3: begins with its scheme`}},
	{name: "regular expressions", file: "{\"shell_exec\": {\"^rm .*$\": \"deny\",\n\"rm.*\": \"deny\",\n\"git push.*\": \"deny\", \"ls *.*\": \"ask\", \"rm ./*\": \"ask\"}}",
		want: []string{"regular-expression warning 1: globs", "regular-expression warning 2: globs", "regular-expression warning 3: globs"}},
	{name: "a bracket", file: `{"read_file": {"**/[abc": "deny", "**/[abc]x": "deny"}}`, want: []string{"bracket warning 1: not closed"}},

	{name: "every command", file: `{"shell_exec": "allow"}`, want: []string{"broad warning 1: every command run"}},
	{name: "everything", file: `{"*": "allow"}`, want: []string{"broad warning 1: every command run"}},
	{name: "everything but commands", file: `{"*": "allow", "shell_exec": "ask"}`},
	{name: "git push --force", file: "{\"shell_exec\": {\n\"git *\": \"allow\"}}", want: []string{`stops-short note 2: does not reach "git push origin main"`}},
	{name: "git push --force is denied later", file: `{"shell_exec": {"git push *": "allow", "git push *--force*": "confirm"}}`},
	{name: "force that is meant", file: `{"shell_exec": {"git push --force *": "allow"}}`},
	{name: "a tool that is a shell", file: `{"sh_run": {"git push *": "allow"}}`, tools: []Tool{{"sh_run", "shell_exec", true}}},
	{name: "interpreters", file: "{\"shell_exec\": {\"bash *\": \"allow\",\n\"python3 *\": \"allow\",\n\"npx *\": \"allow\"}}", want: []string{`stops-short note 1: does not reach "bash any-script.sh"`, `stops-short note 2: does not reach "python3 -c code"`, `stops-short note 3: does not reach "npx any-package"`}},
	{name: "a script that is meant", file: `{"shell_exec": {"python3 scripts/build.py *": "allow", "bash run.sh *": "allow"}}`},
	{name: "any image", file: `{"shell_exec": {"docker run *": "allow"}}`, want: []string{"interpreter warning 1: docker run any-image"}},
	{name: "any script", file: `{"shell_exec": {"bash *.sh": "allow"}}`, want: []string{`stops-short note 1: does not reach "bash any-script.sh"`}},
	{name: "wrappers", file: "{\"shell_exec\": {\"env *\": \"allow\",\n\"sudo *\": \"allow\",\n\"xargs *\": \"allow\",\n\"timeout 5 make *\": \"allow\"}}",
		want: []string{"wrapper warning 1: looks through env", "wrapper warning 2: gains privileges", "wrapper warning 3: looks through xargs", `wrapper warning 4: "make"`}},
	{name: "denied wrappers work", file: `{"shell_exec": {"sudo *": "deny", "xargs *": "deny", "env *": "confirm"}}`},
	{name: "two commands", file: `{"shell_exec": {"cd * && make": "allow"}}`, want: []string{`never-matches warning 1: "make"`}},
	{name: "a redirection", file: `{"shell_exec": {"echo * > out.txt": "allow"}}`, want: []string{`never-matches warning 1: "echo x"`}},
	{name: "a variable", file: `{"shell_exec": {"CI=1 make *": "allow"}}`, want: []string{`never-matches warning 1: "make"`}},
	{name: "an option before the subcommand", file: `{"shell_exec": {"git -C * status": "allow"}}`, want: []string{`never-matches warning 1: "git status"`}},
	{name: "two spaces", file: `{"shell_exec": {"git  status": "allow"}}`, want: []string{"never-matches warning 1: \"git status\""}},
	{name: "a deny without arguments", file: `{"shell_exec": {"npm publish --tag x": "deny"}}`, want: []string{"prefix warning 1: one more argument gets around it"}},
	{name: "a deny on a bare name", file: `{"shell_exec": {"npm publish": "deny"}}`},
	{name: "an allow without arguments", file: `{"shell_exec": {"git status": "allow"}}`, want: []string{"prefix note 1: without any further arguments"}},
	{name: "an allow with and without arguments", file: `{"shell_exec": {"git log": "ask", "git log *": "allow"}}`},
	{name: "a deny that holds with any arguments", file: `{"shell_exec": {"rm": "deny", "{rm,rmdir}": "ask"}}`},
	{name: "a star without a space", file: `{"shell_exec": {"ls*": "allow", "npm run test*": "allow"}}`, want: []string{`glued-star note 1: "lsx"`, `glued-star note 1: "npm run testx"`}},
	{name: "a star in an argument", file: `{"shell_exec": {"cat src/*": "allow"}}`},
	{name: "a deny with a star without a space", file: `{"shell_exec": {"rm*": "deny"}}`},
	{name: "a star that reaches less far", file: `{"shell_exec": {"lsof *": "deny", "ls*": "allow"}}`, want: []string{"glued-star note 1: "}},

	{name: "a kind that is only guessed", file: `{"read_file": {"*": "allow", "*.env": "deny"}}`, tools: []Tool{{"fs_cat", "read_file", false}, {"x_y", "", false}},
		want: []string{"guessed-kind warning 1: (fs_cat)"}},
	{name: "a kind that is certain once", file: `{"read_file": "allow"}`, tools: []Tool{{"fs_cat", "read_file", false}, {"fs_read", "read_file", true}}},
	{name: "a guess that the name makes good", file: `{"{read_file,fs_*}": "allow"}`, tools: []Tool{{"fs_cat", "read_file", false}}},
}

func TestRules(t *testing.T) {
	for _, c := range lintCases {
		t.Run(c.name, func(t *testing.T) {
			f, err := permissions.ParseFile("/d/permissions.jsonc", []byte(c.file), "/h")
			if err != nil {
				t.Fatal(err)
			}
			problems, err := Rules(f.Rules, Options{Kinds: lintKinds, Tools: c.tools, Servers: c.servers})
			if err != nil {
				t.Fatal(err)
			}
			for i, p := range problems {
				if p.Why == "" || p.Cure == "" || p.Rule == "" {
					t.Errorf("a finding without why, cure or rule: %+v", p)
				}
				got := p.Check + " " + string(p.Severity) + " " + strings.TrimPrefix(p.Source, "/d/permissions.jsonc:") + ": "
				if i >= len(c.want) {
					t.Errorf("more than wanted: %s%s", got, p.Why)
					continue
				}
				head, text, _ := strings.Cut(c.want[i], ": ")
				if !strings.HasPrefix(got, head+": ") || !strings.Contains(p.Why, text) {
					t.Errorf("got  %s%s\nwant %s", got, p.Why, c.want[i])
				}
			}
			if len(problems) < len(c.want) {
				t.Errorf("%d findings, want %q", len(problems), c.want)
			}
		})
	}
}

func TestTheDefaultsHaveNoProblems(t *testing.T) {
	f, err := permissions.ParseFile("defaults.jsonc", store.Seed("/h"), "/h")
	if err != nil {
		t.Fatal(err)
	}
	problems, err := Rules(f.Rules, Options{Kinds: lintKinds})
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %+v", err, problems)
	}
}

// FuzzRules checks that Rules handles every file that parses, and ends.
func FuzzRules(f *testing.F) {
	for _, c := range lintCases {
		f.Add(c.file)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4<<10 {
			t.Skip()
		}
		file, err := permissions.ParseFile("p", []byte(text), "/h")
		if err != nil {
			t.Skip()
		}
		if _, err := Rules(file.Rules, Options{Kinds: lintKinds}); err != nil {
			t.Fatal(err)
		}
	})
}
