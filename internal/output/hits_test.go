package output

import (
	"strings"
	"testing"

	"callgate/rag"
)

func TestHighlight(t *testing.T) {
	p := hitPrinter{palette: true, words: queryWords("refresh the Token, x")}
	var b strings.Builder
	p.print(&b, &rag.Hit{Path: "a.go", Start: 7, End: 9, Symbol: "f", Text: "one\nrefreshToken()\x1b[2J\nthree"}, false)
	want := "\x1b[1ma.go\x1b[0m:7-9  \x1b[32mf\x1b[0m  \x1b[90m0.00\x1b[0m\n" +
		"\x1b[90m    7\x1b[0m one\n" +
		"\x1b[90m    8\x1b[0m \x1b[1;31mrefresh\x1b[0m\x1b[1;31mToken\x1b[0m()⟨U+001B⟩[2J\n" +
		"\x1b[90m    9\x1b[0m three\n\n"
	if b.String() != want {
		t.Errorf("got  %q\nwant %q", b.String(), want)
	}
}

func TestBar(t *testing.T) {
	for _, c := range []struct {
		done, total int
		want        string
	}{{0, 0, "[........................]"}, {1, 2, "[############............]"}, {9, 3, "[########################]"}} {
		if got := bar(c.done, c.total); got != c.want {
			t.Errorf("bar of %d/%d is %s", c.done, c.total, got)
		}
	}
}
