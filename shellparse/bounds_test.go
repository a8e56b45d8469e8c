package shellparse

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// growing returns short texts that would become large values, many directories or long lists.
func growing() []string {
	doubled := func(use string) string {
		var b strings.Builder
		b.WriteString("v0=xx;")
		for i := 1; i < 40; i++ {
			fmt.Fprintf(&b, "v%d=$v%d$v%d;", i, i-1, i-1)
		}
		return b.String() + use
	}
	moves := func(format string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String() + "cat x"
	}
	long := strings.Repeat("x", 16<<10)
	return []string{
		doubled("echo $v39"),
		doubled("cat < $v39"),
		doubled("[[ $v39 ]]"),
		doubled(`cat <<< "$v39$v39"`),
		strings.ReplaceAll(doubled("echo $v39"), "=", "=\"") + `"`,
		"export " + strings.ReplaceAll(doubled("true"), ";", " "),
		"x='**'; for f in *; do cat " + strings.Repeat("$f$f", 2000) + "; done",
		"for f in {a,b,c,d}*; do cat " + strings.Repeat(`"$f$f$f"`, 500) + "; done",
		"a=" + long + "; echo " + strings.Repeat("$a ", 5000),
		"a=" + long + "; echo " + strings.Repeat("{$a,$a} ", 1500),
		"a=" + long + "; b=${a//x/yyyyyyyyyyyyyyyyyyyyyyyyyyyyy}; echo $b",
		"echo {1..99999}{1..99999}{1..99999}",
		"printf '%99999999999s' x",
		"for ((i=0;i<1000000000;i++)); do a=$a$a; done",
		moves("cd d%d;", 20),
		moves("cd d%d;", 2000),
		moves("pushd d%d;", 40),
		moves("cd a%[1]d || cd b%[1]d;", 40),
		moves("if x; then cd d%d; fi;", 40),
		moves("case x in a) cd d%d;; esac;", 40),
		moves("{ cd d%d; } >o;", 40),
		"cd /" + strings.Repeat("y/", 1500) + "; cat" + strings.Repeat(" x y", 3000),
		moves("cd d%d;", 10) + strings.Repeat(" a b c d e f", 2000),
		moves("LD_%d=1;", 1500) + strings.Repeat(";a", 7000),
		moves("alias a%d=b;", 1000) + strings.Repeat(";a", 7000),
		"find . " + strings.Repeat("-exec a {} \\; ", 2000),
		"A=1 " + strings.Repeat("B=1 ", 7000) + "x",
	}
}

// TestBounds checks that a short text takes little memory, and so little time.
func TestBounds(t *testing.T) {
	for _, text := range growing() {
		for _, dialect := range []Dialect{Bash, POSIX, Zsh} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			s := Parse(text, Options{Dir: "/w", Home: "/home/u", Dialect: dialect})
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > 256<<20 {
				t.Errorf("%.60q takes %d MiB", text, took>>20)
			}
			size := 0
			for i := range s.Commands {
				c := &s.Commands[i]
				size += len(c.Text())
				for _, f := range append(c.Reads, c.Writes...) {
					size += len(f.Path.Value) + len(f.Pattern)
				}
			}
			if size > 8<<20 {
				t.Errorf("%.60q becomes %d bytes", text, size)
			}
		}
	}
}

// TestManyDirectories checks that a directory counts as uncertain if there are too many candidates.
func TestManyDirectories(t *testing.T) {
	s := Parse(strings.Repeat("cd d;", 20)+"cat x", Options{Dir: "/w"})
	unknown := false
	for _, f := range s.Commands[len(s.Commands)-1].Reads {
		unknown = unknown || !f.Path.Known
	}
	if !unknown || s.Commands[len(s.Commands)-1].Dir != "" {
		t.Errorf("the directory is called known:%s", describe(s))
	}
}
