package permissions

import (
	"slices"
	"strings"
)

// Texts writes a pattern as texts in which `*` is the only wildcard and stands for any characters: together they match
// what the pattern matches. A text that ends in " *" matches without that end, too. ok is false for patterns that no such
// texts say: negations, brackets, arguments, and texts with a star that is none.
func Texts(pattern string) (texts []string, ok bool) {
	p, err := compileValue(pattern)
	if err != nil || p.argument != nil {
		return nil, false
	}
	for _, part := range p.alternatives() {
		if part.value.simple == nil {
			return nil, false
		}
		for _, simple := range part.value.simple {
			if slices.ContainsFunc(simple.parts, func(s string) bool { return strings.Contains(s, "*") }) {
				return nil, false
			}
			texts = append(texts, strings.Join(simple.parts, "*"))
		}
	}
	return slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return slices.Contains(texts, text+" *") }), true
}
