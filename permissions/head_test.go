package permissions

import "testing"

func TestAnAllowEndsWithTheWordThatNamesTheCommand(t *testing.T) {
	for _, c := range []struct {
		pattern, command string
		head             int
		want             Action
	}{
		{"ls*", "ls", 1, Allow},
		{"ls*", "ls -la", 1, Allow},
		{"ls*", "lsof -i", 1, Ask},
		{"npm run test*", "npm run test", 3, Allow},
		{"npm run test*", "npm run test --watch", 3, Allow},
		{"npm run test*", "npm run test:evil", 3, Ask},
		{"git fetch*", "git fetch-pack x", 2, Ask},
		{"cat src/*", "cat src/main.go", 1, Allow},
		{"cat src*", "cat src2", 1, Allow},
		{"go *", "go test ./...", 2, Allow},
		{"./scripts/*", "./scripts/build.sh", 1, Allow},
		{"npm run test:*", "npm run test:unit", 3, Allow},
		{"*", "lsof", 1, Allow},
	} {
		p, err := NewPolicy(nil, []Rule{{Tool: "shell_exec", Pattern: c.pattern, Action: Allow}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := Subject{Tool: "shell_exec", Kind: "shell_exec", KindBound: true, Value: c.command, Decides: Form{c.command}, Head: c.head}
		if got := Evaluate(p, Context{}, &s).Action; got != c.want {
			t.Errorf("%q on %q: %s, want %s", c.pattern, c.command, got, c.want)
		}
		g, err := NewPolicy(nil, nil, []Grant{{Tool: "shell_exec", Pattern: c.pattern, Risk: Escalation}})
		if err != nil {
			t.Fatal(err)
		}
		if got := Evaluate(g, Context{}, &s).Grant != nil; got != (c.want == Allow) {
			t.Errorf("a grant of %q covers %q: %v", c.pattern, c.command, got)
		}
		deny, err := NewPolicy(nil, []Rule{{Tool: "*", Pattern: "*", Action: Allow}, {Tool: "shell_exec", Pattern: c.pattern, Action: Deny}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := Evaluate(deny, Context{}, &s).Action; got != Deny {
			t.Errorf("a deny of %q on %q: %s", c.pattern, c.command, got)
		}
	}
}
