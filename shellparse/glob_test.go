package shellparse

import (
	"slices"
	"strings"
	"testing"
)

// patternTexts are texts with the patterns of the files that they read; "?" means anything.
var patternTexts = []struct{ text, want string }{
	{`cat .e*`, `/w/.e*`},
	{`cat ".e"*`, `/w/.e*`},
	{`cat .e""*`, `/w/.e*`},
	{`cat .\e*`, `/w/.e*`},
	{`cat {.,x}e*`, `/w/.e* /w/xe*`},
	{`cat .[!a]nv`, `/w/.[^a]nv`},
	{`cat .[^a]nv`, `/w/.[^a]nv`},
	{`cat .[e]nv`, `/w/.[e]nv`},
	{`cat .[a-z]nv`, `/w/.?nv`},
	{`cat .[[:alpha:]]nv`, `/w/.?nv`},
	{`cat .[]e]nv`, `/w/.?nv`},
	{`cat .[\e]nv`, `/w/.?nv`},
	{`cat .["e"]nv`, `?`},
	{`cat .[$x]nv`, `?`},
	{`cat .en[v`, `/w/.en[v`},
	{`cat 'a*'b*`, `/w/a\*b*`},
	{`cat a\*b?`, `/w/a\*b?`},
	{`cd sub; cat ../.e*`, `/w/.e* /.e*`},
	{`cd sub && cat ../.e*`, `/w/.e*`},
	{`env -C sub cat ../.e*`, `/w/.e*`},
	{`"cat" "$PWD"/.e*`, `/w/.e*`},
	{`cat ~/../ws/.e*`, `/home/ws/.e*`},
	{`cat "$HOME"/*/x`, `/home/u/*/x`},
	{`cat ~+/.env`, `/w/.env`},
	{`cat ~-/.env`, `?`},
	{`cat ~root/.env`, `?`},
	{`cat < .e*`, `/w/.e*`},
	{`cat < .e"n"*`, `/w/.en*`},
	{`cat < "$(echo .env)"`, `?`},
	{`cat < .en{v,}`, `?`},
	{`cat < $x`, `?`},
	{`x='.e*'; cat $x`, `/w/.e*`},
	{`x='.e*'; cat "$x"`, `/w/.e*`},
	{`x='.e[n]v'; cat < $x`, `/w/.e[n]v`},
	{`cat $(printf .env)`, `?`},
	{`cat "$(printf ~/.local/share/call)gate/x"`, `?`},
	{`cat ~/.local/share/*/*/approve`, `/home/u/.local/share/*/*/approve`},
	{`cat /abs/callg""*/cred*`, `/abs/callg*/cred*`},
	{`for f in .*; do cat "$f"; done`, `/w/.*`},
	{`for f in .*; do cat $f; done`, `/w/.* split`},
	{`for f in a .env; do cat "$f"; done`, `/w/a /w/.env`},
	{`for f in a .env; do cat "d/$f"; done`, `/w/d/a /w/d/.env`},
	{`for f in $(x); do cat "$f"; done`, `?`},
	{`set -- .env; cat "$@"`, `?`},
	{`set -- .env; cat $1`, `?`},
	{`declare f=.env; cat $f`, `/w/.env`},
	{`declare -x f=.env; cat $f`, `/w/.env`},
	{`declare -u f=.env; cat $f`, `?`},
	{`export f=.env; cat "$f"`, `/w/.env`},
	{`cat ${x:-.env}`, `?`},
	{`cat ${x-.env}`, `?`},
	{`x=a.env; cat ${x#a}`, `?`},
	{`a=(.env); cat "${a[0]}"`, `?`},
	{`cat log$$`, `/w/log[0-9]*`},
	{`cat log$((a+1))`, `/w/log[0-9]* /w/log-[0-9]*`},
	{`cat log$(nproc)`, `/w/log[0-9]* /w/log-[0-9]* /w/log[ ]* /w/log`},
	{`for i in $(seq 1 $n); do cat "log$i"; done`, `/w/log[0-9]* /w/log-[0-9]* /w/log[ ]* /w/log`},
	{`n=3; for i in $(seq $n); do cat "log$i"; done`, `/w/log[0-9]* /w/log-[0-9]* /w/log[ ]* /w/log`},
	{`for i in $(seq $n); do cat "log$i"; done`, `?`},
	{`n=$(nproc); cat "log$n"`, `/w/log[0-9]* /w/log-[0-9]* /w/log[ ]* /w/log`},
	{`cat .env$!`, `?`},
	{`cat a*/../.env`, `?`},
	{`cat @(.env|x)`, `?`},
	{`cat @(a|b)c`, `/w/*c`},
	{`cat **/x`, `/w/**/x`},
	{`cd $d; cat *.x`, `?`},
	{`cd $d; cd /t; cat x`, `x /t/x /w/x`},
	{`cd $d; cd /t && cat x`, `/t/x`},
	{`cd $d; y && cd /t; cat x`, `x /t/x /w/x`},
	{`cat <(x)`, ``},
	{`diff <(x) <(y)`, ``},
	{`cat *`, `/w/*`},
	{`cat -- *.go`, `/w/*.go`},
	{`find . -type f | xargs cat`, `/w/** split`},
	{`find .. -name approve | xargs cat`, `/**/approve split`},
	{`find src lib -name '*.go' -print0 | xargs -0 cat`, `/w/src/**/*.go /w/lib/**/*.go`},
	{`find . -name '*.go' | grep -v test | head -5 | xargs cat`, `/w/**/*.go split`},
	{`find . -printf .env | xargs cat`, `?`},
	{`find . -exec echo .env ';' | xargs cat`, `?`},
	{`find . -regex -name -o -true | xargs cat`, `/w/** split`},
	{`find . -L -name x | xargs cat`, `?`},
	{`find . -name x | sed s/x/.env/ | xargs cat`, `?`},
	{`find . -name x | xargs -a list cat`, `/w/list ?`},
	{`find . -name x | xargs -I% cat d/%`, `/w/d/**/x split`},
	{`git ls-files | xargs wc -l`, `/w/** split`},
	{`ls | xargs cat`, `/w/* split`},
	{`strace ls 2>/dev/null | xargs cat`, `/w/* split`},
	{`strace ls 2>&1 | xargs cat`, `?`},
	{`ls() { echo .env; }; noglob ls | xargs cat`, `?`},
	{`ls -1 d | xargs -I% cat d/%`, `/w/d/* split /w/d/d split`},
	{`ls -a | xargs cat`, `?`},
	{`ls a b | xargs cat`, `?`},
	{`ls *.c | xargs cat`, `?`},
	{`git ls-files '*.go' 'a/b*.md' | xargs cat`, `/w/**/*.go split /w/**/*.md split`},
	{`git ls-files '*/*' | xargs cat`, `/w/** split`},
	{`git ls-files '*.g[o]' | xargs cat`, `/w/** split`},
	{`git ls-files '*.go' src | xargs cat`, `/w/** split`},
	{`git diff --name-only main -- '*.go' | xargs cat`, `/w/main /w/*.go /w/**/*.go split`},
	{`git ls-files '*.go' | while read -r f; do cat "$f"; done`, `/w/**/*.go split`},
	{`git ls-files | while IFS= read f; do cat "$f"; done`, `/w/** split`},
	{`while read -r f; do cat "$f"; done < <(git ls-files '*.go')`, `/w/**/*.go split`},
	{`while read -r f; do cat "$f"; done <<< "$(git ls-files '*.go')"`, `/w/**/*.go split`},
	{`find . -name x -print0 | while IFS= read -r -d '' f; do cat "d/$f"; done`, `/w/d/**/x`},
	{`git ls-files -z '*.go' | while read -rd '' f; do cat "$f"; done`, `/w/**/*.go`},
	{`git ls-files -z '*.go' | while read -r f; do cat "$f"; done`, `?`},
	{`git ls-files '*.go' | while read -r -d '' f; do cat "$f"; done`, `?`},
	{`git ls-files '*.go' | while read -r -d x f; do cat "$f"; done`, `?`},
	{`git ls-files | while read -r f g; do cat "$f"; done`, `?`},
	{`git ls-files | while read -r -n 3 f; do cat "$f"; done`, `?`},
	{`git ls-files | while IFS=/ read -r f; do cat "$f"; done`, `?`},
	{`IFS=x; git ls-files | while read -r f; do cat "$f"; done`, `?`},
	{`git ls-files | until read -r f; do cat "$f"; done`, `?`},
	{`git ls-files | while ! read -r f; do cat "$f"; done`, `?`},
	{`git ls-files | while read -r f; do exec < n; cat "$f"; done`, `/w/n ?`},
	{`git ls-files | while read -r f; do f=$g; cat "$f"; done`, `?`},
	{`git ls-files | while read -r f; do cat "$f"; trap 'f=x' DEBUG; done`, `?`},
	{`g() { f=x; }; git ls-files | while read -r f; do g; cat "$f"; done`, `?`},
	{`read() { f=x; }; git ls-files | while read -r f; do cat "$f"; done`, `?`},
	{`git ls-files | while read -r f; do :; done; cat "$f"`, `?`},
	{`while read -r f; do cat "$f"; done < list`, `/w/list ?`},
	{`cat list | while read -r f; do cat "$f"; done`, `/w/list ?`},
	{`for d in a/*/; do (cd "$d" && cat x); done`, `/w/a/*/ /w/a/*/x /w/x`},
	{`for d in a/*; do (cd "$d" && cat *.md); done`, `/w/a/*/ /w/*.md /w/a/*/*.md`},
	{`for d in a b; do (cd "$d" && cat x); done`, `/w/a/ /w/b/ /w/a/x /w/b/x /w/x`},
	{`for d in */; do (cd "$d" && cat ../x); done`, `/w/*/ ? /x`},
	{`for d in */..; do (cd "$d" && cat x); done`, `? x /w/x`},
	{`for d in */; do cd "$d" && cat x; done`, `? x /w/x`},
	{`find .env -exec cat {} +`, `/w/.env/**`},
	{`find src -iname 'SR*' -exec cat {} +`, `/w/src /w/src/**/SR*`},
	{`find . -name '.*' -exec cat {} +`, `/w /w/**/.*`},
	{`find . -name '*.md' -exec cat {} +`, `/w/**/*.md`},
	{`find . -name '[!.]*' -exec cat {} ';'`, `/w/**/[^.]*`},
	{`find . ! -name '*.md' -exec cat {} ';'`, `/w/**`},
	{`find . -name a -o -exec cat {} ';'`, `/w/**`},
	{`find . -path ./n -prune -o -name '*.ts' -exec cat {} +`, `/w/**/*.ts`},
	{`find . '(' -name a -o -name b ')' -exec cat {} +`, `/w/**/a /w/**/b`},
	{`find . '(' -name a -o -type f ')' -exec cat {} +`, `/w/**`},
	{`find . -execdir cat {} +`, `/w/* /w/**/*`},
	{`find src -name '*.c' -execdir cat {} ';'`, `/w/*.c /w/src/**/*.c`},
	{`find $d -execdir cat {} +`, `?`},
	{`find $d -exec cat {} +`, `?`},
}

