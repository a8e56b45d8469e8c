// Package visible makes text from calls and servers safe to show to people. The text cannot hide anything, move the
// cursor, or change how the rest is read.
package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns s with everything that a person cannot see, or that changes how the rest appears, in a visible notation:
// controls, line breaks, bidirectional and other format characters, blanks other than the plain space, invisible
// letters, bytes that are not UTF-8, and marks piled on one letter. All text from calls and servers is escaped with it,
// wherever it is shown; HTML needs its own escaping on top.
//
// The notation is ⟨U+202E⟩, or ⟨0xFF⟩ for a byte. Backslashes stay single, so that paths and commands stay readable.
func Text(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	marks := 0
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if unicode.Is(unicode.M, r) {
			marks++
		} else {
			marks = 0
		}
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, "⟨0x%02X⟩", s[i])
		case marks > maxMarks || !Rune(r):
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		default:
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

// maxMarks is how many combining marks in a row real scripts need at most.
const maxMarks = 4

// plain reports whether s is printable ASCII, as it nearly always is.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

// Rune reports whether r is visible as itself.
func Rune(r rune) bool {
	switch {
	case !unicode.IsPrint(r): // controls, formats, surrogates, private use, blanks other than the space
		return false
	case unicode.Is(unicode.Variation_Selector, r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
		return false
	case r == 0x2800: // the blank Braille pattern
		return false
	}
	return true
}

// Shorten returns the first n runes of s, with an ellipsis if there are more.
func Shorten(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i] + "…"
		}
	}
	return s
}
