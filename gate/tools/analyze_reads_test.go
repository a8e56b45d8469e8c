package tools

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/gate/tools/workspace"
	"callgate/internal/testserver/waits"
	"callgate/permissions"
)

// readsVerdict is verdict including the folders that the call reads whole.
func readsVerdict(pol *permissions.Policy, a *Analysis, p Place) permissions.Action {
	action := verdict(pol, a)
	for _, folder := range a.Folders {
		if paths, err := workspace.DeniedBeneath(folder, func(path string) bool {
			s := ReadSubject(path, p)
			return permissions.Evaluate(pol, permissions.Context{}, &s).Action == permissions.Deny
		}); len(paths) > 0 || err != nil {
			action = action.Stricter(permissions.Ask)
		}
	}
	return action
}

// readsPolicy allows every command, and denies files whose names end in .env.
const readsPolicy = `{ "*": "allow", "read_file": { "*": "allow", "*.env": "deny" } }`

// A denied file is not read under any spelling, and a read that cannot be told is not allowed.
func TestReadsThatAreNotNamed(t *testing.T) {
	p := project(t, map[string]string{".env": "x", "a.go": "x", "b c.go": "x", "docs/x.md": "x", "sub/y.go": "x", "blank/d e": "x", "deep/.config/z.env": "x", "more/v.env": "x"})
	pol := policy(t, readsPolicy)
	for command, want := range map[string]permissions.Action{
		`cat ".e"*`:                      permissions.Deny,
		`cat .e""*`:                      permissions.Deny,
		`cat {.,x}e*`:                    permissions.Deny,
		`cat .[!a]nv`:                    permissions.Deny,
		`cat .*`:                         permissions.Deny,
		`cd sub; cat ../.e*`:             permissions.Deny,
		`env -C sub cat ../.e*`:          permissions.Deny,
		`cat "$PWD"/.e*`:                 permissions.Deny,
		`cat ~/../ws/.e*`:                permissions.Deny,
		`cat ~+/.env`:                    permissions.Deny,
		`cat < .e*`:                      permissions.Deny,
		`shopt -s dotglob; cat *`:        permissions.Deny,
		`for f in .*; do cat "$f"; done`: permissions.Deny,
		`for f in .*; do cat $f; done`:   permissions.Deny,
		`cat */*.env`:                    permissions.Deny,
		`cat m*/v.env`:                   permissions.Deny,
		`cat sub/../.e*`:                 permissions.Deny,

		`frob .env`:               permissions.Deny,
		`frob --from=.env`:        permissions.Deny,
		`frob @.env`:              permissions.Deny,
		`cd sub; frob ../.env`:    permissions.Deny,
		`timeout 5 frob x .env`:   permissions.Deny,
		`python3 a.py more/v.env`: permissions.Deny,
		`frob a.go docs`:          permissions.Allow,
		`frob none.env`:           permissions.Allow,

		`cat $(printf .env)`:                     permissions.Ask,
		`cat "$(printf .)env"`:                   permissions.Ask,
		`find . -type f | xargs cat`:             permissions.Ask,
		`set -- .env; cat "$@"`:                  permissions.Ask,
		`declare f=.env; cat $f`:                 permissions.Deny,
		`cat < "$(echo .env)"`:                   permissions.Ask,
		`while read f; do cat "$f"; done < list`: permissions.Ask,
		`cd "$(pwd)"; cat a*`:                    permissions.Ask,
		`find .env -exec cat {} +`:               permissions.Deny,
		`fd . --exec cat`:                        permissions.Ask,
		`grep -d recurse '' .`:                   permissions.Ask,
		`zgrep -r x .`:                           permissions.Ask,
		`diff -N . sub`:                          permissions.Ask,
		`colordiff -r . sub`:                     permissions.Ask,
		`grep -r x *`:                            permissions.Ask,
		`for f in *.go; do cat $f; done`:         permissions.Ask, // "b c.go" is split into c.go and b
		`cat /proc/self/env*`:                    permissions.Ask,
		`cat /proc/1/environ`:                    permissions.Ask,

		`cat *`:                                                       permissions.Allow,
		`cat *.go`:                                                    permissions.Allow,
		`cat nothing*`:                                                permissions.Allow,
		`head -5 sub/*.go docs/*`:                                     permissions.Allow,
		`for f in *.go; do cat "$f"; done`:                            permissions.Allow,
		`grep -r x sub`:                                               permissions.Allow,
		`grep -rn x sub/*`:                                            permissions.Allow,
		`diff docs sub`:                                               permissions.Allow,
		`diff <(git show HEAD:a) a.go`:                                permissions.Allow,
		`find docs -type f -exec cat {} +`:                            permissions.Allow,
		`find . -name '*.go' -exec wc -l {} +`:                        permissions.Allow,
		`find . -name '*.go' -type f -exec cat {} \;`:                 permissions.Allow,
		`find . -type f -exec cat {} +`:                               permissions.Ask,
		`find . -name '*.go' -o -name '*' -exec cat {} +`:             permissions.Deny,
		`find . ! -name '*.go' -exec cat {} +`:                        permissions.Ask,
		`find . -printf ' -name *.go ' -exec cat {} +`:                permissions.Ask,
		`find "$x" -name '*.go' -exec cat {} +`:                       permissions.Ask,
		`find . -name "$x" -exec cat {} +`:                            permissions.Ask,
		`find . -name '.e*' -exec cat {} +`:                           permissions.Deny,
		`cat none*.env`:                                               permissions.Deny, // the shell passes it on as it is
		`cat $(find . -name none.env)`:                                permissions.Deny,
		`cat none*.txt`:                                               permissions.Allow,
		`wc -l $(find docs -type f)`:                                  permissions.Allow,
		"wc -l `find docs -type f`":                                   permissions.Allow,
		`wc -l $(find . -name '*.md' | head -3)`:                      permissions.Allow,
		`cat $(find . -type f)`:                                       permissions.Ask,
		`cat $(find . -name '*.go')`:                                  permissions.Ask, // "b c.go"
		`cat $(find . -name '*.md' -print0)`:                          permissions.Ask, // the names run together
		`cat "$(find docs -type f)"`:                                  permissions.Ask, // one name of several lines
		`cat $(find $(echo docs) -type f)`:                            permissions.Ask,
		`cat $(find . -name '.e*')`:                                   permissions.Deny,
		`cat x$(find docs -type f)`:                                   permissions.Ask,
		`find docs -type f | xargs cat`:                               permissions.Allow,
		`find . -name '*.md' | xargs cat`:                             permissions.Allow,
		`find . -name '*.go' | xargs cat`:                             permissions.Ask, // "b c.go"
		`find . -name '*.go' -print0 | xargs -0 cat`:                  permissions.Allow,
		`find blank -type f | xargs cat`:                              permissions.Ask,
		`find .. -name '*' -print | xargs cat`:                        permissions.Deny,
		`command find .. -name '*' -print | xargs cat`:                permissions.Deny,
		`(nice -n 5 find .. -name '*' | LC_ALL=C sort) | xargs cat`:   permissions.Deny,
		`timeout 5 find docs -type f | env LC_ALL=C sort | xargs cat`: permissions.Allow,
		`PATH=x find docs -type f | xargs cat`:                        permissions.Ask,
		`env -C docs find . -name '*.md' | xargs cat`:                 permissions.Ask,
		`find .env -name '.e*' -exec cat {} +`:                        permissions.Deny,
		`find . -name 'more' -exec grep -r x {} +`:                    permissions.Ask,
		`grep -rl x docs | xargs cat`:                                 permissions.Allow,
		`grep -rl x . --include='*.go' | xargs cat`:                   permissions.Ask, // "b c.go"
		`grep -rlZ x docs | xargs -0 cat`:                             permissions.Allow,
		`grep -rl x . | xargs cat`:                                    permissions.Ask,
		`grep -rl x .env docs | xargs cat`:                            permissions.Deny,
		`grep -Rl x docs | xargs cat`:                                 permissions.Ask, // follows links
		`grep -rlc x docs | xargs cat`:                                permissions.Ask, // prints a number behind each name
		`grep -r x docs | xargs cat`:                                  permissions.Ask,
		`rg -l x -g '*.md' docs | xargs cat`:                          permissions.Allow,
		`rg -l x -g '!*.md' | xargs cat`:                              permissions.Ask,
		`rg -l x | xargs cat`:                                         permissions.Ask,
		`rg -l x --replace y docs | xargs cat`:                        permissions.Ask,
		`rg --files docs | xargs cat`:                                 permissions.Allow,
		`rg -L --files docs | xargs cat`:                              permissions.Ask,
		`cat $(rg -l x docs)`:                                         permissions.Allow,
		`cat $(rg -0l x docs)`:                                        permissions.Ask, // the names run together
		`fd -e md -x cat`:                                             permissions.Allow,
		`fd . docs -x cat {}`:                                         permissions.Allow,
		`fd . docs -x cat {.}`:                                        permissions.Ask,
		`fd -x cat`:                                                   permissions.Ask,
		`fd -e md | xargs cat`:                                        permissions.Allow,
		`cat /proc/cpuinfo`:                                           permissions.Allow,
	} {
		a := analyze(t, KindShell, p, "command", command)
		if got := readsVerdict(pol, a, p); got != want {
			t.Errorf("%s: %v, want %v; marks %v, folders %q", command, got, want, a.Marks, a.Folders)
		}
	}
}

