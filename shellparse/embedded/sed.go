package embedded

import "strings"

// Sed reports whether a script only selects, edits and prints its input, with GNU sed and BSD sed alike. It accepts
// addresses, blocks, the commands p d q Q = n N g G h H x D P y, a i c with one line of text, and s with g, p, i, I and
// numbers.
func Sed(script string) bool {
	if !readable(script) {
		return false
	}
	r := sedReader{s: script}
	depth := 0
	for {
		r.skip(" \t\n;")
		if r.i >= len(r.s) {
			return depth == 0
		}
		if r.take('}') {
			if depth--; depth < 0 || !r.ends() {
				return false
			}
			continue
		}
		if !r.addresses() {
			return false
		}
		if r.take('{') {
			depth++
			continue
		}
		if !r.command() || !r.ends() {
			return false
		}
	}
}

type sedReader struct {
	s string
	i int
}

func (r *sedReader) skip(set string) {
	for r.i < len(r.s) && strings.IndexByte(set, r.s[r.i]) >= 0 {
		r.i++
	}
}

func (r *sedReader) take(c byte) bool {
	if r.i < len(r.s) && r.s[r.i] == c {
		r.i++
		return true
	}
	return false
}

func (r *sedReader) number() bool {
	start := r.i
	for r.i < len(r.s) && digit(r.s[r.i]) {
		r.i++
	}
	return r.i > start
}

// ends reports whether a command ends here: blanks, and then the end of the script, line or block, or a semicolon.
func (r *sedReader) ends() bool {
	r.skip(" \t")
	return r.i >= len(r.s) || strings.IndexByte(";\n}", r.s[r.i]) >= 0
}

// addresses reads what precedes a command: at most two addresses, and a negation.
func (r *sedReader) addresses() bool {
	found, ok := r.address(false)
	if !ok {
		return false
	}
	r.skip(" \t")
	if found && r.take(',') {
		r.skip(" \t")
		if found, ok = r.address(true); !found || !ok {
			return false
		}
		r.skip(" \t")
	}
	if r.take('!') {
		r.skip(" \t")
	}
	return true
}

// address reads an address, if there is one: a line, a step, the last line, a regular expression, or, as the second
// address, a number of lines.
func (r *sedReader) address(second bool) (found, ok bool) {
	switch {
	case r.number():
		return true, !r.take('~') || r.number()
	case r.take('$'):
		return true, true
	case second && (r.take('+') || r.take('~')):
		return true, r.number()
	case r.take('/'):
		ok = r.pattern('/')
	case r.take('\\'):
		if r.i >= len(r.s) || !sedDelimiter(r.s[r.i]) {
			return true, false
		}
		r.i++
		ok = r.pattern(r.s[r.i-1])
	default:
		return false, true
	}
	r.take('I')
	return true, ok
}

// command reads one command without its addresses.
func (r *sedReader) command() bool {
	if r.i >= len(r.s) {
		return false
	}
	c := r.s[r.i]
	r.i++
	switch c {
	case 'p', 'd', '=', 'n', 'N', 'g', 'G', 'h', 'H', 'x', 'D', 'P':
		return true
	case 'q', 'Q':
		r.skip(" ")
		r.number()
		return true
	case 'a', 'i', 'c':
		return r.line()
	case 's', 'y':
		if r.i >= len(r.s) || !sedDelimiter(r.s[r.i]) {
			return false
		}
		d := r.s[r.i]
		r.i++
		if c == 'y' {
			from := r.text(d)
			return from && r.text(d)
		}
		if !r.pattern(d) || !r.text(d) {
			return false
		}
		for r.take('g') || r.take('p') || r.take('i') || r.take('I') || r.number() {
		}
		return true
	}
	return false
}

// sedDelimiter reports whether a character may delimit the parts of a command and is literal in a regular expression.
func sedDelimiter(c byte) bool { return strings.IndexByte("/|,#:@!%~;=_", c) >= 0 }

// line reads the text of a, i and c: the rest of the line, without continuation lines. Every sed that accepts this form
// reads at least that much. A text on the next line could stand in another word of the command, so it is refused.
func (r *sedReader) line() bool {
	r.skip(" \t")
	r.take('\\')
	start := r.i
	for ; r.i < len(r.s) && r.s[r.i] != '\n'; r.i++ {
		if r.s[r.i] == '\\' {
			if r.i++; r.i >= len(r.s) || r.s[r.i] == '\n' {
				return false
			}
		}
	}
	return r.i > start
}

// text reads up to the delimiter.
func (r *sedReader) text(d byte) bool { return r.upTo(d, false) }

// pattern reads a regular expression up to the delimiter. A delimiter in a bracket expression does not count if the
// expression is so plain that every sed sees its end. A sed without bracket expressions could read the rest as
// commands, so the rest must hold no command that reads, writes or executes.
func (r *sedReader) pattern(d byte) bool { return r.upTo(d, true) }

func (r *sedReader) upTo(d byte, expression bool) bool {
	for ; r.i < len(r.s); r.i++ {
		switch r.s[r.i] {
		case d:
			r.i++
			return true
		case '\n':
			return false
		case '\\':
			if r.i++; r.i < len(r.s) && r.s[r.i] == '\n' {
				return false
			}
		case '[':
			if !expression {
				continue
			}
			end := bracketEnd(r.s, r.i+1)
			if end < 0 {
				return false
			}
			set := strings.TrimPrefix(r.s[r.i+1:end], "^")
			if strings.IndexByte(set, d) >= 0 && (strings.ContainsAny(set, "[]\\") || strings.ContainsAny(r.s[end:], "wWrRe")) {
				return false
			}
			r.i = end
		}
	}
	return false
}
