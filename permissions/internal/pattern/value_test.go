package pattern

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestAlternativesMatchWhatThePatternMatches checks that expanded braces together match what the whole pattern matches.
func TestAlternativesMatchWhatThePatternMatches(t *testing.T) {
	word := rapid.SampledFrom([]string{"", "a", "b", "ab", "a*", "*", "**", "a/b", "**/a", ".", "!a", " *", "/*"})
	rapid.Check(t, func(t *rapid.T) {
		text := ""
		for range rapid.IntRange(1, 4).Draw(t, "pieces") {
			text += word.Draw(t, "word")
			if rapid.Bool().Draw(t, "braces") {
				text += "{" + strings.Join(rapid.SliceOfN(word, 2, 3).Draw(t, "alternatives"), ",") + "}"
			}
			text += rapid.SampledFrom([]string{"", "/", " ", "/**", " *"}).Draw(t, "between")
		}
		p, err := CompileValue(text)
		if err != nil || p.parts == nil {
			return
		}
		for _, v := range rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "/", " ", ".", "!"}), 0, 8).Draw(t, "value"), "")
		}), 20, 20).Draw(t, "values") {
			if whole, any := p.Glob.Match(v), slices.ContainsFunc(p.parts, func(q *Value) bool { return q.Glob.Match(v) }); whole != any {
				t.Fatalf("%q as a whole on %q: %v, by its alternatives: %v", text, v, whole, any)
			}
		}
	})
}
