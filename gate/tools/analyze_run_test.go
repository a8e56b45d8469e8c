package tools

import (
	"testing"

	"callgate/gate/tools/kinds"
	"callgate/internal/jsonx"
	"callgate/permissions"
)

// A deny on commands holds wherever an unmapped tool may be given a command.
func TestDeniedCommandsInUnknownArguments(t *testing.T) {
	p := project(t, map[string]string{".env": "x"})
	pol := policy(t, `{ "x_*": "allow", "shell_exec": { "rm *": "deny", "git push *": "deny" }, "read_file": { "*.env": "deny" } }`)
	tool := Describe(Server{Name: "x"}, "do_thing", "x_do_thing", nil)
	for arguments, want := range map[string]permissions.Action{
		`{"program":"rm","args":["-rf","x y"]}`:                permissions.Deny,
		`{"program":"git","args":["push","origin"]}`:           permissions.Deny,
		`{"command":"git","args":["push"]}`:                    permissions.Deny,
		`{"executable":"git","arguments":"push --force"}`:      permissions.Deny,
		`{"script":"rm x"}`:                                    permissions.Deny,
		`{"script":"set -e\ncd sub && rm x"}`:                  permissions.Deny,
		`{"script":"cat .env"}`:                                permissions.Deny,
		`{"steps":[{"run":"rm x"}]}`:                           permissions.Deny,
		`{"steps":["echo","rm x"]}`:                            permissions.Deny,
		`{"jobs":{"a":{"steps":[{"uses":"y"},{"run":"rm"}]}}}`: permissions.Deny,
		`{"program":"git","args":["status"]}`:                  permissions.Allow,
		`{"script":"git status"}`:                              permissions.Allow,
		`{"steps":["Open the page (fast"]}`:                    permissions.Allow,
		`{"args":["rm"],"name":"x"}`:                           permissions.Allow,
	} {
		a := Analyze(Call{Tool: tool, Arguments: []byte(arguments), Place: p})
		if got := verdict(pol, a); got != want {
			t.Errorf("%s: %v, want %v\n%+v", arguments, got, want, a.Subjects)
		}
		if want == permissions.Allow && len(a.Marks) > 0 {
			t.Errorf("%s: marks %v", arguments, a.Marks)
		}
	}
}

// A deny on commands holds for a command that code puts together from strings.
func TestDeniedCommandsInJoinedStrings(t *testing.T) {
	p := project(t, nil)
	pol := policy(t, `{ "shell_exec": { "*": "allow", "rm *": "deny" } }`)
	for command, want := range map[string]permissions.Action{
		`awk 'BEGIN{system("r" "m x")}'`:                                    permissions.Deny,
		`awk 'BEGIN{a="r"; b="m x"; system(a b)}'`:                          permissions.Deny,
		`awk 'BEGIN{"r" "m x" | getline}'`:                                  permissions.Deny,
		`gawk 'BEGIN{c="r" "m" " " "x"; print | c}'`:                        permissions.Deny,
		`python3 -c 'import os; os.system("r" + "m x")'`:                    permissions.Deny,
		`python3 -c 'import os; a="r"; os.popen(a+"m x")'`:                  permissions.Deny,
		`perl -e 'system("r" . "m x")'`:                                     permissions.Deny,
		`node -e 'require("child_process").execSync("r" + "m x")'`:          permissions.Deny,
		`ruby -e 'exec("r" + "m x")'`:                                       permissions.Deny,
		`php -r 'shell_exec("r" . "m x");'`:                                 permissions.Deny,
		`awk 'BEGIN{print "r", "m x"}'`:                                     permissions.Allow,
		`python3 -c 'print("r" + "m x")'`:                                   permissions.Allow,
		`awk -F: '{print $1 ": " $2}' a`:                                    permissions.Allow,
		`python3 -c 'import subprocess; subprocess.run(["ls", "-l", "x"])'`: permissions.Allow,
	} {
		a := Analyze(Call{Tool: KindTool(KindShell), Arguments: []byte(`{"command":` + string(jsonx.Quote(command)) + `}`), Place: p})
		if got := verdict(pol, a); got != want {
			t.Errorf("%s: %v, want %v", command, got, want)
		}
	}
}

// A program that a package manager has installed in the project is judged by its name, if it is there.
func TestProgramsOfTheProject(t *testing.T) {
	p := project(t, map[string]string{".venv/bin/pytest": "x", "vendor/bin/phpunit": "x", "node_modules/.bin/jest": "x", "venv/bin/ls": "x", "sub/": "", "bin/pytest": "x",
		"api/.venv/bin/pytest": "x", ".venv/Scripts/mypy.exe": "x", "../.venv/bin/pytest": "x"})
	for command, want := range map[string]permissions.Risk{
		".venv/bin/pytest -q":             permissions.BuildTest,
		"./vendor/bin/phpunit":            permissions.BuildTest,
		"node_modules/.bin/jest":          permissions.BuildTest,
		"venv/bin/ls":                     permissions.BuildTest, // a file of the project, not ls
		"cd sub && npx jest":              permissions.BuildTest,
		"api/.venv/bin/pytest":            permissions.BuildTest,
		".venv/Scripts/mypy.exe .":        permissions.BuildTest,
		".venv/Scripts/mypy .":            permissions.BuildTest, // Windows finds it with its extension
		"sub/../.venv/bin/pytest":         permissions.Unknown,
		"../.venv/bin/pytest":             permissions.Unknown,
		"venv/bin/pytest":                 permissions.Unknown, // not there
		"bin/pytest":                      permissions.Unknown, // anybody's
		"cd /tmp && .venv/bin/pytest":     permissions.Unknown,
		".venv/bin/../bin/pytest":         permissions.Unknown,
		".venv/bin/pytest -p x":           permissions.Unknown,
		"node_modules/.bin/jest -c /x.js": permissions.Unknown,
	} {
		got := analyze(t, KindShell, p, "command", command)
		if got.Risk != want || got.Category != kinds.CategoryTerminalWrite {
			t.Errorf("%s: %v, %s, want %v", command, got.Risk, got.Category, want)
		}
	}
}
