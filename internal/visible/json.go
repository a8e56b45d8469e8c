package visible

import (
	"fmt"
	"strings"
	"unicode/utf16"
)

// JSON returns the JSON text with invisible characters as \u escapes, which mean the same. Outside of strings JSON is
// plain ASCII, so every such character is in a string.
func JSON(line []byte) string {
	var b strings.Builder
	for _, r := range string(line) {
		switch s := string(r); {
		case r == '\n' || r < 0x7f && r >= 0x20 || Text(s) == s:
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
