package facts

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestLinks checks that Links finds what the expression finds in the whole text.
func TestLinks(t *testing.T) {
	check := func(t rapid.TB, text string, n int) {
		if got, want := Links(text, n), links.FindAllString(text, n); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	check(t, strings.Repeat("see HTTP://a.example/b, ", 30), 16)
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.StringMatching(`(?i)https?|[a\x{212a}]|://|www\.|[ "(|é\x{2028}.+1_:/\t\x60]`), 0, 12).Draw(t, "parts")
		check(t, strings.Join(parts, ""), rapid.IntRange(1, 3).Draw(t, "n"))
	})
}
