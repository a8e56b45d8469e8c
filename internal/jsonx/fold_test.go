package jsonx

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// foldCases holds names, and whether they are equal under case folding.
var foldCases = []struct {
	name, other string
	equal       bool
}{
	{"name", "name", true},
	{"name", "NAME", true},
	{"name", "nam", false},
	{"nam", "name", false},
	{"task", "ta\u017fk", true}, // long s
	{"k", "\u212a", true},       // Kelvin sign
	{"a-b_1", "A-B_1", true},
	{"@[`{", "`{@[", false},    // the characters beside the letters have no case
	{"größe", "GRÖSSE", false}, // simple folding maps one rune to one rune
	{"größe", "GRÖẞE", true},
	{"", "", true},
}

func TestFoldsTo(t *testing.T) {
	for _, c := range foldCases {
		if got := foldsTo(c.name, appendFolded(nil, []byte(c.other))); got != c.equal {
			t.Errorf("%q and %q: equal %v", c.name, c.other, got)
		}
	}
}

func FuzzFoldsTo(f *testing.F) {
	for _, c := range foldCases {
		f.Add(c.name, c.other)
	}
	f.Fuzz(func(t *testing.T, name, other string) {
		folded := appendFolded(nil, []byte(other))
		if got, want := foldsTo(name, folded), string(appendFolded(nil, []byte(name))) == string(folded); got != want {
			t.Errorf("%q and %q: %v, want %v", name, other, got, want)
		}
	})
}

var stringCases = []struct {
	raw, want string
	ok        bool
}{
	{`"plain"`, "plain", true},
	{`""`, "", true},
	{`"é\u0041\n"`, "éA\n", true},
	{`"a"b"`, "", false},
	{`"a`, "", false},
	{`"`, "", false},
	{`"\"`, "", false},
	{"\"a\nb\"", "", false},
	{"\"\xff\"", "", false},
	{`7`, "", false},
	{``, "", false},
}

func TestString(t *testing.T) {
	for _, c := range stringCases {
		if got, ok := String([]byte(c.raw)); ok != c.ok || ok && got != c.want {
			t.Errorf("String(%s) = %q, %v", c.raw, got, ok)
		}
	}
}

// String agrees with the library.
func FuzzString(f *testing.F) {
	for _, c := range stringCases {
		f.Add([]byte(c.raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, ok := String(raw)
		want, err := jsontext.AppendUnquote(nil, raw)
		if wantOK := err == nil && strings.HasPrefix(string(raw), `"`); ok != wantOK || ok && got != string(want) {
			t.Errorf("%q, %v; want %q, %v", got, ok, want, err)
		}
	})
}
