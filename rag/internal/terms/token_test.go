package terms

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// tokens lists cases of the tokenizer: text, parts, whole identifiers.
var tokens = []struct {
	text         string
	parts, whole string
}{
	{"", "", ""},
	{"parse", "parse", ""},
	{"parseHTTPHeader", "parse http header", "parsehttpheader"},
	{"snake_case_name", "snake case name", "snake_case_name"},
	{"SCREAMING_SNAKE", "screaming snake", "screaming_snake"},
	{"_private", "private", ""},
	{"__init__", "init", ""},
	{"utf8Decoder", "utf 8 decoder", "utf8decoder"},
	{"x86_64", "x 86 64", "x86_64"},
	{"IDs", "i ds", "ids"},
	{"a.b.Conn->Close()", "a b conn close", ""},
	{"$scope jQuery$", "scope j query", "jquery"},
	{"don't", "don t", ""},
	{"Größe ÜBER", "größe über", ""},
	{"日本語 text", "日 日本 本 本語 語 text", ""},
	{"\xff\xfe bad", "\ufffd\ufffd bad", ""},
	{strings.Repeat("a", 65) + " b", "b", ""},
	{strings.Repeat("a", 64), strings.Repeat("a", 64), ""},
}

func tokensOf(text string) (parts, whole []string) {
	Tokenize(text, func(b []byte) { parts = append(parts, string(b)) }, func(b []byte) { whole = append(whole, string(b)) })
	return parts, whole
}

func TestTokenize(t *testing.T) {
	for _, c := range tokens {
		parts, whole := tokensOf(c.text)
		if got := strings.Join(parts, " "); got != c.parts {
			t.Errorf("parts of %q = %q, want %q", c.text, got, c.parts)
		}
		if got := strings.Join(whole, " "); got != c.whole {
			t.Errorf("whole of %q = %q, want %q", c.text, got, c.whole)
		}
	}
}

func FuzzTokenize(f *testing.F) {
	for _, c := range tokens {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parts, whole := tokensOf(text)
		for _, token := range slices.Concat(parts, whole) {
			if token == "" || len(token) > maxToken {
				t.Fatalf("token %q of %q", token, text)
			}
			if token != strings.ToLower(token) && utf8.ValidString(text) {
				t.Fatalf("token %q of %q is not in lower case", token, text)
			}
			if strings.ContainsAny(token, " \t\n.,()") {
				t.Fatalf("token %q of %q has a separator", token, text)
			}
			Stem(token)
		}
		// The parts of plain words must not depend on case or joiners.
		again, _ := tokensOf(strings.Join(parts, " "))
		if !slices.Equal(parts, again) && !slices.ContainsFunc(parts, func(p string) bool {
			return p != strings.ToLower(p) || strings.ContainsFunc(p, func(r rune) bool { return r >= utf8.RuneSelf })
		}) {
			t.Fatalf("parts of parts of %q: %q, then %q", text, parts, again)
		}
	})
}

func TestStem(t *testing.T) {
	for word, want := range map[string]string{"running": "run", "indexes": "index", "parsed": "pars", "parser": "parser", "a": "a", "": ""} {
		if got := Stem(word); got != want {
			t.Errorf("Stem(%q) = %q, want %q", word, got, want)
		}
	}
}
