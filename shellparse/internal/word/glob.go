package word

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxGlobs limits the patterns of one word. A word with more stays unknown.
const maxGlobs = 64

// add adds known bytes to the current field.
func (d *decoder) add(s string) {
	d.buf = append(d.buf, s...)
	d.tracked, d.exists = d.tracked && s == "", d.exists && s == ""
	if len(d.globs) > 0 {
		d.extend(literal(s))
	}
}

func (d *decoder) extend(pattern string) {
	for i := range d.globs {
		d.globs[i] = append(d.globs[i], pattern...)
	}
}

// glob adds a part that matches one of some path.Match patterns. class limits what it can be.
func (d *decoder) glob(class partClass, patterns ...string) {
	known := !d.unknown
	kept := d.globs
	if known {
		kept = [][]byte{[]byte(literal(string(d.buf)))}
	}
	d.vague(class)
	if len(patterns) == 0 || len(kept) == 0 || len(kept)*len(patterns) > maxGlobs || !d.a.Found.Spend(patternCost(kept, patterns)) {
		return
	}
	if d.globs = kept; len(patterns) == 1 {
		d.extend(patterns[0])
		return
	}
	d.globs = make([][]byte, 0, len(kept)*len(patterns))
	for _, k := range kept {
		for _, p := range patterns {
			d.globs = append(d.globs, append(k[:len(k):len(k)], p...))
		}
	}
}

func patternCost(kept [][]byte, patterns []string) int {
	if len(patterns) == 1 {
		return 0
	}
	n := 0
	for _, k := range kept {
		n += len(k) * len(patterns)
	}
	for _, p := range patterns {
		n += len(p) * len(kept)
	}
	return n
}

// bracket reads a bracket expression at the beginning of s. It returns its length and a path.Match pattern that matches
// at least as much, or 0 if the expression does not end in s.
func bracket(s string) (int, string) {
	i := 1
	negated := i < len(s) && (s[i] == '!' || s[i] == '^')
	if negated {
		i++
	}
	from := i
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case c == ']' && i > from:
			pattern := "?"
			if plainSet(s[from:i]) {
				pattern = "[" + s[from:i] + "]"
				if negated {
					pattern = "[^" + s[from:i] + "]"
				}
			}
			return i + 1, pattern
		case c == '\\':
			i++
		case c == '[' && i+1 < len(s) && strings.IndexByte(":.=", s[i+1]) >= 0:
			if end := strings.Index(s[i+2:], s[i+1:i+2]+"]"); end >= 0 {
				i += end + 3
			}
		}
	}
	return 0, ""
}

// plainSet reports whether a bracket expression lists only single characters. What a range holds depends on the locale.
func plainSet(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c == ',') {
			return false
		}
	}
	return true
}

// closes reports whether an open bracket can end in one of the parts.
func closes(parts []syntax.WordPart) bool {
	for _, p := range parts {
		if l, ok := p.(*syntax.Lit); ok && strings.IndexByte(l.Value, ']') >= 0 {
			return true
		}
	}
	return false
}

// globValue adds the value of an unquoted variable, which the shell globs.
func (d *decoder) globValue(s string) {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '*', '?':
			d.glob(partGlob, s[i:i+1])
			continue
		case '[':
			if n, pattern := bracket(s[i:]); n > 0 && strings.IndexByte(s[i:i+n], '/') < 0 {
				d.glob(partGlob, pattern)
				i += n - 1
				continue
			}
			d.vague(partGlob)
		}
		d.add(s[i : i+1])
	}
}

// extGlob adds an extended pattern. A pattern that can match a slash or a leading dot is widened to anything.
func (d *decoder) extGlob(p *syntax.ExtGlob) {
	if p.Pattern == nil || strings.ContainsAny(p.Pattern.Value, "./\\") {
		d.vague(partGlob)
		return
	}
	d.glob(partGlob, "*")
}
