package arguments

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"callgate/internal/jsonx"
)

// Caps of one call. What is over a cap is refused, since nobody would look at it.
const (
	MaxArguments = 1000 // values of roles, all arguments together
	MaxPath      = 4096 // bytes
	MaxDepth     = 32   // of objects in the arguments of a tool that nobody mapped
)

// LooksPacked reports whether text begins as JSON that holds others does.
func LooksPacked(s string) bool {
	s = strings.TrimSpace(s)
	return s != "" && (s[0] == '[' || s[0] == '{' || s[0] == '"')
}

// Unpacked returns the texts in JSON that a text holds, at any depth, names included and texts in texts; none
// when it is not JSON.
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
