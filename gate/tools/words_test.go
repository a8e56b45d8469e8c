package tools

import (
	"path/filepath"
	"testing"

	"callgate/gate/tools/internal/commands"
	"callgate/permissions"
)

func TestSpelledPlainly(t *testing.T) {
	for word, want := range map[string]string{
		"src/../../../etc/shadow": "../../etc/shadow", "./scripts/../../tmp/x.sh": "./../tmp/x.sh", "./scripts/x.sh": "./scripts/x.sh",
		"a//b/./c": "a/b/c", "/a/../../etc/x": "/etc/x", "https://h.example/v1/../admin": "https://h.example/admin",
		"https://h.example/../../x": "https://h.example/x", "https://h.example": "https://h.example", "s3://bucket": "s3://bucket", "--url=https://h.example//": "--url=https://h.example/", "--file=src/../../x": "--file=../x", "-Isrc/../../x": "-I../x",
		"origin/main..HEAD": "origin/main..HEAD", "./...": "./...", "../x": "../x", "src/": "src/", "src/..": ".", "~/a/../../x": "~/../x",
		"s/a/b/": "s/a/b/", "a/.git": "a/.git", "user@h:src/../x": "user@h:x",
	} {
		if got := commands.SpelledPlainly(word); got != want {
			t.Errorf("%s: %s, want %s", word, got, want)
		}
	}
}

// A pattern for a folder covers what lies in it, however the path is spelled and wherever links lead.
func TestAllowsLookAtPlainPaths(t *testing.T) {
	p := project(t, map[string]string{"src/a": "x", "scripts/x.sh": "x", "sub/deep/y": "x", "../tmp/x.sh": "x", "link": "-> ../tmp", "scripts/out.sh": "-> ../../tmp/x.sh", "in.sh": "-> scripts/x.sh"})
	rules := `{ "shell_exec": { "./scripts/* *": "allow", "cat src/*": "allow", "cat --x=src/*": "allow", "frob link/* *": "allow", "./in.sh *": "allow", "pytest *": "allow" } }`
	for command, want := range map[string]permissions.Action{
		"./scripts/x.sh":                     permissions.Allow,
		"./scripts/../../tmp/x.sh":           permissions.Ask,
		"./scripts//../../tmp/x.sh":          permissions.Ask,
		"./scripts/./../../tmp/x.sh":         permissions.Ask,
		"./scripts/../scripts/x.sh":          permissions.Allow,
		"cat src/a":                          permissions.Allow,
		"cat src/../src/a":                   permissions.Allow,
		"cat src/../../../etc/shadow":        permissions.Ask,
		"cat src/../../../../../etc/shadow":  permissions.Ask,
		"cat src/.. ":                        permissions.Ask,
		"cat --x=src/../../../etc/shadow":    permissions.Ask,
		"frob link/../x":                     permissions.Ask, // beside what the link leads to
		"./scripts/out.sh":                   permissions.Ask,
		"./in.sh":                            permissions.Allow,
		"cd sub && cat src/../../src/../x/y": permissions.Ask,
		"pytest sub/deep/..":                 permissions.Allow,
		"pytest sub/../link/..":              permissions.Ask,
	} {
		if got := verdict(policy(t, rules), analyze(t, KindShell, p, "command", command)); got != want {
			t.Errorf("%s: %v, want %v", command, got, want)
		}
	}
}

// The target of a symbolic link is where the system looks for it.
func TestWhereLinksLead(t *testing.T) {
	p := project(t, map[string]string{"top/x": "x", "deep/er/link": "-> ../../top", "deep/x": "x"})
	for command, want := range map[string]permissions.Risk{
		"ln -s ../top/x deep/l":                  permissions.Write,
		"ln -s x top/l":                          permissions.Write,
		"cd deep && ln -s ../top l":              permissions.Write,
		"cd deep && ln -s ../top ../l":           permissions.Unknown,
		"ln -s ../../other deep/er/link/l":       permissions.Unknown, // from top
		"cd deep/er/link && ln -s ../../other l": permissions.Unknown,
		"ln -s x deep/er/link/l":                 permissions.Write,
	} {
		if a := analyze(t, KindShell, p, "command", command); a.Risk != want {
			t.Errorf("%s: %v, want %v", command, a.Risk, want)
		}
	}
}

// Rules that ask about a file outside the workspace count even if a wildcard lets the command run.
func TestReadsOutsideOfTheWorkspace(t *testing.T) {
	p := project(t, map[string]string{"a": "x", "../home/notes": "x", "link": "-> ../home/notes"})
	notes := filepath.Join(filepath.Dir(p.Dir), "home/notes")
	for _, c := range []struct {
		allow, read, command string
		want                 permissions.Action
	}{
		{"cat *", "ask", "cat a", permissions.Allow},
		{"cat *", "ask", "cat " + notes, permissions.Ask},
		{"cat *", "ask", "cat ../home/notes", permissions.Ask},
		{"cat *", "ask", "cat link", permissions.Ask},
		{"cat *", "ask", "cat < " + notes, permissions.Ask},
		{"cat *", "allow", "cat " + notes, permissions.Allow},
		{"cat *", "deny", "cat " + notes, permissions.Deny},
		{"cat *", "confirm", "cat a", permissions.Confirm},
		{"cat " + notes, "ask", "cat " + notes, permissions.Allow},
		{"cat " + notes + " *", "ask", "cat " + notes + " a", permissions.Allow},
		{"cat ../home/*", "ask", "cat ../home/notes", permissions.Ask},
		{"*", "ask", "cat " + notes, permissions.Allow},
		{"cat *", "ask", "cat /dev/null", permissions.Allow},
	} {
		pol := policy(t, `{ "read_file": "`+c.read+`", "shell_exec": { "`+c.allow+`": "allow" } }`)
		if got := verdict(pol, analyze(t, KindShell, p, "command", c.command)); got != c.want {
			t.Errorf("%s by %s, reading %s: %v, want %v", c.command, c.allow, c.read, got, c.want)
		}
	}
}
