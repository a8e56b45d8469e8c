package shellparse

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"callgate/shellparse/internal/inspect"
	"callgate/shellparse/internal/parse"
	"callgate/shellparse/programs"
	"callgate/shellparse/tables"
)

// commandTexts renders commands for comparison: words joined, unknown words in braces.
func commandTexts(s *Script) []string {
	var out []string
	for _, c := range s.Commands {
		var words []string
		for _, w := range c.Argv {
			if w.Known {
				words = append(words, w.Value)
			} else {
				words = append(words, "⟨"+w.Value+"⟩")
			}
		}
		out = append(out, strings.Join(words, "|"))
	}
	return out
}

// TestCommands checks which commands a text reaches and how their words decode.
func TestCommands(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"ls", []string{"ls"}},
		{"", nil},
		{"# only a comment", nil},
		{"a=1 b=2", nil},
		{`echo 'a b' "c d" e\ f`, []string{"echo|a b|c d|e f"}},
		{`echo $'a\tb\x41\101\u00e9'`, []string{"echo|a\tbAAé"}},
		{`echo "a\"b\$c\d"`, []string{`echo|a"b$c\d`}},
		{"echo a\\\nb \\\n c", []string{"echo|ab|c"}},
		{"echo {a,b}c {1..3} x{,y}", []string{"echo|ac|bc|1|2|3|x|xy"}},
		{"echo $x \"$y\" *.go", []string{"echo|⟨$x⟩|⟨\"$y\"⟩|⟨*.go⟩"}},
		{"x=rm; $x -rf .", []string{"rm|-rf|."}},
		{`x='a b'; echo $x "$x"`, []string{"echo|a|b|a b"}},
		{"x=a; x=b; echo $x", []string{"echo|⟨$x⟩"}},
		{"if true; then x=a; fi; echo $x", []string{"true", "echo|⟨$x⟩"}},
		{"for f in one; do echo $f; done", []string{"echo|one"}},
		{"a && b || c; d & e | f", []string{"a", "b", "c", "d", "e", "f"}},
		{"echo `a \\`b\\``", []string{"b", "a|⟨`b`⟩", "echo|⟨`a \\`b\\``⟩"}},
		{"timeout 5 nice -n 3 env A=1 make test", []string{"make|test"}},
		{"bash -c 'a; b \"c d\"'", []string{"a", "b|c d"}},
		{"git -C web --no-pager log -3", []string{"git|log|-3"}},
		{"npm --prefix web run build", []string{"npm|run|build"}},
		{"make -C sub -j4 test", []string{"make|test"}},
		{"/usr/bin/git status", []string{"git|status"}},
		{"./git status", []string{"./git|status"}},
		{"find . -exec wc -l {} +", []string{"find|.|-exec|wc|-l|{}|+", "wc|-l|⟨{}⟩"}},
		{"xargs -I% cp % d", []string{"cp|⟨%⟩|d"}},
		{"uv run pytest -q", []string{"uv|run|pytest|-q", "pytest|-q"}},
		{"f() { a; }; f", []string{"a"}},
		{"> out", []string{":"}},
		{"cat <<E\n$(a)\nE", []string{"a", "cat"}},
		{"cat <<'E'\n$(a)\nE", []string{"cat"}},
		{"ssh host 'a; b'", []string{"ssh|host|a; b", "a", "b"}},
		{"export A=1; b", []string{"b"}},
		{"trap 'a' EXIT", []string{"a"}},
		{"! a", []string{"a"}},
		{"time -p a", []string{"a"}},
	} {
		if got := commandTexts(Parse(c.text, Options{})); !slices.Equal(got, c.want) {
			t.Errorf("%q\n got %q\nwant %q", c.text, got, c.want)
		}
	}
}

// TestContext checks what a command carries besides its words.
func TestContext(t *testing.T) {
	s := Parse("A=1 timeout 60 sudo -u root env B=2 go -C tools test ./... >log 2>&1 <in", Options{Dir: "/w", Home: "/home/u"})
	if len(s.Commands) != 1 || len(s.Problems) != 0 {
		t.Fatalf("want one command and no problem:%s", describe(s))
	}
	c := s.Commands[0]
	if got, want := c.Text(), "go test ./..."; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
	if want := []string{"timeout 60", "sudo -u root", "env B=2"}; !slices.Equal(c.Via, want) {
		t.Errorf("via %q, want %q", c.Via, want)
	}
	if want := []Assignment{{Name: "A", Value: Word{Value: "1", Known: true}}, {Name: "B", Value: Word{Value: "2", Known: true}}}; !slices.Equal(c.Env, want) {
		t.Errorf("env %v, want %v", c.Env, want)
	}
	if want := []Word{{Value: "-C", Known: true}, {Value: "tools", Known: true}}; !slices.Equal(c.Globals, want) {
		t.Errorf("globals %v, want %v", c.Globals, want)
	}
	if want := []File{{Path: Word{Value: "/w/log", Known: true}, By: "redirect"}}; !slices.Equal(c.Writes, want) {
		t.Errorf("writes %v, want %v", c.Writes, want)
	}
	if want := []File{{Path: Word{Value: "/w/in", Known: true}, By: "redirect"}}; !slices.Equal(c.Reads, want) {
		t.Errorf("reads %v, want %v", c.Reads, want)
	}
	if !c.Escalates || c.DenyOnly || c.Dir != "/w/tools" {
		t.Errorf("escalates %v, deny only %v, dir %q", c.Escalates, c.DenyOnly, c.Dir)
	}
	if want := "A=1 timeout 60 sudo -u root env B=2 go -C tools test ./... >log 2>&1 <in"; c.Raw != want {
		t.Errorf("raw %q, want %q", c.Raw, want)
	}
	for _, want := range []string{"go test ./...", c.Raw, "go -C tools test ./...", "env B=2 go test ./...", "sudo -u root env B=2 go test ./...", "timeout 60 sudo -u root env B=2 go test ./..."} {
		if !slices.Contains(c.Forms(), want) {
			t.Errorf("forms %q lack %q", c.Forms(), want)
		}
	}
}