// A command may write what a pattern stands for if each of the files may be written and no name among them is an option
// or several words.
func TestWritesOfPatterns(t *testing.T) {
	p := project(t, map[string]string{"docs/a.md": "x", "docs/b.md": "x", "kept/c.md": "x", "denied/d.md": "x", "blank/e -e 1eid f.md": "x", "dash/-e1eid.md": "x", "out": "-> ../elsewhere", "../elsewhere/f.md": "x"})
	pol := policy(t, `{ "*": "ask", "read_file": "allow", "write_file": { "$WORKSPACE/**": "allow", "**/kept/*": "ask", "**/denied/*": "deny" },
		"shell_exec": { "{sed,find,grep,cd,touch,mv,cp,echo} *": "allow" } }`)
	for command, want := range map[string]permissions.Action{
		`sed -i s/a/b/ docs/*.md`:                                         permissions.Allow,
		`sed -i s/a/b/ docs/*.md kept/*`:                                  permissions.Ask,
		`sed -i s/a/b/ */*.md`:                                            permissions.Deny,
		`sed -i s/a/b/ docs/*.none`:                                       permissions.Ask,
		`sed -i s/a/b/ out/*`:                                             permissions.Ask,
		`find docs -name '*.md' -exec sed -i s/a/b/ {} +`:                 permissions.Allow,
		`find . -name '*.md' -exec sed -i s/a/b/ {} +`:                    permissions.Deny,
		`find docs | xargs sed -i s/a/b/`:                                 permissions.Allow,
		`grep -rl x docs | xargs sed -i s/a/b/`:                           permissions.Allow,
		`grep -rl x kept | xargs sed -i s/a/b/`:                           permissions.Ask,
		`grep -rl x blank | xargs sed -i s/a/b/`:                          permissions.Ask,
		`grep -rlZ x blank | xargs -0 sed -i s/a/b/`:                      permissions.Allow,
		`cd dash && grep -rl x | xargs sed -i s/a/b/`:                     permissions.Ask,
		`cd dash && grep -rlZ x | xargs -0 sed -i s/a/b/`:                 permissions.Ask,
		`touch 'docs/x -e 1eid'; grep -rl x docs | xargs sed -i s/a/b/`:   permissions.Ask,
		`for f in $(find docs -name '*.md'); do sed -i s/a/b/ "$f"; done`: permissions.Allow,
		`for f in docs/*; do echo x >> "$f"; done`:                        permissions.Allow,
		`mv docs/* kept`:                                                  permissions.Ask,
	} {
		if got := verdict(pol, analyze(t, KindShell, p, "command", command)); got != want {
			t.Errorf("%s: %v, want %v", command, got, want)
		}
	}
}

