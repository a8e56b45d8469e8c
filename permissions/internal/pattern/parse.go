package pattern

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/pattern"

	"callgate/internal/lazyregexp"
)

// globToken is one piece of a pattern. A simple pattern, or the text for mvdan.cc/sh/v3/pattern, is made from the
// tokens.
type globToken struct {
	kind globKind
	text string
}

type globKind uint8

const (
	tokLiteral globKind = iota // text is the unescaped text
	tokStar                    // any text
	tokHead                    // `**/` at the start of a path element: any text that ends in `/`, or nothing
	tokTail                    // text and anything after it, or nothing: ` *` or `/**` at the end
	tokShell                   // text is a shell pattern: a bracket or a group
	tokNot                     // `!(..)`; text holds the alternatives as a shell pattern, `a|b`
)

// globParser splits a pattern into tokens.
type globParser struct {
	branches int // alternatives seen so far, over all groups
}

// globTokens is the tokens of one sequence.
type globTokens []globToken

func (t *globTokens) add(kind globKind, text string) {
	if n := len(*t); n > 0 && (*t)[n-1].kind == kind {
		switch kind {
		case tokLiteral:
			(*t)[n-1].text += text
			return
		case tokStar:
			return
		}
	}
	*t = append(*t, globToken{kind, text})
}

// parse parses one sequence. At depth 0 it is the whole pattern, below that one alternative of a group.
func (p *globParser) parse(s string, depth int) ([]globToken, error) {
	if depth > maxGlobDepth {
		return nil, fmt.Errorf("nests groups deeper than %d", maxGlobDepth)
	}
	var tokens globTokens
	for i := 0; i < len(s); {
		n, err := p.next(&tokens, s, i, depth)
		if err != nil {
			return nil, err
		}
		i += n
	}
	return tokens, nil
}

// next parses the piece of s that begins at i and returns its length.
func (p *globParser) next(tokens *globTokens, s string, i, depth int) (n int, err error) {
	c := s[i]
	if strings.IndexByte("@?*+!", c) >= 0 && i+1 < len(s) && s[i+1] == '(' {
		token, n, err := p.group(s[i:], depth)
		if err == nil {
			*tokens = append(*tokens, token)
		}
		return n, err
	}
	switch c {
	case '\\':
		return escaped(tokens, s[i+1:])
	case '*':
		return stars(tokens, s, i, depth), nil
	case '?':
		tokens.add(tokShell, "[!/]")
		return 1, nil
	case '[':
		end, ok := bracketEnd(s, i)
		if !ok {
			tokens.add(tokLiteral, "[")
			return 1, nil
		}
		tokens.add(tokShell, bracket(s[i:end]))
		return end - i, nil
	case '{':
		return p.braces(tokens, s, i, depth)
	case '(':
		return 0, errors.New(`has a bare (; write @(a|b) for alternatives, \( for the character`)
	case '"':
		return 0, errors.New(`has a double quote; write \" for the character (\\\" inside a JSON string)`)
	}
	_, n = utf8.DecodeRuneInString(s[i:])
	tokens.add(tokLiteral, s[i:i+n])
	return n, nil
}

// escaped parses the character after a backslash.
func escaped(tokens *globTokens, s string) (n int, err error) {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return 0, errors.New(`ends in a lone backslash; write \\ for the character`)
	}
	if isAlnum(s[0]) {
		return 0, fmt.Errorf(`has \%c: a backslash escapes; write / between path elements, \\ for the character`, r)
	}
	tokens.add(tokLiteral, s[:n])
	return 1 + n, nil
}

