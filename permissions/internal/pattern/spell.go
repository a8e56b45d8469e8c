package pattern

import "strings"

// Spells returns how many leading bytes of a matching text the pattern spells out, literally or as one of its
// alternatives. word counts the last word whole if the pattern ends it with "/", ":" or "=": ./scripts/* names the
// program by its folder. whole means that the pattern, without wildcards, matches only this text.
func (p *Value) Spells(text string) (exact, word int, whole bool) {
	for i := range p.spelled {
		alternative := &p.spelled[i]
		if !alternative.match(text) {
			continue
		}
		n := len(alternative.parts[0])
		if n == len(text) {
			return n, n, len(alternative.parts) == 1 && !p.tail
		}
		exact = max(exact, n)
		word = max(word, wordEnd(text, n))
	}
	return exact, word, false
}

// wordEnd returns the end of the word in which the first n bytes of text end, if they end in a separator after
// something that names the word. Otherwise it returns n.
func wordEnd(text string, n int) int {
	head := text[:n]
	if n == 0 || strings.IndexByte("/:=", head[n-1]) < 0 ||
		strings.IndexFunc(head[strings.LastIndexByte(head, ' ')+1:], isWordRune) < 0 {
		return n
	}
	if i := strings.IndexByte(text[n:], ' '); i >= 0 {
		return n + i
	}
	return len(text)
}

func isWordRune(r rune) bool {
	return r > 0x7f || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
}

// spelling returns texts with `*` that together match everything that g matches, and that contain literally what g
// spells out: "git @(push|pull) *" becomes "git push *" and "git pull *". It returns nil if g spells nothing out.
func (g *Glob) spelling() []starPattern {
	if g.not != nil || g.simple != nil {
		return g.simple
	}
	var p globParser
	tokens, err := p.parse(g.text, 0)
	if err != nil {
		return nil
	}
	list, ok := spelledTokens(optionalTail(tokens), 0)
	if !ok {
		return nil
	}
	return list
}

// spelledTokens expands alternatives. ok is false if there are too many.
func spelledTokens(tokens []globToken, depth int) (list []starPattern, ok bool) {
	if depth > maxGlobDepth {
		return nil, false
	}
	list = []starPattern{{parts: []string{""}}}
	for i, t := range tokens {
		var next []starPattern
		switch {
		case t.kind == tokShell && (strings.HasPrefix(t.text, "@(") || strings.HasPrefix(t.text, "?(")):
			next = alternatives(t.text, depth)
		case t.kind == tokShell || t.kind == tokNot || t.kind == tokHead && i > 0:
			next = []starPattern{{parts: []string{"", ""}}}
		default:
			next, ok = starPatterns([]globToken{t})
			if !ok {
				return nil, false
			}
		}
		if next == nil || len(list)*len(next) > maxGlobBranches {
			return nil, false
		}
		var joined []starPattern
		for _, before := range list {
			for _, after := range next {
				joined = append(joined, before.join(after))
			}
		}
		list = joined
	}
	return list, true
}

// alternatives returns the alternatives of a group @(..) or ?(..), or nil if there are too many.
func alternatives(group string, depth int) (list []starPattern) {
	parts, _, ok := split(group, 1, '|')
	if !ok {
		return nil
	}
	if group[0] == '?' {
		list = append(list, starPattern{parts: []string{""}})
	}
	for _, part := range parts {
		var p globParser
		tokens, err := p.parse(part, 1)
		if err != nil {
			return nil
		}
		inner, ok := spelledTokens(tokens, depth+1)
		if !ok {
			return nil
		}
		list = append(list, inner...)
	}
	return list
}

// join returns p followed by q.
func (p starPattern) join(q starPattern) starPattern {
	n := len(p.parts) - 1
	parts := append(append([]string(nil), p.parts[:n]...), p.parts[n]+q.parts[0])
	return starPattern{append(parts, q.parts[1:]...)}
}