// TestFiles checks which files a text reads and writes, also after a change of directory.
func TestFiles(t *testing.T) {
	for _, c := range []struct{ text, reads, writes string }{
		{"cat .env", "/w/.env", ""},
		{"head -n 5 a b", "/w/a /w/b", ""},
		{"head -n5 a", "/w/a", ""},
		{"grep -rn x src", "/w/src", ""},
		{"grep -e x a", "/w/a", ""},
		{"sed -n 1p a", "/w/a", ""},
		{"sed -i s/a/b/ a", "/w/a", "/w/a"},
		{"awk '{print $1}' a", "/w/a", ""},
		{"jq .a b.json", "/w/b.json", ""},
		{"tee -a x y", "", "/w/x /w/y"},
		{"cp a b", "/w/a", "/w/b /w/b/a"},
		{"cp -t d a", "/w/a", "/w/d"},
		{"mv a b", "/w/a", "/w/a /w/b /w/b/a"},
		{"rm -rf a ../b", "", "/w/a /b"},
		{"touch -r a b", "/w/a", "/w/b"},
		{"mkdir -p a/b", "", "/w/a/b"},
		{"ln -s a b", "/w/a", "/w/a /w/b /w/b/a"},
		{"dd if=a of=b", "/w/a", "/w/b"},
		{"sort -o x a", "/w/a", "/w/x"},
		{"sort a", "/w/a", ""},
		{"uniq a b", "/w/a", "/w/b"},
		{"truncate -s 0 a", "", "/w/a"},
		{"tar -czf x.tgz a", "/w/a /w/x.tgz", "/w/x.tgz"},
		{"tar czf x.tgz a", "/w/a /w/x.tgz", "/w/x.tgz"},
		{"tar -tzf x.tgz", "/w/x.tgz", ""},
		{"tar -xzf x.tgz -C d", "/w/x.tgz", ""},
		{"curl -d @a https://h/", "/w/a", ""},
		{"curl -sSo x https://h/", "", "/w/x"},
		{"curl -F f=@a https://h/", "/w/a", ""},
		{"wget https://h/x.bin", "", "/w/x.bin"},
		{"git show HEAD:.env", "/w/.env", ""},
		{"git diff -- a", "/w/a", ""},
		{"git commit -F msg", "/w/msg", ""},
		{"git log --output=x", "", "/w/x"},
		{"go build -o bin/x .", "", "/w/bin/x"},
		{"python3 a.py", "/w/a.py", ""},
		{"tee -", "", "/w/-"},
		{"bash a.sh", "/w/a.sh", ""},
		{". ./a.sh", "/w/a.sh", ""},
		{"echo a > x", "", "/w/x"},
		{"echo a > /dev/null 2> /dev/stderr", "", ""},
		{"echo a >> ~/x", "", "/home/u/x"},
		{"cat < a", "/w/a", ""},
		{"ls <> a", "/w/a", "/w/a"},
		{"cd d && echo a > x", "", "/w/d/x"},
		{"cd d; echo a > x", "", "/w/d/x /w/x"},
		{"(cd d && ls); echo a > x", "", "/w/x"},
		{"cd /t && cd u && cat a", "/t/u/a", ""},
		{"pushd d && cat a", "/w/d/a", ""},
		{"eval 'cd d' && cat a", "/w/d/a /w/a", ""},
		{"eval 'push''d /t' && cat a", "/t/a /w/a", ""},
		{"eval 'cd /t' | cat; cat a", "/w/a", ""},
		{"f() { cd /t; }; f && cat a", "/t/a /w/a", ""},
		{"f() { command pushd /t; }; f && cat a", "/t/a /w/a", ""},
		{"f() { cat a; }; pushd /t && f", "/w/a /t/a", ""},
		{"cd d; f() { cat a; }; f", "/w/d/a /w/a", ""},
		{"f() { cat a; }; (cd d && f); cat b", "/w/a /w/d/a /w/b", ""},
		{"ls() { cd /t; }; ls && cat a", "/t/a /w/a", ""},
		{"! cd d && cat a", "/w/d/a /w/a", ""},
		{"f() { {cd,/t}; }; f; cat a", "/t/a /w/a", ""},
		{"f() { cd d && cat a; }; f", "/w/d/a", ""},
		{"f() { cat a; cd ..; }; f && f", "/w/a /a", ""},
		{"cd d || cd e && cat a", "/w/d/a /w/e/a /w/a /w/d/e/a", ""},
		{"true || cd d && cat a", "/w/d/a /w/a", ""},
		{"cd d || exit 1; cat a", "/w/d/a", ""},
		{"f() { cd /t && return; cd /w/d || exit; }; f; cat a", "/t/a /w/d/a /w/a", ""},
		{"f() { cd /t && {return,}; cd /w/d || exit; }; f; cat a", "/t/a /w/d/a /w/a", ""},
		{"r=return; f() { cd /t && $r; cd /w/d || exit; }; f; cat a", "/t/a /w/d/a /w/a", ""},
		{"cd /t && ls ${y:1/0} && cd /w/d || exit\ncat a", "/w/d/a /t/a /w/a", ""},
		{"readonly q=1; cd /t && q=2 && cd /w/d || exit\ncat a", "/w/d/a /t/a /w/a", ""},
		{"n=$((1/0)); cat() { :; }\ncat a", "/w/a", ""},
		{"f() { n=$((1/0)); }\nf; cat() { :; }\ncat a", "/w/a", ""},
		{"eval 'n=$((1/0)); true'; cat() { :; }\ncat a", "", ""},
		{"n=$((1/0))\ncat() { :; }\ncat a", "", ""},
		{"x=d; n=$((1/0)); y=e\ncat $x/a", "/w/d/a", ""},
		{"false && { cd /t || exit; }; cat a", "/t/a /w/a", ""},
		{"f() { :; } && cd /t; cat a", "/t/a /w/a", ""},
		{"f() { cd /t; } | ls || ls; cat a", "/w/a", ""},
		{"cat() { :; } | ls; cat a", "/w/a", ""},
		{"{ cat() { :; }; } < b; cat a", "/w/b /w/a", ""},
		{"{ cat() { :; }; } 2>/dev/null; cat a", "", ""},
		{"{ cd /t || exit; } < b; cat a", "/w/b /t/a /w/a", ""},
		{"{ cd /t || exit; } 2>/dev/null >&2; cat a", "/t/a", ""},
		{"f() { cd /t || exit; }; f < b; cat a", "/w/b /t/a /w/a", ""},
		{"f() { cd /t || exit; }; f < b && cat a", "/w/b /t/a", ""},
		{"eval 'cd /t || exit' < b; cat a", "/w/b /t/a /w/a", ""},
		{"eval 'cd /t || exit' 2>/dev/null; cat a", "/t/a", ""},
		{"readonly q; : ${q:=1}; cat() { :; }\ncat a", "/w/a", ""},
		{"local -r q; : ${q:=1}; cat() { :; }\ncat a", "/w/a", ""},
		{"command readonly q; : ${q:=1}; cat() { :; }\ncat a", "/w/a", ""},
		{": ${q:=1}; cat() { :; }\ncat a", "", ""},
		{"cd -P d && cd e && cd .. && cat a", "/w/d/a", ""},
		{"env -C d sh -c 'cd e && cd .. && cat a'", "/w/d/a", ""},
		{"cd d && sh -c 'cd .. && cat a'", "/w/a", ""},
		{"zsh -c 'x=d; cat $x/a'", "/w/d/a", ""},
		{"zsh -c 'x=d; cat \"${x}:a\"'", "/w/d:a", ""},
		{"cd d && cd - && cat a", "/w/a", ""},
		{"cd d && cd .. && cd . && cd - && cat a", "/w/a", ""},
		{"trap 'cd /t' EXIT; cat a", "/w/a", ""},
		{"cd d && cd e && cd - && cat a", "/w/d/a", ""},
		{"pushd d >/dev/null && ls && popd && cat a", "/w/a", ""},
		{"pushd d && pushd /t && popd && cat a && popd && cat a", "/w/d/a /w/a", ""},
		{"cd d && cd e || { echo no >&2; exit; }\ncat a", "/w/d/e/a", ""},
		{"(cd d || exit; cat a); cat b", "/w/d/a /w/b", ""},
		{"cd d || cd e || exit; cat a", "/w/d/a /w/e/a /w/a /w/d/e/a", ""},
		{"cd d || exit 1 2; cat a", "/w/d/a /w/a", ""},
		{"cd d || exit >no/x; cat a", "/w/d/a /w/a", "/w/no/x /w/d/no/x"},
		{"cd d || { break; exit; }; cat a", "/w/d/a /w/a", ""},
		{"f() { command ls; }; command() { cd /t; }; f; cat a", "/t/a /w/a", ""},
		{"egrep() { cd /t; }; egrep; cat a", "/t/a /w/a", ""},
		{"cat() { :; }; /bin/cat a", "/w/a", ""},
		{"cat() { :; }; for i in 1 2; do cat a; unset -f cat; done", "/w/a", ""},
		{"cat() { :; }; (cat() { command cat a; }; cat b)", "/w/a /w/b", ""},
		{"f() { cat a; }; g() { f; }; cd d && g", "/w/d/a /w/a", ""},
		{"f() { [ -f a ] && cat a; }; for i in 1 2; do f; done", "/w/a", ""},
		{"while read -r l; do [ -n \"$l\" ] && cat a; done <<< b", "/w/a", ""},
		{"trap 'cat a' EXIT; ls", "/w/a", ""},
		{"{ ls; date; } > x", "", "/w/x"},
		{"while read l; do echo $l; done < a > x", "/w/a", "/w/x"},
		{"env -C d touch a", "", "/w/d/a"},
		{"script -c ls x", "", "/w/x"},
		{"find . -fprint x", "", "/w/x"},
		{"git log -1 --cc --output=x", "", "/w/x"},
		{"git log --format --output=x", "", "/w/x"},
		{"git diff -U --output=x", "", "/w/x"},
		{"git diff -L --output x", "", "/w/x"},
		{"git stash show -p --output=x", "", "/w/x"},
		{"git stash list --output x", "", "/w/x"},
		{"python3 -m json.tool a x", "/w/a", "/w/x"},
		{"python3 -m json.tool --indent 2 - x", "", "/w/x"},
		{"python3 -m json.tool .env", "/w/.env", ""},
		{"python3 -m tokenize .env", "/w/.env", ""},
		{"docker compose config -o x", "", "/w/x"},
		{"ss -D x", "", "/w/x"},
		{"truncate -s 0 -o x", "", "/w/x"},
		{"wipe -s x", "", "/w/x"},
		{"jq -n --args . --rawfile x .env", "/w/.env", ""},
		{"jq --args . a", "", ""},
		{"jq . .env --args a", "/w/.env", ""},
		{"xq -i . a", "/w/a", "/w/a"},
		{"tomlq . .env", "/w/.env", ""},
		{"gzip a", "/w/a", "/w/a"},
		{"gzip -c a", "/w/a", ""},
		{"gzip -c a > x", "/w/a", "/w/x"},
		{"gzip --std a > x", "/w/a", "/w/x"},
		{"zstd -o x a", "/w/a", "/w/a /w/x"},
		{"xz -T 4 .env", "/w/.env", "/w/.env"},
		{"iconv -f latin1 -t utf-8 -o x a", "/w/latin1 /w/utf-8 /w/a", "/w/x"},
		{"dos2unix a", "/w/a", "/w/a"},
		{"unix2dos -n a b", "/w/a /w/b", "/w/a /w/b"},
		{"head -1 .env", "/w/.env", ""},
		{"head -n 5 .env", "/w/.env", ""},
		{"wc -c .env", "/w/.env", ""},
		{"od -c .env", "/w/.env", ""},
		{"tail -f .env", "/w/.env", ""},
		{"strings -a .env", "/w/.env", ""},
		{"paste -s .env", "/w/.env", ""},
		{"paste -d , .env a", "/w/.env /w/a", ""},
		{"fmt -s .env", "/w/.env", ""},
		{"column -t .env", "/w/.env", ""},
		{"column -t -s , .env", "/w/.env", ""},
		{"numfmt --to iec .env", "/w/iec /w/.env", ""},
		{"openssl dgst -sha256 .env", "/w/.env", ""},
		{"csvcut -c 1 .env", "/w/.env", ""},
		{"gron .env", "/w/.env", ""},
		{"man ./x", "/w/x", ""},
		{"grep -e x -A 2 .env", "/w/.env", ""},
		{"sort -k 2 -S .env", "/w/.env", ""},
		{"strings -t x a", "/w/a", ""},
		{"cut -d ' ' -f 1 a", "/w/a", ""},
		{"zgrep -i x a", "/w/a", ""},
		{"xargs -a list echo", "/w/list", ""},
		{"rsync a b/", "/w/a", "/w/b /w/b/a"},
	} {
		s := Parse(c.text, Options{Dir: "/w", Home: "/home/u"})
		var reads, writes []string
		for _, cmd := range s.Commands {
			for _, f := range cmd.Reads {
				reads = append(reads, f.Path.Value)
			}
			for _, f := range cmd.Writes {
				writes = append(writes, f.Path.Value)
			}
		}
		for _, side := range []struct {
			got  []string
			want string
		}{{reads, c.reads}, {writes, c.writes}} {
			slices.Sort(side.got)
			side.got = slices.Compact(side.got)
			want := strings.Fields(side.want)
			slices.Sort(want)
			if !slices.Equal(side.got, want) {
				t.Errorf("%q: files %q, want %q (reads %q, writes %q)", c.text, side.got, want, reads, writes)
			}
		}
	}
}

