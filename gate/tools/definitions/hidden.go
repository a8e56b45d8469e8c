package definitions

import (
	"fmt"
	"unicode"

	"callgate/internal/jsonx"
)

// Hidden returns the first character in the texts of a definition that a model reads and a person cannot see, as
// U+XXXX, or "". Line ends, tabs, soft hyphens and the joiners of emoji do not count.
func Hidden(definition []byte) (found string) {
	for text := range jsonx.Strings(definition) {
		for _, r := range text {
			switch r {
			case '\n', '\r', '\t', '\u200d', '\ufe0f', '\ufe0e', '\u00ad':
				continue
			}
			if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Variation_Selector, r) {
				return fmt.Sprintf("U+%04X", r)
			}
		}
	}
	return ""
}
