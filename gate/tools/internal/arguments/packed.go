package arguments

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"callgate/internal/jsonx"
)

// Caps of one call. A call over one is refused or asks, because nobody looks at the rest.
const (
	MaxArguments = 1000 // values of roles, all arguments together
	MaxPath      = 4096 // bytes
	MaxDepth     = 32   // of objects in the arguments of a tool that nobody mapped
)

// LooksPacked reports whether text begins like JSON that holds other texts.
func LooksPacked(s string) bool {
	s = strings.TrimSpace(s)
	return s != "" && (s[0] == '[' || s[0] == '{' || s[0] == '"')
}

// Unpacked returns the texts in JSON that a text holds, at any depth, names and texts within texts included. It returns
// none if the text is not JSON.
func Unpacked(s string) (inner []string) {
	for level := []string{s}; len(level) > 0; {
		var next []string
		for _, s := range level {
			if !LooksPacked(s) || !jsontext.Value(s).IsValid() {
				continue
			}
			for text := range jsonx.Strings([]byte(s)) {
				if next = append(next, text); len(inner)+len(next) > MaxArguments {
					break
				}
			}
		}
		inner, level = append(inner, next...), next
	}
	return inner
}
