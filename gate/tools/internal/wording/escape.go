// Package wording bounds and quotes text from calls, so that it cannot change the meaning of sentences for people.
package wording

import (
	"fmt"
	"strings"

	"callgate/internal/visible"
)

// Visible returns s with everything that a person cannot see, or that changes how the rest is seen, in a visible
// notation: ⟨U+202E⟩, or ⟨0xFF⟩ for a byte that is not UTF-8. HTML needs its own escaping on top.
func Visible(s string) string { return visible.Text(s) }

// Bounds of quoted fields in sentences, in characters.
const (
	MaxField   = 120
	MaxSummary = 480
)

// Quote returns s visible, bounded and in quotes, for a sentence. The text cannot end its quotes: if it contains a
// double quote, it stands in “ ”, and these characters are escaped in it.
func Quote(s string) string {
	s = Bounded(s, MaxField)
	if !strings.Contains(s, `"`) {
		return `"` + s + `"`
	}
	return "“" + curlyQuotes.Replace(s) + "”"
}

var curlyQuotes = strings.NewReplacer("“", "⟨U+201C⟩", "”", "⟨U+201D⟩")

// Bounded returns s visible and not much longer than limit characters. It counts the bytes that are left out.
func Bounded(s string, limit int) string {
	if len(s) > limit {
		n := 0
		for i := range s {
			if n == limit {
				return Visible(s[:i]) + fmt.Sprintf("… (%d bytes more)", len(s)-i)
			}
			n++
		}
	}
	return Visible(s)
}
