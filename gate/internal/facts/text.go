package facts

import (
	"encoding/binary"
	"strings"
	"unicode/utf8"

	"callgate/internal/address"
	"callgate/internal/jsonx"
)

// Text is one string of a call's arguments in the forms in which it is searched. Arguments can be long, whole files
// say, and the call waits for this: each form is made once.
type Text struct {
	Said  string
	Lower string
	ascii bool
}

// TextsOf returns every string in the arguments, names included.
func TextsOf(arguments []byte) (texts []Text) {
	for said := range jsonx.Strings(arguments) {
		texts = append(texts, Text{Said: said, Lower: strings.ToLower(said), ascii: isASCII([]byte(said))})
	}
	return texts
}

// Plain is the text as address.Plain makes it.
func (t Text) Plain() string {
	if t.ascii && strings.IndexByte(t.Said, '%') < 0 {
		return t.Lower
	}
	return address.Plain(t.Said)
}

// isASCII looks at eight bytes at a time.
func isASCII(b []byte) bool {
	const high = 0x8080808080808080
	for ; len(b) >= 8; b = b[8:] {
		if binary.NativeEndian.Uint64(b)&high != 0 {
			return false
		}
	}
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
