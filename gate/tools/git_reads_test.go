package tools

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"callgate/gate/tools/workspace"
	"callgate/permissions"
)

// runGit runs git in a folder, without the machine's settings.
func runGit(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// A command that writes the files that git names writes the tracked ones, and those removed since. None of them may be
// denied, several words or an option.
func TestTrackedNamesAreWritten(t *testing.T) {
	p := project(t, map[string]string{"a.go": "x", "lib/d.go": "x", "kept/c.md": "x", ".env": "X=1"})
	runGit(t, p.Dir, "init", "-q")
	runGit(t, p.Dir, "add", "a.go", "lib", "kept")
	pol := policy(t, `{ "*": "ask", "read_file": "allow", "write_file": { "$WORKSPACE/**": "allow", "**/{kept/*,.env}": "ask" },
		"shell_exec": { "{sed,git,touch} *": "allow" } }`)
	hold := func(when string, want permissions.Action, commands ...string) {
		t.Helper()
		for _, command := range commands {
			if got := verdict(pol, analyze(t, KindShell, p, "command", command)); got != want {
				t.Errorf("%s, %s: %v, want %v", when, command, got, want)
			}
		}
	}
	goFiles := []string{"git ls-files '*.go' | xargs sed -i s/a/b/", "git ls-files -z '*.go' | xargs -0 sed -i s/a/b/", "git grep -l x -- '*.go' | xargs sed -i s/a/b/",
		"sed -i s/a/b/ $(git ls-files '*.go')"}
	hold("tracked", permissions.Allow, goFiles...)
	hold("others too", permissions.Ask, "git ls-files | xargs sed -i s/a/b/", "git grep -l x | xargs sed -i s/a/b/", "git ls-files '*.md' | xargs sed -i s/a/b/",
		"git ls-files -o '*.go' | xargs sed -i s/a/b/", "git ls-files ../'*.go' | xargs sed -i s/a/b/", "git -C .. ls-files '*.go' | xargs sed -i s/a/b/",
		"git ls-files '*.go' | xargs sed -i s/a/b/e", "git ls-files '*.go' | xargs sed -i s/a/b/ kept/c.md", "git ls-files '*.go' | sed s/^/-/ | xargs sed -i s/a/b/",
		"touch -- -e1eid.go; git add .; git ls-files '*.go' | xargs sed -i s/a/b/")
	if err := os.WriteFile(filepath.Join(p.Dir, "-e1eid.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	runGit(t, p.Dir, "add", "--", "-e1eid.go")
	if err := os.Remove(filepath.Join(p.Dir, "-e1eid.go")); err != nil {
		t.Fatal(err)
	}
	hold("an option that was removed", permissions.Ask, goFiles...)
}

// git names tracked files to xargs: a denied file beside them is not read, and one that a link leads to is.
func TestTrackedNamesAreRead(t *testing.T) {
	p := project(t, map[string]string{"a.go": "x", "b c.go": "x", ".env": "X=1", "lib/d.go": "x"})
	git := func(args ...string) { t.Helper(); runGit(t, p.Dir, args...) }
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
				if paths, err := workspace.DeniedBeneath(folder, func(path string) bool { return filepath.Base(path) == ".env" }); got == permissions.Allow && (len(paths) > 0 || err != nil) {
					got = permissions.Ask
				}
			}
			if got != want {
				t.Errorf("%s, %s: %v, want %v", when, command, got, want)
			}
		}
	}
	hold("tracked", permissions.Allow, "git ls-files | xargs wc -l", "git ls-files '*.go' | xargs grep -n TODO", "git diff --name-only | xargs wc", "git ls-files -z | xargs -0 cat",
		"git grep -l x | xargs cat", "cat $(git grep -l -e x -- lib)", "git grep --name-only -i x -- '*.go' | xargs cat")
	hold("other names", permissions.Ask, "git ls-files -o | xargs cat", "git diff --name-only HEAD~3 | xargs cat", "git status --short | xargs cat",
		"git grep -l x HEAD | xargs cat", "git grep -l -e x HEAD | xargs cat", "git grep x | xargs cat", "git grep -l --untracked x | xargs cat",
		"git ls-files .. | xargs cat", "git ls-files :/ | xargs cat", "git grep -l x -- :/ | xargs cat", "cat $(git grep -zl x)")
	git("add", "b c.go")
	hold("names with blanks", permissions.Ask, "git ls-files | xargs wc -l")
	git("rm", "-q", "--cached", "b c.go")
	if err := os.Symlink(".env", filepath.Join(p.Dir, "link")); err != nil {
		t.Fatal(err)
	}
	git("add", "link")
	hold("a link", permissions.Ask, "git ls-files | xargs cat")
}