// TestReadPatterns checks the patterns of reads that are not plain names.
func TestReadPatterns(t *testing.T) {
	for _, c := range patternTexts {
		s := Parse(c.text, Options{Dir: "/w", Home: "/home/u"})
		var got []string
		for _, cmd := range s.Commands {
			for _, f := range cmd.Reads {
				switch {
				case f.Path.Known:
					got = append(got, f.Path.Value)
				case f.Pattern == "" && f.Path.Value == "x":
					got = append(got, "x")
				case f.Pattern == "":
					got = append(got, "?")
				default:
					got = append(got, f.Pattern)
				}
				if f.Split {
					got = append(got, "split")
				}
			}
		}
		if got = slices.Compact(got); strings.Join(got, " ") != c.want {
			t.Errorf("%s: reads %q, want %q", c.text, got, c.want)
		}
	}
}

// TestWrittenPatterns checks that a redirection to a pattern is not reported as a plain name.
func TestWrittenPatterns(t *testing.T) {
	for _, text := range []string{`echo a > .bash*`, `echo a >> .bash*`, `echo a &> .bash*`, `echo a >& .bash*`, `echo a >| ".bash"*`} {
		s := Parse(text, Options{Dir: "/w"})
		if w := s.Commands[0].Writes; len(w) != 1 || w[0].Path.Known || w[0].Pattern != "/w/.bash*" {
			t.Errorf("%s: writes %+v", text, w)
		}
	}
}
