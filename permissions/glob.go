package permissions

import "callgate/permissions/internal/pattern"

// A Glob is a compiled pattern, as docs/permissions.md describes it: `*` crosses `/`, alternatives and extended groups
// work as in bash, and the match covers the whole value.
type Glob = pattern.Glob

// CompileGlob reads a pattern. The error says what is not supported and what to write instead.
func CompileGlob(text string) (*Glob, error) { return pattern.Compile(text) }

// QuoteGlob returns a pattern that matches exactly s, wherever patterns are read: as a value, in permissions.jsonc, in
// a grant. Grants of an exact text use it.
func QuoteGlob(s string) string { return pattern.Quote(s) }

// QuoteArguments returns a pattern that matches exactly these arguments of a call, in whatever order and spelling they
// come. ok is false when they are no JSON object.
func QuoteArguments(object []byte) (text string, ok bool) {
	text, ok = pattern.Exactly(object)
	return pattern.Quote(text), ok
}

// Texts writes a pattern as texts in which `*` is the only wildcard and stands for any characters: together they match
// what the pattern matches. A text that ends in " *" matches without that end, too. ok is false for patterns that no
// such texts say: negations, brackets, arguments, and texts with a star that is none.
func Texts(text string) (texts []string, ok bool) { return pattern.Texts(text) }
