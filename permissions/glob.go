package permissions

import "callgate/permissions/internal/pattern"

// Glob is a compiled pattern, as docs/permissions.md describes it: `*` crosses `/`, alternatives and extended groups
// work as in bash, and a match covers the whole value.
type Glob = pattern.Glob

// CompileGlob compiles a pattern. The error says what is not supported and what to write instead.
func CompileGlob(text string) (*Glob, error) { return pattern.Compile(text) }

// QuoteGlob returns a pattern that matches exactly s as a value, in permissions.jsonc and in a grant.
func QuoteGlob(s string) string { return pattern.Quote(s) }

// QuoteArguments returns a pattern that matches exactly these arguments of a call, in any order and spelling. ok is
// false if they are not a JSON object.
func QuoteArguments(object []byte) (text string, ok bool) {
	text, ok = pattern.Exactly(object)
	return pattern.Quote(text), ok
}

// Texts splits a pattern into texts in which `*` is the only wildcard and stands for any characters. Together they
// match what the pattern matches. A text that ends in " *" also matches without that end. ok is false for patterns that
// cannot be written so: negations, brackets, arguments, and texts with a literal star.
func Texts(text string) (texts []string, ok bool) { return pattern.Texts(text) }
