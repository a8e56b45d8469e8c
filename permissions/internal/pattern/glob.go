package pattern

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Glob is a compiled pattern. It reads patterns as picomatch does with {dot: true, bash: true}: `*` crosses `/` and
// leading dots, `?` is one character other than `/`, `[..]` is a bracket expression, `{a,b}` and `{1..9}` are
// alternatives, `@() ?() *() +() !()` are extended groups, a leading `!` negates the whole, and a backslash escapes the
// next character. A match covers the whole value and is case-sensitive.
//
// mvdan.cc/sh/v3/pattern writes the regular expressions. It reads braces literally, refuses `!(..)`, and knows either
// paths (where `*` stops at `/`) or plain text (where `?` and `[^a]` match `/`). So the pattern is rewritten first, see
// globParser: braces become `@(..)`, `?` becomes `[!/]`, a negated bracket excludes `/` too, and each `!(..)` gets its
// own regular expression.
//
// Intended differences from picomatch:
//   - `*` matches line breaks and the path elements `.` and `..`: a deny MUST NOT be dodged by a newline in
//     a command or by `../`.
//   - A trailing ` *` also matches without it: "git push *" covers the bare "git push".
//   - `[!a]` negates, as in bash; picomatch reads it as "! or a".
//   - `!(x)` excludes every value that the pattern would match with x in its place, however the wildcards
//     around it divide the value; picomatch looks for one division that escapes.
//   - `{1..10}` are the numbers from 1 to 10; picomatch makes it the character class [1-10].
//   - A leading `./` is part of the pattern: "./run *" and "run *" are different programs.
//   - No trailing `/` is added to what the pattern says, and the empty value is a value.
//   - A repeated group is one however its alternatives overlap; picomatch reads some as plain text.
//   - A character is a code point; picomatch counts UTF-16 units.
//
// Patterns that are read in surprising ways are refused, with an error that says what to write instead: bare
// parentheses, unescaped double quotes, an unclosed `{`, a backslash before a letter, digit or the end.
type Glob struct {
	text   string
	simple []starPattern // alternatives of literals and `*`; set unless expr or not is
	expr   *expression   // set if the pattern needs regular expressions
	not    *Glob         // set if the pattern is `!` and this glob
	needs  signature     // the signature that every matching value has
}

// Limits on one pattern, the first two in bytes. A text of literals and `*` may be long, because a grant can hold one
// exact command. A pattern that needs a regular expression may not.
const (
	maxGlobText     = 64 << 10
	maxGlobRegexp   = 2 << 10
	maxGlobBranches = 1000
	maxGlobDepth    = 8
)

// Compile compiles a pattern. The error says what is not supported and what to write instead.
func Compile(pattern string) (*Glob, error) {
	g, err := compileGlob(pattern)
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", Abbreviate(pattern), err)
	}
	return g, nil
}

func compileGlob(pattern string) (*Glob, error) {
	switch {
	case pattern == "":
		return nil, errors.New("is empty; write \"*\" for every value")
	case len(pattern) > maxGlobText:
		return nil, fmt.Errorf("is longer than %d bytes", maxGlobText)
	case !utf8.ValidString(pattern):
		return nil, errors.New("is not valid UTF-8")
	case strings.Contains(pattern, "\x00"):
		return nil, errors.New("has a NUL byte")
	}
	if rest, ok := strings.CutPrefix(pattern, "!"); ok && !strings.HasPrefix(rest, "(") {
		if strings.HasPrefix(rest, "!") {
			return nil, errors.New(`begins with "!!"; write one ! to negate, \! for the character`)
		}
		inner, err := compileGlob(rest)
		if err != nil {
			return nil, err
		}
		return &Glob{text: pattern, not: inner}, nil
	}

	var p globParser
	tokens, err := p.parse(pattern, 0)
	if err != nil {
		return nil, err
	}
	tokens = optionalTail(tokens)
	if simple, ok := starPatterns(tokens); ok {
		return &Glob{text: pattern, simple: simple, needs: tokensSignature(tokens)}, nil
	}
	if len(pattern) > maxGlobRegexp {
		return nil, fmt.Errorf("is longer than %d bytes; only text with * may be", maxGlobRegexp)
	}
	expr, err := newExpression(tokens)
	if err != nil {
		return nil, err
	}
	return &Glob{text: pattern, expr: expr, needs: tokensSignature(tokens)}, nil
}

