package shellparse

import "strings"

// inspectSed reads sed scripts: the commands that execute or touch files are found by parsing, and what
// does not parse is taken for one.
func inspectSed(a *analysis, c *call, s *scanned) {
	scripts := s.codes()
	if len(scripts) == 0 && len(s.operands) > 0 {
		if _, file := s.find("-f"); !file {
			scripts = s.operands[:1]
		}
	}
	for _, w := range scripts {
		if !w.known {
			c.effect("code " + w.text)
			continue
		}
		a.sedScript(w.text, c)
	}
}

// codes returns the arguments that are code.
func (s *scanned) codes() []word {
	var list []word
	for _, h := range s.hits {
		if h.opt.does == 'c' && h.has {
			list = append(list, h.value)
		}
	}
	return list
}

// sedScript reads one sed script, command by command.
func (a *analysis) sedScript(s string, c *call) {
	i := 0
	skip := func(set string) {
		for i < len(s) && strings.IndexByte(set, s[i]) >= 0 {
			i++
		}
	}
	// delimited passes a part that ends with d and returns false when it does not end.
	delimited := func(d byte) bool {
		for ; i < len(s); i++ {
			switch {
			case s[i] == '\\':
				i++
			case s[i] == '\n':
				return false
			case s[i] == d:
				i++
				return true
			}
		}
		return false
	}
	// pattern is delimited for a regular expression. Some seds end it at a d in brackets, too: where that differs,
	// what follows must not hold a command that touches files or executes.
	pattern := func(d byte) bool {
		start := i
		end, ok := expressionEnd(s, start, d)
		if d == '\\' {
			return false
		}
		if plain := delimited(d) && i-1 == end; !plain && ok && strings.ContainsAny(s[start:], "wWrRe") {
			return false
		}
		i = end + 1
		return ok
	}
	file := func(write bool) {
		end := strings.IndexByte(s[i:], '\n')
		if end < 0 {
			end = len(s) - i
		}
		name := strings.TrimSpace(s[i : i+end])
		i += end
		if write {
			c.writes = a.file(c.writes, lit(name), "sed", c.sc)
			if name == "" || name == "/dev/stdout" {
				c.effect("code " + s)
			}
		} else {
			c.reads = a.file(c.reads, lit(name), "sed", c.sc)
		}
	}
	for i < len(s) {
		skip(" \t\n;{}")
		if i >= len(s) {
			return
		}
		// Addresses.
		for n := 0; n < 2; n++ {
			skip(" \t")
			switch {
			case i >= len(s):
			case s[i] >= '0' && s[i] <= '9':
				skip("0123456789~")
			case s[i] == '$':
				i++
			case s[i] == '+' || s[i] == '~':
				i++
				skip("0123456789")
			case s[i] == '/' || s[i] == '\\' && i+1 < len(s):
				d := s[i]
				if d == '\\' {
					i++
					d = s[i]
				}
				i++
				if !pattern(d) {
					c.effect("code " + s)
					return
				}
				skip("IM")
			}
			skip(" \t")
			if i < len(s) && s[i] == ',' && n == 0 {
				i++
				continue
			}
			break
		}
		skip(" \t!")
		if i >= len(s) {
			return
		}
		cmd := s[i]
		i++
		switch cmd {
		case '{', '}', ';', '\n':
		case '#':
			if end := strings.IndexByte(s[i:], '\n'); end >= 0 {
				i += end
			} else {
				return
			}
		case '=', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z', 'F':
		case 'l', 'L', 'q', 'Q':
			skip(" \t0123456789")
		case 'b', 't', 'T', ':':
			skip(" \t")
			for i < len(s) && s[i] != ';' && s[i] != '\n' && s[i] != '}' {
				i++
			}
		case 'a', 'i', 'c':
			for i < len(s) && s[i] != '\n' {
				if s[i] == '\\' {
					i++
				}
				i++
			}
		case 'y', 's':
			if i >= len(s) {
				c.effect("code " + s)
				return
			}
			d := s[i]
			i++
			first := delimited
			if cmd == 's' {
				first = pattern
			}
			if both := first(d) && delimited(d); !both {
				c.effect("code " + s)
				return
			}
			if cmd == 's' {
			flags:
				for i < len(s) {
					switch f := s[i]; {
					case f == 'e' || f == 'm' || f == 'M':
						if f == 'e' {
							c.effect("code " + s)
						}
						i++
					case f == 'w':
						i++
						file(true)
					case f == 'g' || f == 'p' || f == 'i' || f == 'I' || f >= '0' && f <= '9':
						i++
					default:
						break flags
					}
				}
			}
		case 'r', 'R':
			file(false)
		case 'w', 'W':
			file(true)
		default: // e, v and what is not known
			c.effect("code " + s)
			return
		}
		// A command ends at a line end, a semicolon or a brace.
		skip(" \t")
		if i < len(s) && strings.IndexByte(";\n}#", s[i]) < 0 && cmd != '{' && cmd != '}' && cmd != ';' {
			c.effect("code " + s)
			return
		}
	}
}

// expressionEnd returns where the regular expression that begins at i ends with d, when its bracket expressions
// certainly end before it.
func expressionEnd(s string, i int, d byte) (int, bool) {
	for ; i < len(s); i++ {
		switch {
		case s[i] == '\n' || s[i] == d && (d == '[' || d == ']'):
			return i, false
		case s[i] == d:
			return i, true
		case s[i] == '\\':
			i++
		case s[i] == '[':
			if i = bracketEnd(s, i+1); i < 0 {
				return len(s), false
			}
		}
	}
	return len(s), false
}

// bracketEnd returns where a bracket expression ends whose content begins at i, -1 when that is not certain.
func bracketEnd(s string, i int) int {
	if i < len(s) && s[i] == '^' {
		i++
	}
	for first := i; i < len(s); i++ {
		switch {
		case s[i] == '\n', s[i] == '\\' && i+1 < len(s) && s[i+1] == ']':
			return -1
		case s[i] == ']' && i > first:
			return i
		case s[i] == '[' && i+1 < len(s) && strings.IndexByte(":.=", s[i+1]) >= 0:
			end := strings.Index(s[i+2:], s[i+1:i+2]+"]")
			if end < 0 {
				return -1
			}
			i += end + 3
		}
	}
	return -1
}
