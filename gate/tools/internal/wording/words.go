package wording

import (
	"strings"

	"callgate/internal/visible"
)

func IsControl(r rune) bool { return r < 0x20 || r == 0x7f }

func Set(s string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		set[w] = true
	}
	return set
}

// WithoutIgnored drops format characters and others that show as nothing.
func WithoutIgnored(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 0x80 && !visible.Rune(r) {
			return -1
		}
		return r
	}, s)
}

func IsASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
