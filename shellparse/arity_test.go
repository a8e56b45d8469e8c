package shellparse

import (
	"slices"
	"strings"
	"testing"
)

// TestArity holds how many words name a command.
func TestArity(t *testing.T) {
	for text, want := range map[string]int{
		"cat a b": 1, "git push origin": 2, "git": 1, "git --version": 1, "npm run build": 3, "npm test": 2, "npm run": 2,
		"docker compose ps": 3, "docker ps": 2, "gcloud compute instances list": 4, "gcloud projects list --limit 1": 3,
		"aws s3 ls": 3, "gh pr view 3": 3, "go test ./...": 2, "go run ./x y": 3, "python3 a.py b": 2, "python3 -m pytest -q": 3,
		"uv run pytest -q": 3, "./gradlew test": 2, "make": 1, "git stash list": 3, "kubectl get pods": 2, "./x a b": 1,
	} {
		var argv []Word
		for _, w := range strings.Fields(text) {
			argv = append(argv, Word{w, true})
		}
		if got := Arity(argv); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	if got := Arity([]Word{{"git", true}, {"$x", false}}); got != 2 {
		t.Errorf("an unknown subcommand: %d, want 2", got)
	}
	if got := Arity(nil); got != 0 {
		t.Errorf("no words: %d, want 0", got)
	}
}

// TestPatterns holds the whole ladder, its order and its default.
func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		text string
		want []Pattern
	}{
		{"git push origin main", []Pattern{{"git push origin main", false}, {"git push origin *", false}, {"git push *", true}}},
		{"npm run build", []Pattern{{"npm run build", true}, {"npm run build *", false}}},
		{"ls -la", []Pattern{{"ls -la", false}, {"ls *", true}}},
		{"echo 'a*b' c", []Pattern{{`echo a\*b c`, false}, {`echo a\*b *`, false}, {"echo *", true}}},
		{"rm -rf build", []Pattern{{"rm -rf build", true}}},
		{"rm -rf $x", nil},
		{"python3 -c 'print(1)'", nil},
		{"sudo ls", nil},
		{"cd web", nil},
		{"git push --force", nil},
		{"docker run alpine", nil},
		{"eval", nil},
		{"bin/rails db:migrate x", []Pattern{{"bin/rails db:migrate x", false}, {"bin/rails db:migrate *", true}}},
		{"make test V=1", []Pattern{{"make test V=1", false}, {"make test *", true}}},
		{"./x a", []Pattern{{"./x a", false}, {"./x *", true}}},
	} {
		s := Parse(c.text, Options{Dir: "/w"})
		if len(s.Commands) != 1 {
			t.Fatalf("%q: want one command:%s", c.text, describe(s))
		}
		if got := Patterns(&s.Commands[0]); !slices.Equal(got, c.want) {
			t.Errorf("%q offers %v, want %v", c.text, got, c.want)
		}
	}
}

// TestExactOnly holds the commands for which only their very text is offered: what another word could name runs
// code, installs, destroys, or prints a secret.
func TestExactOnly(t *testing.T) {
	for _, text := range []string{
		"bash evil.sh", "bash x.sh a b", "timeout 9 bash x.sh", "nohup bash x.sh", "sh ./a.sh b", "zsh a.zsh", "dash a", "fish a.fish",
		"java A", "java -jar a.jar b", "tclsh a.tcl b", "expect a.exp", "scala A.scala", "kotlin A.kts", "crystal a.cr", "nim r a.nim",
		"zig run a.zig", "ipython a.py", "jupyter nbconvert a.ipynb", "jupyter-notebook a", "pass show a", "op item get a", "vault read a/b",
		"cpan A::B", "luarocks install a", "pyenv install 3.12", "./manage.py migrate", "manage.py shell", "rake db:drop", "rake db:drop x",
		"npm run deploy", "make publish", "just db-reset now", "bin/rails db:drop", "bin/rails runner a.rb", "pipx install a", "brew install a",
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

// TestOptions holds how option words are read in each style.
func TestOptions(t *testing.T) {
	for _, c := range []struct {
		list, words string
		style       style
		want        string // names of the options found, with values, then operands
	}{
		{"-o,--output=w -n", "-no f a", styleGNU, "-n -o=f | a"},
		{"-o,--output=w -n", "-of a", styleGNU, "-o=f | a"},
		{"-o,--output=w", "--out f a", styleGNU, "--output=f | a"},
		{"-o,--output=w", "--output=f -- -o", styleGNU, "--output=f | -o"},
		{"-o=w", "a -o f", styleGNU, "-o=f | a"},
		{"-o=w", "a -o f", stylePOSIX, "| a -o f"},
		{"-exec=x", "--exec y z", styleGo, "-exec=y | z"},
		{"-exec=x", "-exec=y", styleGo, "-exec=y |"},
		{"-I=", "-Idir a", styleLong, "-I=dir | a"},
		{"-i?m -e=c", "-i.bak -e s a", styleGNU, "-i=.bak -e=s | a"},
		{"-l# -0# -n -e=c", "-lne x", styleGNU, "-l -n -e=x |"},
		{"-l# -0# -n -e=c", "-0777ne x", styleGNU, "-0 -n -e=x |"},
	} {
		var words []word
		for _, w := range strings.Fields(c.words) {
			words = append(words, lit(w))
		}
		s := mustOptions(c.list).scan(words, c.style)
		var got []string
		for _, h := range s.hits {
			if h.has {
				got = append(got, h.name+"="+h.value.text)
			} else {
				got = append(got, h.name)
			}
		}
		got = append(got, "|")
		for _, o := range s.operands {
			got = append(got, o.text)
		}
		if g := strings.Join(got, " "); g != c.want {
			t.Errorf("%q with %q: %q, want %q", c.words, c.list, g, c.want)
		}
	}
}
