package tools

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"encoding/json"

	"callgate/permissions"
)

// project makes a folder with the files, and returns a place that runs there. A name that ends in "/" is
// a folder; a value that begins with "-> " makes a symbolic link.
func project(t testing.TB, files map[string]string) Place {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws := filepath.Join(dir, "ws")
	home := filepath.Join(dir, "home")
	for _, d := range []string{ws, home} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range files {
		path := filepath.Join(ws, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		switch {
		case name[len(name)-1] == '/':
			err = os.MkdirAll(path, 0o700)
		case len(content) > 3 && content[:3] == "-> ":
			err = os.Symlink(content[3:], path)
		default:
			err = os.WriteFile(path, []byte(content), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return Place{Dir: ws, Roots: []string{ws}, Home: home}
}

// policy compiles rules in the form of permissions.jsonc.
func policy(t testing.TB, rules string) *permissions.Policy {
	t.Helper()
	f, err := permissions.ParseFile("permissions.jsonc", []byte(rules), "/home/u")
	if err != nil {
		t.Fatal(err)
	}
	p, err := permissions.NewPolicy(nil, f.Rules, f.Grants)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// verdict returns what rules and marks together say of an analysis: the strictest subject, and at best Ask if marked.
func verdict(p *permissions.Policy, a *Analysis) permissions.Action {
	action := permissions.Allow
	for i := range a.Subjects {
		action = action.Stricter(permissions.Evaluate(p, permissions.Context{}, &a.Subjects[i]).Action)
	}
	if len(a.Marks) > 0 {
		action = action.Stricter(permissions.Ask)
	}
	return action
}

// object encodes pairs of name and value as an arguments object, in order.
func object(t testing.TB, pairs ...any) []byte {
	t.Helper()
	out := []byte{'{'}
	for i := 0; i < len(pairs); i += 2 {
		if i > 0 {
			out = append(out, ',')
		}
		name, err := json.Marshal(pairs[i])
		if err != nil {
			t.Fatal(err)
		}
		value, err := json.Marshal(pairs[i+1])
		if err != nil {
			t.Fatal(err)
		}
		out = append(append(append(out, name...), ':'), value...)
	}
	return append(out, '}')
}

// analyze analyzes a call of a bare kind.
func analyze(t testing.TB, kind string, p Place, pairs ...any) *Analysis {
	t.Helper()
	tool := KindTool(kind)
	if tool == nil {
		t.Fatalf("no kind %q", kind)
	}
	return Analyze(Call{Tool: tool, Arguments: object(t, pairs...), Place: p})
}

func codes(a *Analysis) []string {
	var list []string
	for _, m := range a.Marks {
		if !slices.Contains(list, m.Code) {
			list = append(list, m.Code)
		}
	}
	return list
}