// TestUnknownFiles checks that a path which depends on the run is not reported as known.
func TestUnknownFiles(t *testing.T) {
	for _, text := range []string{"echo a > $x", "echo a > \"$x/y\"", "cd $d; echo a > x", "rm $x", "rm *.o", "cd -; touch a", "popd; touch a", "for i in a b; do cd $i; touch x; done", "echo a > $(b)"} {
		s := Parse(text, Options{Dir: "/w"})
		unknown := false
		for _, c := range s.Commands {
			for _, f := range c.Writes {
				unknown = unknown || !f.Path.Known
			}
		}
		if !unknown {
			t.Errorf("%q: every written path is called known:%s", text, describe(s))
		}
	}
}

// TestUnknownPlaces checks that a file is not taken for the one beside the text if another directory may come before it.
func TestUnknownPlaces(t *testing.T) {
	for _, text := range []string{
		"cd() { builtin cd /t; }; cd d && cat a",
		"if true; then cd() { builtin cd /t; }; fi; cd d && cat a",
		"if true; then ls() { cd /t; }; fi; ls && cat a",
		"trap 'cat a' EXIT; cd /t",
		"(trap 'cat a' EXIT; cd /t)",
		"trap 'cd /t' DEBUG; cat a",
		"trap 'cat a; cd /t' DEBUG",
		"chpwd() { cat a; }; cd /t",
		"f() { cd /t; }; if false; then f() { :; }; fi; f; cat a",
		"trap ls DEBUG; ls() { cd /t; }; cat a",
		"trap ls DEBUG; ls() { cat a; }; cd /t",
		"for i in 1 2; do cat a; {cd,/t}; done",
		"pushd /t; pushd -0; cat a",
		"trap 'cd /t' DEBUG; cd /w && cat a",
		"for i in 1 2; do cd /w && cat a; trap 'cd /t' DEBUG; done",
		"while :; do cd /w && cat a; tr''ap 'cd /t' DEBUG; done",
		"trap ls DEBUG; ls() { cd /t; }; cd /w && cat a",
		"cd d; cd - && cat a",
		"cd d && OLDPWD=/t; cd - && cat a",
		"cd d && OLDPWD=/t bash -c 'cd - && cat a'",
		"pushd d; popd && cat a",
		"pushd d && popd -n && cat a && popd && cat a",
		"cd d && for i in 1 2; do cat a; cd -; done",
		"cd d && if true; then cd /t; fi && cd - && cat a",
		"cd -P d && cd .. && cat a",
		"cd d && cd -P .. && cat a",
		"cd d && env -u PWD bash -c 'cd .. && cat a'",
		"env -C d sh -c 'cd ../d && cat a'",
		"cd d && PWD=/ bash -c 'cd ..; cat a'",
		"cd d && cd .. && if ls; then cd /t && cd /w; fi && cd - && cat a",
		"cd d || exit; cd .. || exit; f() { cd e || exit; cd .. || exit; }; f < b; cd -; cat a",
		"pushd d || exit; if ls; then pushd e || exit; cd .. || exit; fi; popd; cat a",
		"f() { ls; }; eval 'ls() { cd /t; }'; f; cat a",
		"{ n=$((1/0)); x=d; }\ncat \"$x/a\"",
		"n=$((1/0)); x=d; \\\ny=e\ncat \"$y/a\"",
		"UID=1; x=d\ncat \"$x/a\"",
		"x=d < b; cat \"$x/a\"",
		"cd \"$y\"; if ls; then cd /t || exit; fi; cat a",
		"cd \"$y\"; ls && { cd /t || exit; }; cat a",
		"cd \"$y\"; { cd /t || exit; } < b; cat a",
	} {
		unknown := false
		for _, c := range Parse(text, Options{Dir: "/w"}).Commands {
			for _, f := range c.Reads {
				unknown = unknown || !f.Path.Known
			}
		}
		if !unknown {
			t.Errorf("%q: the file counts as known", text)
		}
	}
}

