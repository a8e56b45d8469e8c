package shellparse

import (
	"strings"
	"testing"

	"callgate/shellparse/internal/word"
	"callgate/shellparse/programs"
)

// TestArity checks how many words name a command.
func TestArity(t *testing.T) {
	for text, want := range map[string]int{
		"cat a b": 1, "git push origin": 2, "git": 1, "git --version": 1, "npm run build": 3, "npm test": 2, "npm run": 2,
		"docker compose ps": 3, "docker ps": 2, "gcloud compute instances list": 4, "gcloud projects list --limit 1": 3,
		"aws s3 ls": 3, "gh pr view 3": 3, "go test ./...": 2, "go run ./x y": 3, "python3 a.py b": 2, "python3 -m pytest -q": 3,
		"uv run pytest -q": 3, "./gradlew test": 2, "make": 1, "git stash list": 3, "kubectl get pods": 2, "./x a b": 1,
	} {
		var argv []Word
		for w := range strings.FieldsSeq(text) {
			argv = append(argv, Word{Value: w, Known: true})
		}
		if got := Arity(argv); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	if got := Arity([]Word{{Value: "git", Known: true}, {Value: "$x"}}); got != 2 {
		t.Errorf("an unknown subcommand: %d, want 2", got)
	}
	if got := Arity(nil); got != 0 {
		t.Errorf("no words: %d, want 0", got)
	}
}

// TestPatterns checks all patterns, their order, the default (*), and which may be preselected (+).
func TestPatterns(t *testing.T) {
	for text, want := range map[string]string{
		"git push origin main":       "*git push origin main|+git push origin *|+git push *",
		"npm run build":              "*npm run build|+npm run build *",
		"ls -la":                     "*ls -la|+ls *",
		"echo 'a*b' c":               `*echo a\*b c|+echo a\*b *|+echo *`,
		"rm -rf build":               "*rm -rf build",
		"rm -rf $x":                  "",
		"python3 -c 'print(1)'":      "",
		"sudo ls":                    "",
		"cd web":                     "",
		"git push --force":           "*git push --force",
		"docker run alpine":          "",
		"eval":                       "",
		"bin/rails db:migrate x":     "*bin/rails db:migrate x|+bin/rails db:migrate *",
		"make test V=1":              "*make test V=1|+make test *",
		"./x a":                      "*./x a|./x *",
		"frob sub a":                 "*frob sub a|+frob sub *|frob *",
		"cat src/a.txt":              "*cat src/a.txt|+cat src/*|cat *",
		"npm install":                "*npm install",
		"npm install lodash":         "*npm install lodash|npm install *",
		"pip install flask":          "*pip install flask|pip install *",
		"git show 4f3a2b1c":          "+git show *",
		"cat /tmp/tmp.Xa91bQ":        "+cat /tmp/*|cat *",
		"kill 4711":                  "",
		"git diff a91c3f7 -- x":      "+git diff *",
		"python3 <<< 'print(1)'":     "",
		"go run ./cmd/x":             "*go run ./cmd/x|+go run ./cmd/x *",
		"curl https://h.example/a":   "*curl https://h.example/a|+curl https://h.example/*",
		"LD_PRELOAD=./x.so ls":       "",
		"rg --pre ./x foo":           "*rg --pre ./x foo",
		"ssh host make deploy":       "*ssh host make deploy",
		"docker exec c rm -rf /data": "*docker exec c rm -rf /data",
	} {
		s := Parse(text, Options{Dir: "/w"})
		var got []string
		for _, p := range Patterns(&s.Commands[0]) {
			mark := ""
			switch {
			case p.Default:
				mark = "*"
			case p.Bound:
				mark = "+"
			}
			got = append(got, mark+p.Text)
		}
		for i := range s.Commands[1:] {
			if list := Patterns(&s.Commands[i+1]); len(list) > 0 {
				t.Errorf("%q offers %v for what runs within", text, list)
			}
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%q offers %q, want %q", text, strings.Join(got, "|"), want)
		}
	}
}

// TestExactOnly checks the commands for which only the exact text is offered: what another word could name runs code,
// installs, destroys, or prints a secret.
func TestExactOnly(t *testing.T) {
	for _, text := range []string{
		"bash evil.sh", "bash x.sh a b", "timeout 9 bash x.sh", "nohup bash x.sh", "sh ./a.sh b", "zsh a.zsh", "dash a", "fish a.fish",
		"java A", "java -jar a.jar b", "tclsh a.tcl b", "expect a.exp", "scala A.scala", "kotlin A.kts", "crystal a.cr", "nim r a.nim",
		"zig run a.zig", "ipython a.py", "jupyter nbconvert a.ipynb", "jupyter-notebook a", "pass show a", "op item get a", "vault read a/b",
		"cpan A::B", "luarocks install a", "pyenv install 3.12", "./manage.py migrate", "manage.py shell", "rake db:drop", "rake db:drop x",
		"npm run deploy", "make publish", "just db-reset now", "bin/rails db:drop", "bin/rails runner a.rb",
		"gcloud secrets versions access 1", "R a.R", "elixir -S mix a", "ghci a.hs", "docker volume rm a",
	} {
		s := Parse(text, Options{Dir: "/w"})
		for i := range s.Commands {
			c := &s.Commands[i]
			for _, p := range Patterns(c) {
				if p.Text != c.Text() {
					t.Errorf("%q offers %q", text, p.Text)
				}
			}
		}
	}
	for _, text := range []string{"gdb x", "gdb --args ./x a", "lldb ./x"} {
		s := Parse(text, Options{Dir: "/w"})
		for i := range s.Commands {
			if got := Patterns(&s.Commands[i]); len(got) > 0 {
				t.Errorf("%q offers %v", text, got)
			}
		}
	}
}

// TestOptions checks how option words are read in each style.
func TestOptions(t *testing.T) {
	for _, c := range []struct {
		list, words string
		style       programs.Style
		want        string // names of the options found, with values, then operands
	}{
		{"-o,--output=w -n", "-no f a", programs.GNU, "-n -o=f | a"},
		{"-o,--output=w -n", "-of a", programs.GNU, "-o=f | a"},
		{"-o,--output=w", "--out f a", programs.GNU, "--output=f | a"},
		{"-o,--output=w", "--output=f -- -o", programs.GNU, "--output=f | -o"},
		{"-o=w", "a -o f", programs.GNU, "-o=f | a"},
		{"-o=w", "a -o f", programs.POSIX, "| a -o f"},
		{"-exec=x", "--exec y z", programs.Go, "-exec=y | z"},
		{"-exec=x", "-exec=y", programs.Go, "-exec=y |"},
		{"-I=", "-Idir a", programs.Long, "-I=dir | a"},
		{"-i?m -e=c", "-i.bak -e s a", programs.GNU, "-i=.bak -e=s | a"},
		{"-l# -0# -n -e=c", "-lne x", programs.GNU, "-l -n -e=x |"},
		{"-l# -0# -n -e=c", "-0777ne x", programs.GNU, "-0 -n -e=x |"},
	} {
		var words []word.Word
		for w := range strings.FieldsSeq(c.words) {
			words = append(words, word.Lit(w))
		}
		s := word.MustOptions(c.list).Scan(words, c.style)
		var got []string
		for _, h := range s.Hits {
			if h.Has {
				got = append(got, h.Name+"="+h.Value.Text)
			} else {
				got = append(got, h.Name)
			}
		}
		got = append(got, "|")
		for _, o := range s.Operands {
			got = append(got, o.Text)
		}
		if g := strings.Join(got, " "); g != c.want {
			t.Errorf("%q with %q: %q, want %q", c.words, c.list, g, c.want)
		}
	}
}
