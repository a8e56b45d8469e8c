package pattern

import (
	"slices"
	"strings"
)

// Covers reports whether p matches everything that q matches. tightens and qTightens say that their rules deny or
// confirm.
func (p *Value) Covers(q *Value, tightens, qTightens bool) bool {
	switch {
	case p.All:
		return true
	case q.All:
		return false // q also matches if there is no value
	case p.Glob.text == q.Glob.text && (tightens || !qTightens):
		return true
	case p.argument != nil || q.argument != nil || p.whole != "" || q.whole != "":
		// An argument and the value can differ.
		return false
	}
	return p.Glob.Covers(q.Glob)
}

// Covers reports whether g matches every value that h matches.
func (g *Glob) Covers(h *Glob) bool {
	switch {
	case g.All() || g.text == h.text:
		return true
	case h.not != nil || g.expr != nil && len(g.expr.excludes) > 0:
		return false
	case g.not != nil:
		_, meet := g.not.Meets(h)
		return g.not.simple != nil && h.simple != nil && !meet
	}
	for _, p := range h.widened() {
		if slices.ContainsFunc(p.samples(g), func(sample string) bool { return !g.Match(sample) }) {
			return false
		}
	}
	return true
}

// Command returns a pattern for the bare name of a command, with any arguments.
func Command(bare string) *Glob {
	return &Glob{text: bare + " *", simple: []starPattern{{[]string{bare}}, {[]string{bare + " ", ""}}}}
}

// widened returns texts with `*` that together match at least everything that g matches. g MUST NOT be negated.
func (g *Glob) widened() []starPattern {
	if g.simple != nil {
		return g.simple
	}
	var p globParser
	tokens, err := p.parse(g.text, 0)
	if err != nil {
		return []starPattern{{parts: []string{"", ""}}}
	}
	tokens = optionalTail(tokens)
	for i := range tokens {
		switch tokens[i].kind {
		case tokShell, tokNot:
			tokens[i] = globToken{kind: tokStar}
		case tokHead:
			if i > 0 {
				tokens[i] = globToken{kind: tokStar}
			}
		}
	}
	simple, ok := starPatterns(tokens)
	if !ok {
		return []starPattern{{parts: []string{"", ""}}}
	}
	return simple
}

// nul stands for the text that `*` matches. No pattern contains it, so only a `*` matches it. If one text with `*`
// matches this sample of another, it matches everything that the other matches.
const nul = "\x00"

// maxSamples limits how many characters of a pattern are tried as samples if it has brackets or groups.
const maxSamples = 64

// samples returns values that p matches, enough to check whether g matches all of them.
func (p *starPattern) samples(g *Glob) []string {
	if len(p.parts) == 1 {
		return p.parts
	}
	list := []string{strings.Join(p.parts, nul)}
	if g.expr == nil {
		return list
	}
	list = append(list, strings.Join(p.parts, ""), strings.Join(p.parts, nul+"/"+nul+"\n"))
	for _, r := range g.text {
		if sample := strings.Join(p.parts, string(r)); len(list) < maxSamples && !slices.Contains(list, sample) {
			list = append(list, sample)
		}
	}
	return list
}

// Meets returns a value that both globs match. With brackets, groups or a leading ! on both sides it may miss one.
func (g *Glob) Meets(h *Glob) (value string, ok bool) {
	if g.simple != nil && h.simple != nil {
		for _, p := range g.simple {
			for _, q := range h.simple {
				if value, ok := p.meets(q); ok {
					return value, true
				}
			}
		}
		return "", false
	}
	for _, pair := range [][2]*Glob{{g, h}, {h, g}} {
		if pair[0].not != nil {
			continue
		}
		for _, p := range pair[0].widened() {
			for _, fill := range []string{"", "x", "a/b", "-x y"} {
				if value := strings.Join(p.parts, fill); g.Match(value) && h.Match(value) {
					return value, true
				}
			}
		}
	}
	return "", false
}

// maxIntersect limits the work of searching for a common value.
const maxIntersect = 1 << 16

// star stands for `*` among the bytes of a pattern.
const star = -1

// meets walks both patterns at once and returns a short value that both match. Above the limit it finds none.
func (p starPattern) meets(q starPattern) (string, bool) {
	if p.apart(q) {
		return "", false
	}
	a, b := p.flat(), q.flat()
	if len(a)*len(b) > maxIntersect {
		return "", false
	}
	m := intersection{a: a, b: b, dead: make([]bool, (len(a)+1)*(len(b)+1))}
	if !m.walk(0, 0) {
		return "", false
	}
	return string(m.value), true
}

// intersection is a search for a value that two patterns both match.
type intersection struct {
	a, b  []int
	dead  []bool // for each pair of positions: no common rest follows
	value []byte // the common text so far
}

// walk searches for a common text from position i of a and position j of b.
func (m *intersection) walk(i, j int) bool {
	a, b := m.a, m.b
	if i == len(a) && j == len(b) {
		return true
	}
	if m.dead[i*(len(b)+1)+j] {
		return false
	}
	aStar, bStar := i < len(a) && a[i] == star, j < len(b) && b[j] == star
	aText, bText := i < len(a) && !aStar, j < len(b) && !bStar
	// Try an empty star first, which keeps the value short.
	switch {
	case aText && bText && a[i] == b[j] && m.step(a[i], i+1, j+1),
		aStar && m.walk(i+1, j),
		bStar && m.walk(i, j+1),
		aStar && bText && m.step(b[j], i, j+1),
		bStar && aText && m.step(a[i], i+1, j):
		return true
	}
	m.dead[i*(len(b)+1)+j] = true
	return false
}

func (m *intersection) step(c, i, j int) bool {
	m.value = append(m.value, byte(c))
	if m.walk(i, j) {
		return true
	}
	m.value = m.value[:len(m.value)-1]
	return false
}

// apart reports whether the patterns begin or end differently, which is the usual reason for having no common value.
func (p starPattern) apart(q starPattern) bool {
	a, b := p.parts[0], q.parts[0]
	if n := min(len(a), len(b)); a[:n] != b[:n] {
		return true
	}
	a, b = p.parts[len(p.parts)-1], q.parts[len(q.parts)-1]
	n := min(len(a), len(b))
	return a[len(a)-n:] != b[len(b)-n:]
}

// flat returns the bytes of the pattern, with star for each `*`.
func (p starPattern) flat() []int {
	var list []int
	for i, part := range p.parts {
		if i > 0 {
			list = append(list, star)
		}
		for k := range len(part) {
			list = append(list, int(part[k]))
		}
	}
	return list
}