// TestOtherShells checks that files are known only if the shell that reads the text sees them like this. Some shells run
// the last part of a pipe themselves, split no values, or expand no braces.
func TestOtherShells(t *testing.T) {
	for _, d := range []Dialect{POSIX, Zsh} {
		s := Parse("true | cd /t; cat a", Options{Dir: "/w", Dialect: d})
		if c := s.Commands[len(s.Commands)-1]; len(c.Reads) == 0 || c.Reads[0].Path.Known {
			t.Errorf("shell %d: the file counts as known:%s", d, describe(s))
		}
	}
	for _, text := range []string{"zsh -c 'ls() { cd /t; }; noglob ls; cat a'", "zsh -c 'true | cd /t; cat a'", "ksh <<< 'true | cd /t; cat a'", "zsh -c 'x=\"a b\"; cat $x'", "zsh -c 'x=a.b; cat \"$x:r\"'", "zsh -c 'x=\"=a\"; cat $x'", "sh -c 'cat {a,b}'"} {
		s := Parse(text, Options{Dir: "/w"})
		if c := s.Commands[len(s.Commands)-1]; len(c.Reads) == 0 || c.Reads[0].Path.Known {
			t.Errorf("%q: the file counts as known:%s", text, describe(s))
		}
	}
	if s := Parse("shopt -s lastpipe; true | cd /t; cat a", Options{Dir: "/w"}); len(s.Commands[0].Effects) == 0 {
		t.Errorf("lastpipe has no effect:%s", describe(s))
	}
}