// A git command with paths to show reads no others.
func TestGitReadsThePathsThatItIsTold(t *testing.T) {
	p := project(t, map[string]string{"a.go": "x", "src/b.go": "x", "src/c.go": "x", ".env": "X=1"})
	runGit(t, p.Dir, "init", "-q")
	runGit(t, p.Dir, "add", "-f", ".")
	pol := policy(t, `{ "*": "allow", "read_file": { "*": "allow", "**/.env": "deny" } }`)
	for command, want := range map[string]permissions.Action{
		"git diff":                                  permissions.Ask,
		"git diff -- a.go":                          permissions.Allow,
		"git diff a.go":                             permissions.Allow,
		"git diff src":                              permissions.Allow,
		"git diff HEAD~3 -- '*.go'":                 permissions.Allow,
		"git diff -- src/*.go":                      permissions.Allow,
		"git diff -- missing/*.go":                  permissions.Allow,
		"git log -p -2 -- src a.go":                 permissions.Allow,
		"git log -p --follow a.go":                  permissions.Allow,
		"git show HEAD -- src/":                     permissions.Allow,
		"git grep -n x -- '*.go'":                   permissions.Allow,
		"cd src && git diff b.go":                   permissions.Allow,
		"zsh -c 'git show HEAD^ -- src/'":           permissions.Allow,
		"zsh -c 'git diff main~2^2..HEAD^ -- a.go'": permissions.Allow,
		"zsh -c 'git diff HEAD^ -- .env'":           permissions.Deny,
		"zsh -c 'git show .e^ -- a.go'":             permissions.Deny,
		"zsh -c 'git show HEAD^:.env -- a.go'":      permissions.Ask,
		"zsh -c 'git diff HEAD^$x -- a.go'":         permissions.Ask,
		"git grep -n x":                             permissions.Ask,
		"git diff .":                                permissions.Ask,
		"git diff -- . a.go":                        permissions.Ask,
		"git diff -- '*'":                           permissions.Ask,
		"git diff -- *":                             permissions.Ask,
		"git diff -- '.e*'":                         permissions.Ask,
		"git diff -- .e*":                           permissions.Deny,
		"git diff -- ':(icase).ENV'":                permissions.Ask,
		"git diff -- ':!a.go'":                      permissions.Ask,
		"git diff -- '[.]env'":                      permissions.Ask,
		"git --icase-pathspecs diff -- .ENV":        permissions.Ask,
		"GIT_ICASE_PATHSPECS=1 git diff -- .ENV":    permissions.Ask,
		"git log -p -S a.go":                        permissions.Ask,
		"git log -p --full-diff a.go":               permissions.Ask,
		"git diff HEAD:.env a.go":                   permissions.Deny,
		"git show 4f3a21bc -- a.go":                 permissions.Ask,
		"git diff --pathspec-from-file=l a.go":      permissions.Ask,
		"git diff --no-index a.go src":              permissions.Ask,
		"git diff $x -- a.go":                       permissions.Ask,
		"git stash show -p":                         permissions.Ask,
		"git cat-file --batch -- a.go":              permissions.Ask,
		"git diff -- .env":                          permissions.Deny,
		"git diff -- src/../.env":                   permissions.Deny,
	} {
		a := analyze(t, KindShell, p, "command", command)
		got := verdict(pol, a)
		if got == permissions.Allow && len(a.Marks) > 0 {
			got = permissions.Ask
		}
		for i := range a.Folders {
			paths, _, err := a.DeniedBeneath(i, func(path string) bool { return filepath.Base(path) == ".env" })
			if got == permissions.Allow && (len(paths) > 0 || err != nil) {
				got = permissions.Ask
			}
		}
		if got != want {
			t.Errorf("%s: %v, want %v", command, got, want)
		}
	}
}

// A folder with the form of a repository is one for git, whatever its name.
func TestRepositoryByItsForm(t *testing.T) {
	p := project(t, map[string]string{"a/HEAD": "ref: refs/heads/x", "a/objects/x": "", "a/refs/x": "", "a/config": "x", "b/HEAD": "x", "c/x": "x"})
	for command, want := range map[string]bool{
		"cd a && git status": true, "git -C a log": true, "cd a; git diff": true, "(cd a/refs && git log)": true,
		"for d in */; do (cd $d && git status); done": true, "for d in c a; do git -C $d log; done": true, "for d in b c; do git -C $d log; done": false,
		"git status": false, "cd b && git status": false, "git -C c log": false, "cd a && ls": false,
	} {
		a := analyzeCommand(t, command, p)
		got := slices.ContainsFunc(a.Marks, func(m Mark) bool { return m.Code == "git-folder" })
		if got != want {
			t.Errorf("%s: marked %v, want %v", command, got, want)
		}
	}
}
