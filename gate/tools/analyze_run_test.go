package tools

import (
	"testing"

	"callgate/permissions"
)

// A deny on commands holds wherever a tool that nobody mapped may be given one.
func TestDeniedCommandsInUnknownArguments(t *testing.T) {
	p := workspace(t, map[string]string{".env": "x"})
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