// TestProblems checks the problem code for each kind of text that cannot be known.
func TestProblems(t *testing.T) {
	for _, c := range []struct {
		text, code string
		dialect    Dialect
	}{
		{"$x", "dynamic", Bash},
		{"eval $x", "dynamic", Bash},
		{"echo 'a", "unparsable", Bash},
		{"ls\rls", "control", Bash},
		{"ls\x00", "control", Bash},
		{"ls \xff", "control", Bash},
		{"ls\u2028", "control", Bash},
		{"echo \"$\\\n(ls)\"", "disagreement", Bash},
		{"ls # a\\\nrm b", "disagreement", Bash},
		{"cat <<E\n$(a 'b\\\nc')\nE", "disagreement", Bash},
		{"cat <<E\n$(a $'b\\\nc')\nE", "disagreement", Bash},
		{"cat <<E\n`a 'b\\\nc'`\nE", "disagreement", Bash},
		{"cat <<E\n$(bash <<'X'\na 'b\\\nc'\nX\n)\nE", "disagreement", Bash},
		{"x=\"`a 'b\\\nc'`\"", "disagreement", Bash},
		{"a `bash <<'X'\na 'b\\\nc'\nX\n`", "disagreement", Bash},
		{"cat <<E\n$(a '\nE\nb\n: ')\nE", "disagreement", Bash},
		{"cat <<E\n${v:-\nE\nb\n}\nE", "disagreement", Bash},
		{"cat <<E\n$(: <<'F'\nE\nb\nF\n)\nE", "disagreement", Bash},
		{"cat <<EF\nE\\\nF\nb\nEF", "disagreement", Bash},
		{"cat <<-E\na\n\tE\\\n\nb\nE", "disagreement", Bash},
		{"cat <<-E\n\t$(a '\n\tb')\n\tE", "disagreement", Bash},
		{strings.Repeat("a", parse.MaxText+1), "too-long", Bash},
		{strings.Repeat("(", parse.MaxNesting+1), "too-deep", Bash},
		{strings.Repeat("bash -c '", 1) + strings.Repeat("eval ", 60) + "ls'", "too-deep", Bash},
		{"for i in 1 2; do cd /w && cat a; eval \"trap 'cd /t' DEBUG\"; done", "dynamic", Bash},
		{"trap 'cat a' EXIT; trap 'cd /t' DEBUG; :", "dynamic", Bash},
		{"trap 'cd /t; false' EXIT; trap 'cat a' ERR", "dynamic", Bash},
		{"function export { cd /t; }; export A; cat a", "disagreement", Bash},
		{"eval() { :; }; set -o posix; eval 'cat a'", "disagreement", Bash},
		{"cat() { :; }; for i in 1 2; do cat a; eval 'unset -f cat'; done", "dynamic", Bash},
		{"x=/w/a; trap 'cat $x' DEBUG; eval 'x=/t/a'; :", "dynamic", Bash},
		{"Get-ChildItem -Path .", "foreign", Bash},
		{"if exist a del a", "foreign", Bash},
		{"rem a comment", "foreign", Bash},
		{"if exist a del a\ncat <<E\nb\nE", "foreign", Bash},
		{": <<'E'\nif exist a del a\nE", "foreign", Bash},
		{"echo \\\" <<'E'\nif exist a del a\nE", "foreign", Bash},
		{"git commit -m \"$(cat <<'E'\nif exist a del a\nE\n)\"", "foreign", Bash},
		{"echo \\' <<'E'\nGet-ChildItem\nE", "foreign", Bash},
		{"cat <<E | Get-Item\na\nE", "foreign", Bash},
		{"cat <<E\na", "unparsable", Bash},
		{"cat <<'E$'\na", "unparsable", Bash},
		{"cat <<'E'\"F\"\na", "unparsable", Bash},
		{"if a; then cat <<'E'\nb\nfi", "unparsable", Bash},
		{"a=$(cat <<'E'\nb\nE)", "unparsable", Bash},
		{"ls *(e:'x':)", "disagreement", Zsh},
		{"exit 'a[$(id)]'", "dynamic", Zsh},
		{"x=$(cat f); exit $x", "dynamic", Zsh},
		{"repeat $x ls", "dynamic", Zsh},
		{"printf '%s %d' a 'a[$(id)]'", "dynamic", Bash},
		{"printf -- %d \"$x\"", "dynamic", Zsh},
		{"printf -v y %x \"$x\"", "dynamic", Zsh},
		{"printf \"$f\" \"$x\"", "dynamic", Zsh},
		{"printf '%*d' 5 x", "dynamic", Zsh},
		{"x='-fa[$(id)]%g'; echo $(( $(seq \"$x\" 1) ))", "dynamic", Bash},
		{"x='-sa[$(id)]'; n=$(seq $x 2); echo $((n))", "dynamic", Bash},
	} {
		s := Parse(c.text, Options{Dialect: c.dialect})
		if !slices.ContainsFunc(s.Problems, func(p Problem) bool { return p.Code == c.code }) {
			t.Errorf("%s: problems %v, want one of code %q", parse.Around(c.text, 0), s.Problems, c.code)
		}
	}
}

