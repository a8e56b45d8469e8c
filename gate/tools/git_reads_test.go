package tools

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"callgate/permissions"
)

// What git names to xargs is what it tracks: a denied file beside that is not read, and one that a link leads to is.
func TestTrackedNamesAreRead(t *testing.T) {
	p := workspace(t, map[string]string{"a.go": "x", "b c.go": "x", ".env": "X=1", "lib/d.go": "x"})
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = p.Dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	git("init", "-q")
	git("add", "a.go", "lib/d.go")
	pol := policy(t, `{ "*": "allow", "read_file": { "*": "allow", "**/.env": "deny" } }`)
	hold := func(when string, want permissions.Action, commands ...string) {
		t.Helper()
		for _, command := range commands {
			a := analyze(t, KindShell, p, "command", command)
			got := verdict(pol, a)
			if got == permissions.Allow && len(a.Marks) > 0 {
				got = permissions.Ask
			}
			for _, folder := range a.Folders {
				if paths, err := DeniedBeneath(folder, func(path string) bool { return filepath.Base(path) == ".env" }); got == permissions.Allow && (len(paths) > 0 || err != nil) {
					got = permissions.Ask
				}
			}
			if got != want {
				t.Errorf("%s, %s: %v, want %v", when, command, got, want)
			}
		}
	}
	hold("tracked", permissions.Allow, "git ls-files | xargs wc -l", "git ls-files '*.go' | xargs grep -n TODO", "git diff --name-only | xargs wc", "git ls-files -z | xargs -0 cat")
	hold("other names", permissions.Ask, "git ls-files -o | xargs cat", "git diff --name-only HEAD~3 | xargs cat", "git status --short | xargs cat")
	git("add", "b c.go")
	hold("names with blanks", permissions.Ask, "git ls-files | xargs wc -l")
	git("rm", "-q", "--cached", "b c.go")
	if err := os.Symlink(".env", filepath.Join(p.Dir, "link")); err != nil {
		t.Fatal(err)
	}
	git("add", "link")
	hold("a link", permissions.Ask, "git ls-files | xargs cat")
}
