package output

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/retrieval"
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

// TestStaleHits checks that a file that has changed since it was indexed shows no lines.
func TestStaleHits(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	hits := []retrieval.Hit{
		{Root: here, Hit: rag.Hit{Path: "x/a.go", Stale: true}},
		{Root: filepath.Dir(here), Hit: rag.Hit{Path: "b.go", Stale: true, Gone: true}},
	}
	if err := Hits(&b, "", hits, false); err != nil {
		t.Fatal(err)
	}
	want := filepath.FromSlash("x/a.go") + "  0.00\n      the file has changed since it was indexed\n" +
		filepath.Join(filepath.Dir(here), "b.go") + "  0.00\n      the file was deleted since it was indexed\n"
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