// TestNoProblems checks that ordinary texts can be known.
func TestNoProblems(t *testing.T) {
	for _, text := range []string{"ls; rc=$?; exit $rc", "exit 1", "exit $?", "shift 2", "return -1", "repeat 3 ls", "printf '%s: %d%%\n' \"$x\" 5", "printf '%5.2f\n' 1.5e3",
		"printf '%d files\n' $(ls | wc -l)", "printf '%d %s\n' $# \"$*\"", "printf '%s\n' 'a[$x]'", "printf \"%b\" $x", "[ \"$x\" = a ]"} {
		for _, d := range []Dialect{Bash, POSIX, Zsh} {
			if s := Parse(text, Options{Dialect: d}); len(s.Problems) > 0 {
				t.Errorf("%s: dialect %d: %v", text, d, s.Problems)
			}
		}
	}
}

// TestHostileSizes checks that texts which would kill or stall a parser are refused before parsing: the test ends.
func TestHostileSizes(t *testing.T) {
	for _, unit := range []string{"(", "{ ", "$(", "`", "\"$(", "((", "$((", "$[", "${a[", "<(", "${x:-", "if ", "while ", "! ", "time ", "a|", "a&&", "a;", "case x in x) ", "f() ", "coproc ", "{a,", "eval ", "env ", "'", "\"", "\\", "<<E\n", "&& true ", "nice ", "bash -c ", "{a,b}", "$x", "[[ ( ", "a=(", "#\n", "`\\`"} {
		for _, size := range []int{parse.MaxText, 1 << 20} {
			text := strings.Repeat(unit, size/len(unit))
			s := Parse(text, Options{})
			if size > parse.MaxText && len(s.Problems) == 0 {
				t.Errorf("%q repeated to %d bytes has no problem", unit, size)
			}
			if len(s.Commands) > parse.MaxText {
				t.Errorf("%q repeated to %d bytes has %d commands", unit, size, len(s.Commands))
			}
		}
	}
}