// stars parses the stars at i, and the slash that belongs to them.
func stars(tokens *globTokens, s string, i, depth int) (n int) {
	n = len(s[i:]) - len(strings.TrimLeft(s[i:], "*"))
	if i+n < len(s) && s[i+n] == '(' {
		n-- // the last star opens a group
	}
	atElement := i == 0 && depth == 0 || i > 0 && s[i-1] == '/'
	switch {
	case n == 2 && atElement && strings.HasPrefix(s[i+n:], "/"):
		tokens.add(tokHead, "")
		return n + 1
	case n == 2 && depth == 0 && i+n == len(s) && i > 1 && s[i-1] == '/' && strings.IndexByte(`*\`, s[i-2]) < 0:
		dropLast((*[]globToken)(tokens), "/")
		tokens.add(tokTail, "/")
	default:
		tokens.add(tokStar, "")
	}
	return n
}

// braces parses the alternatives or the range that begins at i.
func (p *globParser) braces(tokens *globTokens, s string, i, depth int) (n int, err error) {
	parts, end, ok := split(s, i, ',')
	if !ok {
		return 0, errors.New(`has an unclosed {; write \{ for the character`)
	}
	if len(parts) == 1 {
		if parts, ok = expandRange(parts[0]); !ok {
			tokens.add(tokLiteral, "{")
			return 1, nil
		}
	}
	text, err := p.alternatives(parts, depth)
	if err != nil {
		return 0, err
	}
	tokens.add(tokShell, "@("+text+")")
	return end - i, nil
}

// group parses the extended group at the beginning of s and returns its length.
func (p *globParser) group(s string, depth int) (globToken, int, error) {
	parts, end, ok := split(s, 1, '|')
	if !ok {
		return globToken{}, 0, fmt.Errorf(`has an unclosed %s; write %c\( for the characters`, s[:2], s[0])
	}
	if s[0] == '!' && depth > 0 {
		return globToken{}, 0, errors.New("has !(..) inside another group; write one rule for each alternative")
	}
	text, err := p.alternatives(parts, depth)
	if err != nil {
		return globToken{}, 0, err
	}
	if s[0] == '!' {
		return globToken{tokNot, text}, end, nil
	}
	return globToken{tokShell, s[:2] + text + ")"}, end, nil
}

// alternatives writes the parts of a group as a shell pattern: a|b.
func (p *globParser) alternatives(parts []string, depth int) (string, error) {
	if p.branches += len(parts); p.branches > maxGlobBranches {
		return "", fmt.Errorf("has more than %d alternatives", maxGlobBranches)
	}
	var b strings.Builder
	for i, part := range parts {
		if i > 0 {
			b.WriteByte('|')
		}
		tokens, err := p.parse(part, depth+1)
		if err != nil {
			return "", err
		}
		for _, t := range tokens {
			writeShell(&b, t)
		}
	}
	return b.String(), nil
}

// writeShell writes a token as mvdan.cc/sh/v3/pattern reads it.
func writeShell(b *strings.Builder, t globToken) {
	switch t.kind {
	case tokLiteral:
		for i := range len(t.text) {
			if strings.IndexByte(`\*?[]()|!+@`, t.text[i]) >= 0 {
				b.WriteByte('\\')
			}
			b.WriteByte(t.text[i])
		}
	case tokStar:
		b.WriteByte('*')
	case tokHead:
		b.WriteString("@(|*/)")
	case tokTail:
		b.WriteString("@(|" + t.text + "*)")
	case tokShell:
		b.WriteString(t.text)
	case tokNot:
		b.WriteString("@(" + t.text + ")")
	}
}

// optionalTail makes a trailing ` *` also match without it.
func optionalTail(tokens []globToken) []globToken {
	n := len(tokens)
	if n < 2 || tokens[n-1].kind != tokStar || !endsIn(tokens[:n-1], " ") {
		return tokens
	}
	if n == 2 && tokens[0].text == " " {
		return tokens // there is no text before it
	}
	tokens = tokens[:n-1]
	dropLast(&tokens, " ")
	return append(tokens, globToken{tokTail, " "})
}

// starPatterns returns the patterns of text and `*` that the tokens are equivalent to. ok is false if there are none.
func starPatterns(tokens []globToken) ([]starPattern, bool) {
	variants := []starPattern{{parts: []string{""}}}
	star := func(p starPattern, after string) starPattern {
		return starPattern{append(p.parts[:len(p.parts):len(p.parts)], after)}
	}
	text := func(p starPattern, t string) starPattern {
		parts := append([]string(nil), p.parts...)
		parts[len(parts)-1] += t
		return starPattern{parts}
	}
	for i, t := range tokens {
		next := make([]starPattern, 0, 2*len(variants))
		for _, v := range variants {
			switch t.kind {
			case tokLiteral:
				next = append(next, text(v, t.text))
			case tokStar:
				next = append(next, star(v, ""))
			case tokHead:
				if i > 0 {
					return nil, false // each one would double the number of patterns
				}
				next = append(next, v, star(v, "/"))
			case tokTail:
				next = append(next, v, star(text(v, t.text), ""))
			default:
				return nil, false
			}
		}
		variants = next
	}
	return variants, true
}

// newExpression compiles tokens to regular expressions. The base reads each !(..) as `*`, so it matches everything that
// the rest of the pattern allows. One exclude for each !(..) removes what that group forbids.
func newExpression(tokens []globToken) (*expression, error) {
	base, err := tokensRegexp(tokens, -1)
	if err != nil {
		return nil, err
	}
	e := &expression{base: base}
	for i, t := range tokens {
		if t.kind != tokNot {
			continue
		}
		x, err := tokensRegexp(tokens, i)
		if err != nil {
			return nil, err
		}
		e.excludes = append(e.excludes, x)
	}
	return e, nil
}

// tokensRegexp compiles tokens. It reads the !(..) at index keep as its alternatives, and every other !(..) as `*`.
func tokensRegexp(tokens []globToken, keep int) (*regexp.Regexp, error) {
	var b strings.Builder
	for i, t := range tokens {
		if t.kind == tokNot && i != keep {
			t = globToken{kind: tokStar}
		}
		writeShell(&b, t)
	}
	source, err := pattern.Regexp(b.String(), pattern.EntireString|pattern.ExtendedOperators)
	if err != nil {
		return nil, fmt.Errorf("is not a pattern: %w", err)
	}
	re, err := regexp.Compile(source)
	if err != nil {
		return nil, fmt.Errorf("is not a pattern: %w", err)
	}
	return re, nil
}

// bracket rewrites a bracket expression. A negated one never matches `/`. A plain list of characters also matches its
// own text, as in picomatch: file names such as "[id].ts" are common.
func bracket(s string) string {
	inner := s[1 : len(s)-1]
	if inner[0] == '!' || inner[0] == '^' {
		inner = inner[1:]
		if inner[0] == ']' || inner[0] == '-' {
			inner = `\` + inner
		}
		return "[!/" + inner + "]"
	}
	if strings.ContainsAny(inner, `-*+?.^${}(|)[]\!`) {
		return s
	}
	return "@(" + s + `|\[` + inner + `\])`
}

// bracketEnd returns the index after the bracket expression that begins at s[i], if it is closed.
func bracketEnd(s string, i int) (int, bool) {
	i++
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		i++
	}
	if i < len(s) && s[i] == ']' {
		i++
	}
	for i < len(s) {
		switch s[i] {
		case '\\':
			i++
		case '[':
			if i+1 < len(s) && strings.IndexByte(":.=", s[i+1]) >= 0 {
				if n := strings.Index(s[i+2:], s[i+1:i+2]+"]"); n >= 0 {
					i += 2 + n + 1
				}
			}
		case ']':
			return i + 1, true
		}
		i++
	}
	return 0, false
}

// split splits the group that opens at s[i] at sep, which counts only outside inner groups, brackets and escapes. end
// is the index after the group. ok is false if the group is not closed.
func split(s string, i int, sep byte) (parts []string, end int, ok bool) {
	closers := []byte{closerOf(s[i])}
	i++
	start := i
	for i < len(s) {
		switch c := s[i]; c {
		case '\\':
			i++
		case '[':
			if end, ok := bracketEnd(s, i); ok {
				i = end
				continue
			}
		case '(', '{':
			closers = append(closers, closerOf(c))
		case closers[len(closers)-1]:
			if closers = closers[:len(closers)-1]; len(closers) == 0 {
				return append(parts, s[start:i]), i + 1, true
			}
		case sep:
			if len(closers) == 1 {
				parts = append(parts, s[start:i])
				start = i + 1
			}
		}
		i++
	}
	return nil, 0, false
}

func closerOf(open byte) byte {
	if open == '(' {
		return ')'
	}
	return '}'
}

// rangeSyntax matches the inside of a brace range. Eighteen digits always fit an int64, and so does a step beyond them.
var rangeSyntax = lazyregexp.New(`^(?:(-?[0-9]{1,18})\.\.(-?[0-9]{1,18})|([A-Za-z])\.\.([A-Za-z]))(?:\.\.(-?[0-9]{1,18}))?$`)

// expandRange expands the inside of a brace range, "1..3" or "a..e..2", as bash does. ok is false if s is not a range.
// A range with too many members is cut off, but still has enough for the caller's limit to refuse it.
func expandRange(s string) (parts []string, ok bool) {
	m := rangeSyntax.FindStringSubmatch(s)
	if m == nil {
		return nil, false
	}
	step, err := strconv.ParseInt(cmp.Or(m[5], "1"), 10, 64)
	if err != nil {
		return nil, false
	}
	if m[3] != "" {
		for n := range sequence(int64(m[3][0]), int64(m[4][0]), step) {
			parts = append(parts, Quote(string(rune(n))))
		}
		return parts, true
	}
	from, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return nil, false
	}
	to, err := strconv.ParseInt(m[2], 10, 64)
	if err != nil {
		return nil, false
	}
	width := 0
	if zeroPadded(m[1]) || zeroPadded(m[2]) {
		width = max(len(m[1]), len(m[2]))
	}
	for n := range sequence(from, to, step) {
		parts = append(parts, fmt.Sprintf("%0*d", width, n))
	}
	return parts, true
}

// sequence counts from one number to another in either direction. It stops just above the limit on alternatives.
func sequence(from, to, step int64) iter.Seq[int64] {
	step = max(1, step, -step)
	return func(yield func(int64) bool) {
		n, down := from, from > to
		for range maxGlobBranches + 1 {
			if down && n < to || !down && n > to || !yield(n) {
				return
			}
			if down {
				n -= step
			} else {
				n += step
			}
		}
	}
}

func zeroPadded(s string) bool {
	s = strings.TrimPrefix(s, "-")
	return len(s) > 1 && s[0] == '0'
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isAlnum(c byte) bool { return isLetter(c) || '0' <= c && c <= '9' }

// endsIn reports whether tokens end in literal text that ends in suffix.
func endsIn(tokens []globToken, suffix string) bool {
	n := len(tokens)
	return n > 0 && tokens[n-1].kind == tokLiteral && strings.HasSuffix(tokens[n-1].text, suffix)
}

// dropLast removes suffix, which MUST be the end of the tokens.
func dropLast(tokens *[]globToken, suffix string) {
	last := &(*tokens)[len(*tokens)-1]
	if last.text = strings.TrimSuffix(last.text, suffix); last.text == "" {
		*tokens = (*tokens)[:len(*tokens)-1]
	}
}
