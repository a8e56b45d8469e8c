package tools

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"callgate/permissions"
)

// searchCases: what searches leave out of a folder with files that may not be read.
var searchCases = []struct {
	command string
	reads   bool // a denied file
}{
	{"rg SECRET src web", false},
	{"rg -n -C3 SECRET src", false},
	{"rg -i SECRET src web", false},
	{"ag -f --hidden SECRET", true}, // -f follows links there
	{"rg --files web", false},
	{"rg --version", false},
	{"rg -l SECRET -t py web", false},
	{"rg SECRET -g '*.go'", false},
	{"rg SECRET -g '!*.envfile'", false},
	{"rg --hidden SECRET", true},
	{"rg SECRET repo", false},
	{"rg --no-ignore SECRET repo", true},
	{"rg --no-ignore-vcs SECRET repo", true},
	{"rg -u SECRET repo", true},
	{"rg SECRET norepo", true}, // its .gitignore counts in a repository only
	{"rg SECRET back", true},   // listed, and brought back
	{"rg -. SECRET", true},
	{"rg -uu SECRET", true},
	{"rg -uuu SECRET", true},
	{"rg -g '*' SECRET", true},
	{"rg -g '.env' SECRET", true},
	{"rg -g '!.env' -g '!prod.env' -g '!.env.*' --hidden SECRET web", false},
	{"rg --hidden -g '!*.env' SECRET .", true}, // .env.local
	{"rg -t sh SECRET", true},
	{"rg --type-add 'x:.env' -t x SECRET", true},
	{"rg --ignore-file ig SECRET", true},
	{"rg SECRET .white", true}, // an ignore file there brings .env back
	{"cat README.md | rg SECRET", false},
	{"cat README.md | rg SECRET web", false},
	{"cat README.md | rg --hidden SECRET", false},
	{"cat README.md | rg --hidden SECRET .", true},
	{"ls | xargs -I{} rg --hidden SECRET", true},
	{"rg -f pats --hidden", true},
	{"rg -e SECRET --hidden src", false},
	{"ag SECRET web", false},
	{"ag --hidden SECRET", true},
	{"grep -rn SECRET .", true},
	{"grep -rn SECRET", true},
	{"grep -rn SECRET src", false},
	{"grep -rn SECRET missing", false},
	{"grep -rn SECRET $(find src -name none)", true}, // nothing found: it reads the folder
	{"find src -name none | xargs grep -rn SECRET", true},
	{"find src -name none | xargs -r grep -rn SECRET", false},
	{"find src -name none | xargs -I{} grep -rn SECRET {}", false},
	{"grep -rn SECRET src $(find src -name none)", false},
	{"grep -n SECRET $(find src -name none)", false},
	{"find . -name '*.go' | xargs grep -rn SECRET --include='*.go'", false},
	{"grep -rn SECRET . --include=*.go", false},
	{"grep -rn SECRET . --include='*.go' --include='*.env'", true},
	{"grep -rn --include='*' SECRET .", true},
	{"grep -rn --exclude='.env*' --exclude='*.env*' SECRET .", false},
	{"grep -rn --exclude=.env SECRET .", true},
	{"grep -rn --exclude='.env*' --include='*env*' SECRET .", true}, // the last that matches wins
	{"grep -rn --exclude-dir=web --exclude-dir=.white --exclude=.env SECRET web", true},
	{"grep -r --exclude-dir=sub SECRET web", false},
	{"grep -rn -e SECRET", true},
	{"grep -r -f pats", true},
	{"grep SECRET README.md", false},
	{"git grep SECRET", false},
	{"rg -g '!.env*' -g '!*.env*' --hidden SECRET", false},
	{"find . -type f -not -name '.env*' -not -name '*.env*' -exec grep SECRET {} +", false},
	{"find . -type f ! -name '.env*' ! -name '*env*' -exec grep SECRET {} ';'", false},
	{"find . -type f -not -name .env -exec grep SECRET {} +", true},
	{"find . -not -name '.env*' -not -name '*env*' -exec grep -r SECRET {} +", true},
	{"find . -type f '(' -not -name '*env*' -o -size +0 ')' -exec grep SECRET {} +", true},
	{"find . -type d -not -name '*env*' -exec grep -r SECRET {} +", true},
	{"find . './x -not -name *env*' -type f -exec grep SECRET {} +", true},
	{"find . -name 'a -not -name *env*' -o -type f -exec grep SECRET {} +", true},
	{"find -L . -type f -not -name '*env*' -exec grep SECRET {} +", true},
	{"git grep --no-index SECRET", true},
	{"git grep --untracked SECRET", true},
}

func searchWorkspace(t *testing.T) Place {
	return project(t, map[string]string{".env": "SECRET=1", "src/main.go": "SECRET", "README.md": "SECRET", "pats": "SECRET", "ig": "!.env",
		"web/sub/.env.local": "SECRET", ".white/.env": "SECRET", ".white/.ignore": "!.env", "src/a.py": "SECRET",
		"repo/.git/HEAD": "x", "repo/.gitignore": "*.envfile\nbuild\n", "repo/a.envfile": "SECRET", "norepo/.gitignore": "*.envfile", "norepo/.x": "",
		"norepo/sub/a.envfile": "SECRET", "back/.git/HEAD": "x", "back/.gitignore": "*.envfile\n!a.*", "back/a.envfile": "SECRET"})
}

func TestSearches(t *testing.T) {
	p := searchWorkspace(t)
	pol := policy(t, `{ "*": "allow", "read_file": { "*": "allow", "**/.env*": "deny", "**/*.envfile": "deny" } }`)
	for _, c := range searchCases {
		a := analyze(t, KindShell, p, "command", c.command)
		got := false
		for i := range a.Folders {
			paths, _, err := a.DeniedBeneath(i, func(path string) bool {
				s := ReadSubject(path, p)
				return permissions.Evaluate(pol, permissions.Context{}, &s).Action == permissions.Deny
			})
			got = got || len(paths) > 0 || err != nil
		}
		if got != c.reads {
			t.Errorf("%s: reads a denied file %v, want %v", c.command, got, c.reads)
		}
	}
}

// The programs leave out what callgate says that they leave out.
func TestSearchesAgainstThePrograms(t *testing.T) {
	p := searchWorkspace(t)
	pol := policy(t, `{ "*": "allow", "read_file": { "*": "allow", "**/.env*": "deny", "**/*.envfile": "deny" } }`)
	ran := 0
	for _, c := range searchCases {
		name, _, _ := strings.Cut(c.command, " ")
		if name == "cat" || name == "ls" {
			name = "rg"
		}
		if _, err := exec.LookPath(name); err != nil {
			continue
		}
		a := analyze(t, KindShell, p, "command", c.command)
		denied := false
		for i := range a.Folders {
			paths, _, err := a.DeniedBeneath(i, func(path string) bool {
				s := ReadSubject(path, p)
				return permissions.Evaluate(pol, permissions.Context{}, &s).Action == permissions.Deny
			})
			denied = denied || len(paths) > 0 || err != nil
		}
		cmd := exec.Command("sh", "-c", c.command)
		cmd.Dir = p.Dir
		cmd.Env = append(os.Environ(), "HOME="+filepath.Join(p.Dir, "nohome"))
		out, _ := cmd.CombinedOutput()
		ran++
		if !denied && strings.Contains(string(out), ".env") {
			t.Errorf("%s: it reads what callgate thinks it leaves out:\n%s", c.command, out)
		}
	}
	if ran == 0 {
		t.Skip("none of the programs is here")
	}
}