// TestConcurrent checks that several goroutines may call Parse.
func TestConcurrent(t *testing.T) {
	want := Parse("cd web && A=1 timeout 5 npm test -- -t x > log", Options{Dir: "/w"})
	done := make(chan *Script)
	for range 8 {
		go func() {
			var s *Script
			for range 50 {
				s = Parse("cd web && A=1 timeout 5 npm test -- -t x > log", Options{Dir: "/w"})
			}
			done <- s
		}()
	}
	for range 8 {
		if got := <-done; !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

// TestRewrites checks that a spelling with the same meaning to the shell is never judged more mildly.
func TestRewrites(t *testing.T) {
	rewrites := map[string]func(string) string{
		"group":      func(s string) string { return "{ " + s + "\n}" },
		"subshell":   func(s string) string { return "( " + s + "\n)" },
		"list":       func(s string) string { return "true; " + s },
		"condition":  func(s string) string { return "if true; then " + s + "\nfi" },
		"negation":   func(s string) string { return "! { " + s + "\n}" },
		"function":   func(s string) string { return "fn() { " + s + "\n}; fn" },
		"background": func(s string) string { return "{ " + s + "\n} & true" },
		"eval":       func(s string) string { return "eval '" + strings.ReplaceAll(s, "'", `'\''`) + "'" },
		"shell":      func(s string) string { return "bash -c '" + strings.ReplaceAll(s, "'", `'\''`) + "'" },
	}
	for _, c := range readCorpus(t, "testdata/bypass.jsonl") {
		if c.Shell != "" || c.MinExpect == "allow" || len(c.Cmd) > 2000 || c.Cmd == "" {
			continue
		}
		_, class, _ := strings.Cut(c.ID, "-")
		allow := append([]string{"true", "eval *", "bash *", "fn"}, c.AllowRules...)
		for name, rewrite := range rewrites {
			if class == "rules" || class == "foreign" {
				continue
			}
			got := judge(Parse(rewrite(c.Cmd), c.options()), allow, c.DenyRules, c.AllowWrites)
			if got == "allow" {
				t.Errorf("%s: as a %s it is allowed: %q%s", c.ID, name, rewrite(c.Cmd), describe(Parse(rewrite(c.Cmd), c.options())))
			}
		}
	}
}

// TestFunctionsOfTheTable checks that the table names every handler and inspector, and no other.
func TestFunctionsOfTheTable(t *testing.T) {
	used := map[string]bool{"": true}
	for c := range programs.All {
		used["run "+c.Handler], used["inspect "+c.Inspector] = true, true
		if c.Handler != "" && inspect.Handlers[c.Handler] == nil {
			t.Errorf("%s: no handler %q", c.Name, c.Handler)
		}
		if c.Inspector != "" && inspect.Inspectors[c.Inspector] == nil {
			t.Errorf("%s: no inspector %q", c.Name, c.Inspector)
		}
	}
	for name := range inspect.Handlers {
		if !used["run "+name] {
			t.Errorf("no program has the handler %q", name)
		}
	}
	for name := range inspect.Inspectors {
		if !used["inspect "+name] {
			t.Errorf("no program has the inspector %q", name)
		}
	}
}

// TestNoVariableTwice checks that no row of variables hides another.
func TestNoVariableTwice(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range tables.EnvRows {
		for name := range strings.FieldsSeq(r.Name) {
			if seen[name] {
				t.Errorf("%q has two rows", name)
			}
			seen[name] = true
		}
	}
}

// TestTables checks that the built-in tables compile and that a user's rows win.
func TestTables(t *testing.T) {
	tables, err := NewTables(
		[]Program{{Name: "frob", Options: "-o,--out=w --run=x", Operands: "r"}},
		[]Wrapper{{Name: "frobwrap", Options: "-n=", Skip: 1}},
		[]Env{{Name: "FROB_HOOK"}, {Name: "LD_PRELOAD", Harmless: true}})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Tables: tables, Dir: "/w"}
	s := Parse("frobwrap -n 1 x frob --ru=./y -oz a", o)
	if len(s.Commands) != 1 {
		t.Fatalf("want one command:%s", describe(s))
	}
	c := s.Commands[0]
	if c.Text() != "frob --ru=./y -oz a" || !slices.Equal(effectTexts(c), []string{"option --run"}) ||
		!slices.Equal(c.Writes, []File{{Path: Word{Value: "/w/z", Known: true}, By: "frob"}}) || !slices.Equal(c.Reads, []File{{Path: Word{Value: "/w/a", Known: true}, By: "frob"}}) {
		t.Errorf("got %+v", c)
	}
	tables, err = NewTables([]Program{{Name: "gawk|podman frob", Options: "-Z=w", Arity: 2}}, []Wrapper{{Name: "nerdctl wrap", Options: "-n="}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	own := Options{Tables: tables, Dir: "/w"}
	if s := Parse(`gawk 'BEGIN{system("x")}' -Z out`, own); len(s.Commands[0].Effects) == 0 {
		t.Error("a row of one's own hides what awk runs")
	}
	for _, text := range []string{"podman frob x -Z out", "docker frob x -Zout"} {
		if s := Parse(text, own); len(s.Commands[0].Writes) != 1 || s.Commands[0].Named != 2 {
			t.Errorf("%s: %+v", text, s.Commands[0])
		}
	}
	if s := Parse("finch wrap -n 1 rm x", own); s.Commands[0].Text() != "rm x" {
		t.Errorf("the wrapper hides %q", s.Commands[0].Text())
	}
	if s := Parse("FROB_HOOK=1 ls", o); !slices.Equal(effectTexts(s.Commands[0]), []string{"env FROB_HOOK"}) {
		t.Errorf("effects %q", s.Commands[0].Effects)
	}
	if s := Parse("LD_PRELOAD=x ls", o); len(s.Commands[0].Effects) != 0 {
		t.Errorf("effects %q, want none", s.Commands[0].Effects)
	}
	for _, bad := range []Program{{Name: "a", Options: "-o=q"}, {Name: "a", Options: "-o:"}, {Name: "a", Options: ","}, {Name: "a", Style: "x"}} {
		if _, err := NewTables([]Program{bad}, nil, nil); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
	if _, err := NewTables(nil, []Wrapper{{Name: "a", Role: "x"}}, nil); err == nil {
		t.Error("an unknown role is accepted")
	}
}

// generated returns texts of the grammar for the differential test; none without bash.
var generated = func() []string { return nil }

// FuzzParse checks that no text panics or stalls the analysis, and that the result is consistent.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"bypass", "benign", "always"} {
		for _, c := range readCorpus(f, "testdata/"+name+".jsonl") {
			f.Add(c.Cmd, c.Shell == "zsh")
		}
	}
	for _, text := range growing() {
		if len(text) < 4<<10 { // minimizing longer ones takes too long
			f.Add(text, false)
		}
	}
	for _, c := range patternTexts {
		f.Add(c.text, false)
	}
	f.Add("a {,b} | xargs c", false) // a word that is read twice
	for _, text := range generated() {
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, zsh bool) {
		o := Options{Dir: "/w", Home: "/home/u"}
		if zsh {
			o.Dialect = Zsh
		}
		s := Parse(text, o)
		for i := range s.Commands {
			c := &s.Commands[i]
			if len(c.Argv) == 0 {
				t.Fatalf("a command without words in %q", text)
			}
			if n := Arity(c.Argv); n < 1 || n > len(c.Argv) {
				t.Fatalf("arity %d of %d words", n, len(c.Argv))
			}
			if !c.Argv[0].Known && len(s.Problems) == 0 {
				t.Fatalf("a dynamic program without a problem in %q", text)
			}
			for _, p := range Patterns(c) {
				if len(c.Effects) == 0 && !strings.ContainsAny(c.Text(), "$`") && !matchGlob(p.Text, c.Text()) {
					t.Fatalf("offered %q does not match %q", p.Text, c.Text())
				}
			}
			c.Forms()
		}
	})
}

// TestHereDocuments checks here-documents that all readers read alike.
func TestHereDocuments(t *testing.T) {
	for _, text := range []string{
		"cat <<E\nhello $v\nE\nls", "cat <<-E\n\thello $v\n\n\t\tE\nls", "cat <<E\n$(a 'b c' \"d\ne\")\nE", "cat <<E\na\\\nb\nE\n", "cat <<E\nE",
		"cat <<E\n\nE\nls", "cat <<-E\n\t$(a)\n\t$(b)\n\tE", "cat <<'E'\n$(a 'b\\\nc')\nE", "x=$(cat <<E\nhi\nE\n)", "a \"$(b 'c\\\nd')\"",
		"bash -lc 'cat >a <<\"E\"\nif (rem > 0)\n  rem = 1\nE'", "cat <<'E' >a\nb 'c", "cat <<-\"E_1\" && ls\nb\n", "cat >a <<'E'\nrem = 1\nE",
		"cd a && cat >b <<E\nGet-ChildItem -Path .\n@echo off\nE\ncat >c <<'F'\nif exist a del a\nF",
		"git commit -m \"$(cat <<'E'\nAdd cookies\n\nSet-Cookie is secure\nE\n)\"",
	} {
		if s := Parse(text, Options{}); len(s.Problems) > 0 {
			t.Errorf("%q: %v", text, s.Problems)
		}
	}
}

func BenchmarkTypical(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Parse("cd web && npm test 2>&1 | grep -E 'FAIL|PASS' | head -20", Options{Dir: "/w"})
	}
}

func BenchmarkSimple(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Parse("git status --short", Options{Dir: "/w"})
	}
}

func BenchmarkCommit(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Parse("git add -A && git commit -m \"$(cat <<'EOF'\nfeat: add gate\n\nbody\nEOF\n)\"", Options{Dir: "/w"})
	}
}

func BenchmarkLong(b *testing.B) {
	b.ReportAllocs()
	text := strings.Repeat("grep -rn 'needle in a haystack' src/main.go | head -5; ", parse.MaxText/56)
	for b.Loop() {
		Parse(text, Options{Dir: "/w"})
	}
}

func effectTexts(c Command) (list []string) {
	for _, e := range c.Effects {
		list = append(list, e.Text)
	}
	return list
}