// Match reports whether the pattern matches the whole of s. For a pattern of text and `*` it does not allocate.
func (g *Glob) Match(s string) bool {
	switch {
	case g.not != nil:
		return !g.not.Match(s)
	case g.expr != nil:
		return g.expr.match(s)
	}
	for i := range g.simple {
		if g.simple[i].match(s) {
			return true
		}
	}
	return false
}

// String returns the pattern as it was written.
func (g *Glob) String() string { return g.text }

// All reports whether the pattern is one that matches every value: "*", "**".
func (g *Glob) All() bool {
	return len(g.simple) == 1 && len(g.simple[0].parts) > 1 && strings.Join(g.simple[0].parts, "") == ""
}

// IsLiteral reports whether the pattern matches only one value.
func (g *Glob) IsLiteral() bool { return len(g.simple) == 1 && len(g.simple[0].parts) == 1 }

// Filled returns the alternatives of a pattern of text and `*`, with fill for each star; nil for other patterns.
func (g *Glob) Filled(fill string) (texts []string) {
	for _, p := range g.simple {
		texts = append(texts, strings.Join(p.parts, fill))
	}
	return texts
}

// starPattern is a text in which `*` separates the parts.
type starPattern struct{ parts []string }

func (p *starPattern) match(s string) bool {
	last := len(p.parts) - 1
	if last == 0 {
		return s == p.parts[0]
	}
	rest, ok := strings.CutPrefix(s, p.parts[0])
	if !ok {
		return false
	}
	if rest, ok = strings.CutSuffix(rest, p.parts[last]); !ok {
		return false
	}
	// The leftmost match of each part leaves the most room for the parts after it.
	for _, part := range p.parts[1:last] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return true
}

// expression is a pattern that needs regular expressions. It matches what base matches and no exclude matches.
type expression struct {
	base     *regexp.Regexp
	excludes []*regexp.Regexp
}

func (e *expression) match(s string) bool {
	if !e.base.MatchString(s) {
		return false
	}
	return !slices.ContainsFunc(e.excludes, func(x *regexp.Regexp) bool { return x.MatchString(s) })
}

// globMeta lists what Quote escapes: characters that have a meaning in patterns, and `=`, which could turn the text
// into an argument pattern.
const globMeta = `\*?[]{}()!+@|"=`

// Quote returns a pattern that matches exactly s as a value, in permissions.jsonc and in a grant.
func Quote(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 8)
	for i := range len(s) {
		// A leading ~ or $ could be read as the home directory.
		if strings.IndexByte(globMeta, s[i]) >= 0 || i == 0 && (s[i] == '~' || s[i] == '$') {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// Abbreviate shortens a long pattern for a message.
func Abbreviate(s string) string {
	const limit = 120
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// Texts splits a pattern into texts in which `*` is the only wildcard and stands for any characters. Together they
// match what the pattern matches. A text that ends in " *" also matches without that end. ok is false for patterns that
// cannot be written so: negations, brackets, arguments, and texts with a literal star.
func Texts(pattern string) (texts []string, ok bool) {
	p, err := CompileValue(pattern)
	if err != nil || p.HasArgument() {
		return nil, false
	}
	for _, part := range p.Alternatives() {
		if part.Glob.simple == nil {
			return nil, false
		}
		for _, simple := range part.Glob.simple {
			if slices.ContainsFunc(simple.parts, func(s string) bool { return strings.Contains(s, "*") }) {
				return nil, false
			}
			texts = append(texts, strings.Join(simple.parts, "*"))
		}
	}
	return slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return slices.Contains(texts, text+" *") }), true
}