// A path that goes up from behind a link leads where the kernel finds it.
func TestReadsThatGoUpFromLinks(t *testing.T) {
	p := project(t, map[string]string{"other/key": "x", "other/deep/": "", "jump": "-> other/deep", "sub/a": "x", "b": "x"})
	pol := policy(t, `{ "*": "allow", "read_file": { "*": "allow", "*/other/key": "deny" } }`)
	for command, want := range map[string]permissions.Action{
		"cat jump/../key":         permissions.Deny,
		"cat jump/../k*":          permissions.Deny,
		"cat < jump/../key":       permissions.Deny,
		"cd jump && cat ../key":   permissions.Deny,
		"cd jump && cat ../k*":    permissions.Deny,
		"env -C jump cat ../key":  permissions.Deny,
		"cat \"jump/../key\"":     permissions.Deny,
		"cd sub && cat ../b":      permissions.Allow,
		"cat sub/../b ../ws/b":    permissions.Allow,
		"cd jump && cat ../deep/": permissions.Allow,
	} {
		a := analyze(t, KindShell, p, "command", command)
		if got := readsVerdict(pol, a, p); got != want {
			t.Errorf("%s: %v, want %v; marks %v", command, got, want, a.Marks)
		}
	}
}

// A glob is expanded within a budget, and a glob that exceeds it asks.
func TestGlobsAreBounded(t *testing.T) {
	p := project(t, map[string]string{"a": "x"})
	start := time.Now()
	a := analyze(t, KindShell, p, "command", "cat /*/*/*/*/*/*/nope /*/*/*/*/*/nope /*/*/*/*/*/*/nil; cat /*/*/*/*/*/*/*/nope")
	if !slices.Contains(codes(a), "unknown-read") {
		t.Errorf("marks %v", a.Marks)
	}
	if took := time.Since(start); took > waits.Limit {
		t.Errorf("took %v", took)
	}
}

