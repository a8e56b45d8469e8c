package word

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxBraces limits the words of one brace expansion. A larger expansion stays unknown.
const maxBraces = 64

// strayBrace reports whether a word has braces left that another shell would expand: bash makes two words of {a},b}.
func strayBrace(w *syntax.Word) bool {
	open, comma := false, false
	for _, p := range w.Parts {
		l, ok := p.(*syntax.Lit)
		if !ok {
			continue
		}
		for i := 0; i < len(l.Value); i++ {
			switch l.Value[i] {
			case '\\':
				i++
			case '{':
				open = true
			case ',':
				comma = comma || open
			case '.':
				comma = comma || open && strings.HasPrefix(l.Value[i:], "..")
			case '}':
				if comma {
					return true
				}
			}
		}
	}
	return false
}

func hasBrace(w *syntax.Word) bool {
	for _, p := range w.Parts {
		if l, ok := p.(*syntax.Lit); ok && strings.IndexByte(l.Value, '{') >= 0 {
			return true
		}
	}
	return false
}

// braceCount returns the number of words that a word with split braces expands to. It stops counting above maxBraces.
func braceCount(w *syntax.Word) int {
	n := 1
	for _, p := range w.Parts {
		b, ok := p.(*syntax.BraceExp)
		if !ok {
			continue
		}
		sum := 0
		if b.Sequence {
			sum = sequenceCount(b)
		} else {
			for _, e := range b.Elems {
				sum += braceCount(e)
			}
		}
		if n *= sum; n > maxBraces {
			return n
		}
	}
	return n
}

func sequenceCount(b *syntax.BraceExp) int {
	from, to := b.Elems[0].Lit(), b.Elems[1].Lit()
	lo, err1 := strconv.Atoi(from)
	hi, err2 := strconv.Atoi(to)
	if err1 != nil || err2 != nil {
		if len(from) != 1 || len(to) != 1 {
			return maxBraces + 1
		}
		lo, hi = int(from[0]), int(to[0])
	}
	n := max(lo, hi) - min(lo, hi)
	if n < 0 || n > maxBraces {
		return maxBraces + 1
	}
	return n + 1
}

// loneDollar reports whether a word has a literal dollar, which begins no expansion as it stands.
func loneDollar(w *syntax.Word) bool {
	for _, p := range w.Parts {
		l, ok := p.(*syntax.Lit)
		for i := 0; ok && i < len(l.Value); i++ {
			switch l.Value[i] {
			case '\\':
				i++
			case '$':
				return true
			}
		}
	}
	return false
}
