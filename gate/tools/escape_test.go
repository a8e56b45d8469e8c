package tools

import (
	"strings"
	"testing"
	"unicode/utf8"

	"callgate/gate/tools/internal/wording"
	"callgate/internal/visible"
)

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"":                                "",
		"plain text, <b>&\"'\\n":          "plain text, <b>&\"'\\n",
		"größe 日本 🙂":                      "größe 日本 🙂",
		"a\nb":                            "a⟨U+000A⟩b",
		"a\tb\r\x00\x1b[31m\x7f":          "a⟨U+0009⟩b⟨U+000D⟩⟨U+0000⟩⟨U+001B⟩[31m⟨U+007F⟩",
		"x\u0085\u009b":                   "x⟨U+0085⟩⟨U+009B⟩",
		"\u202erm\u2066":                  "⟨U+202E⟩rm⟨U+2066⟩",
		"a\u200bb\u200db\ufeff":           "a⟨U+200B⟩b⟨U+200D⟩b⟨U+FEFF⟩",
		"a\u00a0b\u3000\u2028":            "a⟨U+00A0⟩b⟨U+3000⟩⟨U+2028⟩",
		"\u3164\u115f\u2800\ufe0f":        "⟨U+3164⟩⟨U+115F⟩⟨U+2800⟩⟨U+FE0F⟩",
		"\U000e0041":                      "⟨U+E0041⟩",
		"\ue000":                          "⟨U+E000⟩",
		"a\xffb":                          "a⟨0xFF⟩b",
		"\ufffd":                          "\ufffd",
		"e\u0301":                         "e\u0301",
		"e" + strings.Repeat("\u0301", 6): "e" + strings.Repeat("\u0301", 4) + "⟨U+0301⟩⟨U+0301⟩",
	} {
		if got := Visible(in); got != want {
			t.Errorf("Visible(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzVisible(f *testing.F) {
	for _, s := range []string{"plain", "a\nb", "\u202e", "\xff", "e\u0301\u0301\u0301\u0301\u0301\u0301"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := Visible(s)
		if !utf8.ValidString(out) {
			t.Errorf("%q is no UTF-8", out)
		}
		for _, r := range out {
			if !visible.Rune(r) {
				t.Errorf("%q holds %U", out, r)
			}
		}
		if again := Visible(out); again != out {
			t.Errorf("%q becomes %q", out, again)
		}
	})
}

func TestBounded(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{
		{"short", 10, "short"},
		{"0123456789", 10, "0123456789"},
		{"01234567890", 10, "0123456789… (1 bytes more)"},
		{"ééééé", 4, "éééé… (2 bytes more)"},
		{"ééééé", 8, "ééééé"},
		{"\n\n\n", 2, "⟨U+000A⟩⟨U+000A⟩… (1 bytes more)"},
	} {
		if got := wording.Bounded(c.in, c.limit); got != c.want {
			t.Errorf("bounded(%q, %d) = %q, want %q", c.in, c.limit, got, c.want)
		}
	}
}