// The folders that a glob is expanded in count as touched, whether they hold a match or not.
func TestGlobsTouchFolders(t *testing.T) {
	p := project(t, map[string]string{"own/key": "x", "other/": "", "link": "-> own"})
	for _, command := range []string{"cat */nope", "cat */n*", "cat o*n/nope", "cat **/nope", "cat l*/nope", "echo x > */nope"} {
		if a := analyze(t, KindShell, p, "command", command); !slices.Contains(a.Paths, filepath.Join(p.Dir, "own")) {
			t.Errorf("%s: paths %q", command, a.Paths)
		}
	}
}

func TestGlobExpansion(t *testing.T) {
	p := project(t, map[string]string{"a.go": "x", "b.GO": "x", ".hidden.go": "x", "sub/c.go": "x", "sub/deep/d.go": "x", "[x]": "x", `q\*`: "x"})
	for _, c := range []struct {
		pattern string
		loose   bool
		want    string
	}{
		{"*.go", false, "a.go"},
		{"*.go", true, ".hidden.go a.go b.GO"},
		{".h*", false, ".hidden.go"},
		{"*/*.go", false, "sub/c.go"},
		{"**/*.go", false, ".hidden.go a.go b.GO sub/c.go sub/deep/d.go"},
		{`\[x\]`, false, "[x]"},
		{"missing", false, "missing"},
		{"s*/missing", false, ""},
		{"s*/c.go", false, "sub/c.go"},
		{"a.go/*", false, ""},
	} {
		found, err := new(workspace.Globs).Expand(filepath.Join(p.Dir, "")+"/"+c.pattern, c.loose)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
		}
		var names []string
		for _, f := range found.Files {
			names = append(names, strings.TrimPrefix(f, p.Dir+string(filepath.Separator)))
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.pattern, got, c.want)
		}
	}
	if _, err := new(workspace.Globs).Expand(p.Dir+"/[", false); err == nil {
		t.Error("an open class is no error")
	}
}

