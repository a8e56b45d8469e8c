package pattern

import (
	"testing"

	"pgregory.net/rapid"
)

// coverCases say whether the first pattern covers the second, and which value both match ("" for none).
var coverCases = []struct {
	g, h   string
	covers bool
	meet   string
}{
	{"*", "x", true, "x"},
	{"x", "*", false, "x"},
	{"*", "?", true, "x"},
	{"*.env", "*.env", true, ".env"},
	{"*.env", "a.env", true, "a.env"},
	{"*.env", "src/*", false, "src/.env"},
	{"src/*", "*.env", false, "src/.env"},
	{"src/**", "src/*", true, "src/"},
	{"*.env.*", "*.env.example", true, ".env.example"},
	{"*.env.example", "*.env.*", false, ".env.example"},
	{"git *", "git push *", true, "git push"},
	{"git *", "git @(status|diff) *", true, ""},
	{"git push *", "git *", false, "git push"},
	{"git push *", "git push", true, "git push"},
	{"git push", "git push *", false, "git push"},
	{"a*b", "ab*", false, "ab"},
	{"a*b*c", "a*c*b*c", true, "abcbc"},
	{"a*c*b*c", "a*b*c", false, "acbc"},
	{"{a,b}_x", "a_x", true, "a_x"},
	{"?*", "*", false, "xx"},
	{"[!a]*", "*", false, "xx"},
	{"*[!a]", "*b*", false, "a/ba/b"},
	{"!(a)", "*", false, ""},
	{"!a*", "b*", true, "b"},
	{"!a*", "*b", false, "b"},
	{"!*.ts", "*.ts", false, ""},
	{"*", "!a", true, ""},
	{"a", "b", false, ""},
	{"a*", "b*", false, ""},
	{"*a", "*b", false, ""},
}

func TestGlobsCoverAndMeet(t *testing.T) {
	for _, c := range coverCases {
		g, h := mustGlob(t, c.g), mustGlob(t, c.h)
		if got := g.Covers(h); got != c.covers {
			t.Errorf("%q covers %q: %v", c.g, c.h, got)
		}
		value, ok := g.Meets(h)
		if c.meet != "" && value != c.meet {
			t.Errorf("%q and %q meet in %q, want %q", c.g, c.h, value, c.meet)
		}
		if ok && (!g.Match(value) || !h.Match(value)) {
			t.Errorf("%q and %q do not both match %q", c.g, c.h, value)
		}
	}
}

// drawText draws patterns of few letters, so that values match them.
func drawText(t *rapid.T, label string) string {
	return rapid.StringMatching(`[ab*/ ]{1,5}`).Draw(t, label)
}

func TestWhatIsCoveredIsMatched(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, err := Compile(drawText(t, "g"))
		if err != nil {
			t.Skip(err)
		}
		h, err := Compile(drawText(t, "h"))
		if err != nil {
			t.Skip(err)
		}
		value := rapid.StringMatching(`[ab/ ]{0,6}`).Draw(t, "value")
		if g.Covers(h) && h.Match(value) && !g.Match(value) {
			t.Fatalf("%q is said to cover %q, but only the second matches %q", g, h, value)
		}
		common, meet := g.Meets(h)
		if meet && (!g.Match(common) || !h.Match(common)) {
			t.Fatalf("%q and %q are said to meet in %q", g, h, common)
		}
		if !meet && g.Match(value) && h.Match(value) {
			t.Fatalf("%q and %q are said not to meet, but both match %q", g, h, value)
		}
	})
}