// Commands that show what git keeps read the tracked files, and no others.
func TestGitShowsTrackedFiles(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	p := project(t, map[string]string{".env": "x", "a.go": "x", "sub/b.go": "x", "sub/prod.env": "x"})
	pol := policy(t, readsPolicy)
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = p.Dir
		cmd.Env = append(os.Environ(), "HOME="+p.Home, "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	git("init", "-q")
	git("add", "a.go", "sub/b.go")
	shows := []string{"git log -p", "git show", "git show HEAD", "git diff", "git diff --cached", "git log --patch -3", "git stash show -p",
		"git cat-file --batch", "git cat-file -p HEAD", "git archive HEAD", "git diff --stat -p", "cd sub && git diff", "git -C sub diff", "git log -u"}
	quiet := []string{"git log --oneline", "git diff --stat", "git show --name-only", "git status", "git show HEAD:a.go", "git log -5", "git cat-file -t HEAD"}
	check := func(commands []string, want permissions.Action) {
		t.Helper()
		for _, command := range commands {
			a := analyze(t, KindShell, p, "command", command)
			if got := readsVerdict(pol, a, p); got != want {
				t.Errorf("%s: %v, want %v; folders %q, marks %v", command, got, want, a.Folders, a.Marks)
			}
		}
	}
	check(append(slices.Clone(shows), quiet...), permissions.Allow)
	check([]string{"git diff a.go", "git diff $(git merge-base main HEAD)", `git diff "$(git merge-base main HEAD)..HEAD"`, "git diff main...HEAD", "git blame a.go"}, permissions.Allow)
	check([]string{"git diff --no-index /dev/null .env", "git diff /dev/null .env", "git diff /dev/null .e*", "git blame .env", "cd sub; git diff /dev/null prod.env", "git show HEAD:.env", "git log -L1,5:.env", "git log -L :main:.env"}, permissions.Deny)
	check([]string{`git diff /dev/null "$(printf .env)"`, "git diff $(echo /dev/null .env)", `git blame "$(printf .env)"`, "git diff $(git merge-base x y; echo .env)"}, permissions.Ask)
	for _, version := range []string{"2", "4"} {
		git("add", "-f", "sub/prod.env")
		git("update-index", "--index-version", version)
		check(shows, permissions.Ask)
		check(quiet, permissions.Allow)
	}
	if err := os.WriteFile(filepath.Join(p.Dir, ".git", "index"), []byte("DIRC, but no index"), 0o600); err != nil {
		t.Fatal(err)
	}
	check([]string{"git diff"}, permissions.Ask)
}

// Only a person can release a read of another process's files, whichever tool reads them.
func TestProcessFiles(t *testing.T) {
	p := project(t, nil)
	for path, want := range map[string]bool{
		"/proc/1/environ": true, "/proc/self/mem": true, "/proc/7/fd/3": true, "/proc/self/root/etc/hosts": true, "/proc/self/cwd/x": true,
		"/proc/1/task/1/environ": true, "/proc/kcore": true, "/proc/cpuinfo": false, "/proc/1/status": false, "/proc/self/fd": true,
		"/home/proc/1/environ": false,
	} {
		a := analyze(t, KindReadFile, p, "path", path)
		if got := slices.Contains(codes(a), "process-file"); got != want {
			t.Errorf("%s: marks %v", path, a.Marks)
		}
	}
	for command, want := range map[string]permissions.Risk{
		"ps": permissions.ReadOnly, "ps aux": permissions.ReadOnly, "ps -ef": permissions.ReadOnly, "ps axo pid,etime": permissions.ReadOnly,
		"ps -eo pid,etime": permissions.ReadOnly, "ps -o etime -p 3": permissions.ReadOnly, "ps -u else": permissions.ReadOnly, "ps --sort -etime": permissions.ReadOnly,
		"ps axe": permissions.Unknown, "ps eww": permissions.Unknown, "ps -E": permissions.Unknown, "ps -ef e": permissions.Unknown, `ps "$x"`: permissions.Unknown,
	} {
		if a := analyze(t, KindShell, p, "command", command); a.Risk != want {
			t.Errorf("%s: %v, want %v", command, a.Risk, want)
		}
	}
}

// Any word that an unknown command is given may be a file.
func TestReadsOfUnknownPrograms(t *testing.T) {
	p := project(t, map[string]string{".env": "x", "a.go": "x", "sub/.env": "x", "sub/b.go": "x", "dir x/.env": "x"})
	pol := policy(t, readsPolicy)
	for command, want := range map[string]permissions.Action{
		"frob .env": permissions.Deny, "frob .e*": permissions.Deny, "frob .??v": permissions.Deny, "frob sub/.e*": permissions.Deny, "frob */.env": permissions.Deny, "frob {.env,x}": permissions.Deny,
		"frob -f.env": permissions.Deny, "frob -xf.env": permissions.Deny, "frob --file=.env": permissions.Deny, "frob --file .env": permissions.Deny, "frob x:.env": permissions.Deny,
		"frob .env:/x": permissions.Deny, "frob -v ./.env:/x": permissions.Deny, "frob -v$PWD/.env:/x": permissions.Deny, "frob file://.env": permissions.Deny, "frob file:./.env": permissions.Deny,
		"frob @.env": permissions.Deny, "frob x=@.env": permissions.Deny, "frob --mount type=bind,src=.env,dst=/x": permissions.Deny, "frob a,.env": permissions.Deny, "frob '\"./.env\"'": permissions.Deny,
		"frob %2eenv": permissions.Deny, "frob file://%2eenv": permissions.Deny, "frob --force .env": permissions.Deny, "frob --yes -f.env": permissions.Deny, "cd sub && frob .env": permissions.Deny,
		"perl -ne print .e*": permissions.Deny, "perl -ne 'print' .env": permissions.Deny, "perl -e 'open F, \".env\"'": permissions.Deny, "python3 -c 'print(open(\".env\").read())'": permissions.Deny,
		"node -e 'fs.readFileSync(`.env`)'": permissions.Deny, "ruby -e 'puts File.read(\".env\")'": permissions.Deny, "python3 x.py .e*": permissions.Deny, "node x.js --env-file=.env": permissions.Deny,
		"frob 'dir x/.env'": permissions.Deny, "./tool .e*": permissions.Deny, "npx frob .e*": permissions.Deny, "uvx frob -f.env": permissions.Deny, "frob a.go": permissions.Allow, "frob *.go": permissions.Allow,
		"frob sub": permissions.Allow, "frob 'see the env'": permissions.Allow, "rm .env": permissions.Allow, "frob env": permissions.Allow, "frob .environment": permissions.Allow,
	} {
		a := analyzeCommand(t, command, p)
		if got := onlyDenied(pol, a); got != want {
			t.Errorf("%s: %v, want %v", command, got, want)
		}
	}
}

// onlyDenied returns Deny if the rules deny one of the subjects, else Allow.
func onlyDenied(pol *permissions.Policy, a *Analysis) permissions.Action {
	for i := range a.Subjects {
		if permissions.Evaluate(pol, permissions.Context{}, &a.Subjects[i]).Action == permissions.Deny {
			return permissions.Deny
		}
	}
	return permissions.Allow
}
