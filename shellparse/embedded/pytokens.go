package embedded

import (
	"strings"

	"callgate/internal/lazyregexp"
)

// pyToken is a token of Python code.
type pyToken struct {
	kind  byte   // 'a' a name or keyword, '0' a number, 's' a text, 'n' a line's end outside brackets, else the first character of an operator
	text  string // of a text: what is between the quotes, as written
	plain bool   // a text that means what is written: no escapes, no prefix
	depth int    // of the brackets around it

	holes []string    // the expressions in a text with the prefix f or t
	inner [][]pyToken // their tokens
}

// is reports whether a token is this operator, name or keyword.
func (t pyToken) is(text string) bool { return t.kind != 's' && t.text == text }

// pyTokens splits code into tokens, the last of which ends a line. It reports false for whatever versions of Python could
// read differently.
func pyTokens(code string) (list []pyToken, ok bool) {
	depth := 0
	for code != "" {
		t, n := pyNext(code)
		if n == 0 {
			return nil, false
		}
		code = code[n:]
		switch t.kind {
		case 0:
			continue
		case 'n':
			if depth > 0 {
				continue
			}
		case ')', ']', '}':
			depth--
		}
		t.depth = depth
		list = append(list, t)
		if t.kind == '(' || t.kind == '[' || t.kind == '{' {
			depth++
		}
		if depth < 0 || depth > 100 {
			return nil, false
		}
	}
	return append(list, pyToken{kind: 'n'}), depth == 0
}

// pyNext reads the token that code begins with. Its kind is 0 for blanks and comments. n is its length, or 0 if it is not
// certain.
func pyNext(code string) (t pyToken, n int) {
	switch c := code[0]; {
	case c == '\n':
		return pyToken{kind: 'n'}, 1
	case c == ' ' || c == '\t':
		return t, 1
	case strings.HasPrefix(code, "\\\n"):
		return t, 2
	case c == '#':
		return t, pyComment(code)
	case digit(c) || c == '.' && len(code) > 1 && digit(code[1]):
		n = pyNumber(code)
		return pyToken{kind: '0', text: code[:n]}, n
	}
	for n < len(code) && (letter(code[n]) || digit(code[n])) {
		n++
	}
	switch {
	case n < len(code) && (code[n] == '"' || code[n] == '\''):
		return pyText(code, n)
	case n < len(code) && code[n] >= 0x80: // Python makes other letters of some
		return t, 0
	case n > 0:
		return pyToken{kind: 'a', text: code[:n]}, n
	}
	n = pyOperator(code)
	return pyToken{kind: code[0], text: code[:n]}, n
}

// pyComment returns the length of a comment, or 0 if it declares a character set other than UTF-8.
func pyComment(code string) int {
	comment, _, _ := strings.Cut(code, "\n")
	for _, set := range pyCharset.FindAllStringSubmatch(comment, -1) {
		if name := strings.ToLower(set[1]); name != "utf-8" && name != "utf8" {
			return 0
		}
	}
	return len(comment)
}

// pyCharset matches the declaration of a character set in a comment.
var pyCharset = lazyregexp.New(`coding[:=][ \t]*([-\w.]*)`)

// pyText reads a text with a prefix of n letters.
func pyText(code string, n int) (t pyToken, _ int) {
	prefix := strings.ToLower(code[:n])
	if !pyPrefixes[prefix] {
		return t, 0
	}
	quote := code[n : n+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(code[n:], triple) {
		quote = triple
	}
	begin := n + len(quote)
	for n = begin; !strings.HasPrefix(code[n:], quote); n++ {
		if code[n:] != "" && code[n] == '\\' {
			n++
		} else if code[n:] == "" || code[n] == '\n' && len(quote) == 1 {
			return t, 0
		}
		if n >= len(code) {
			return t, 0
		}
	}
	t = pyToken{kind: 's', text: code[begin:n]}
	if strings.ContainsAny(prefix, "ft") {
		holes, rest := pyHoles(t.text, 0)
		if rest != "" || strings.Contains(t.text, `\N`) {
			return t, 0
		}
		t.holes = holes
	} else {
		t.plain = prefix == "" && !strings.Contains(t.text, `\`)
	}
	return t, n + len(quote)
}

var pyPrefixes = map[string]bool{"": true, "r": true, "u": true, "b": true, "f": true, "t": true, "br": true, "rb": true, "fr": true, "rf": true, "tr": true, "rt": true}

// pyHoles returns the expressions in the braces of a text, and in their formats. It stops at a closing brace if it reads
// a format, which is inside one. rest is what it did not read: it is certain only if rest is "" or begins with that
// brace.
func pyHoles(text string, inside int) (holes []string, rest string) {
	for text != "" {
		switch c := text[0]; {
		case c == '{' && inside == 0 && strings.HasPrefix(text, "{{"), c == '}' && inside == 0 && strings.HasPrefix(text, "}}"):
			text = text[2:]
		case c == '}' && inside > 0:
			return holes, text
		case c == '}' || c == '{' && inside > 3:
			return nil, text
		case c == '{':
			hole, format, after, ok := pyHole(text[1:], inside)
			if !ok {
				return nil, text
			}
			holes, text = append(append(holes, hole), format...), after
		default:
			text = text[1:]
		}
	}
	return holes, ""
}

// pyHole reads one expression with its format, up to the closing brace.
func pyHole(text string, inside int) (hole string, format []string, after string, ok bool) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\\', '#':
			return "", nil, "", false
		case '"', '\'':
			end := strings.IndexByte(text[i+1:], c)
			if end < 1 || strings.ContainsAny(text[i+1:i+1+end], "\\\n{}") { // an empty one could begin a text of three quotes
				return "", nil, "", false
			}
			i += 1 + end
		case '(', '[', '{':
			depth++
		case ')', ']':
			depth--
		case '!':
			if strings.HasPrefix(text[i:], "!=") {
				i++
				continue
			}
			if i+2 >= len(text) || depth != 0 || strings.IndexByte("rsa", text[i+1]) < 0 || text[i+2] != '}' && text[i+2] != ':' {
				return "", nil, "", false
			}
			return pyFormat(text[:i], text[i+2:], inside)
		case ':', '}':
			if c == '}' && depth > 0 {
				depth--
			} else if depth == 0 {
				return pyFormat(text[:i], text[i:], inside)
			}
		}
		if depth < 0 {
			return "", nil, "", false
		}
	}
	return "", nil, "", false
}

// pyFormat reads what follows the expression of a hole: a closing brace, or a colon, a format and a closing brace.
func pyFormat(hole, text string, inside int) (_ string, format []string, after string, ok bool) {
	if text[0] == ':' {
		if format, text = pyHoles(text[1:], inside+1); text == "" {
			return "", nil, "", false
		}
	}
	hole = strings.TrimRight(hole, " \t")
	if strings.HasSuffix(hole, "=") && !strings.HasSuffix(hole, "==") {
		hole = hole[:len(hole)-1] // f"{x=}" shows the expression too
	}
	return hole, format, text[1:], strings.HasPrefix(text, "}") && strings.TrimSpace(hole) != ""
}

// pyNumber returns the length of a number, or 0 if letters follow it.
func pyNumber(code string) (n int) {
	run := func(set string) {
		for n < len(code) && strings.IndexByte(set, code[n]) >= 0 {
			n++
		}
	}
	if len(code) > 1 && code[0] == '0' && strings.IndexByte("xXoObB", code[1]) >= 0 {
		n = 2
		run("0123456789abcdefABCDEF_")
	} else {
		run("0123456789_")
		if n < len(code) && code[n] == '.' {
			n++
			run("0123456789_")
		}
		if rest := code[n:]; len(rest) > 1 && rest[0]|0x20 == 'e' && (digit(rest[1]) || len(rest) > 2 && strings.IndexByte("+-", rest[1]) >= 0 && digit(rest[2])) {
			n += 2
			run("0123456789_")
		}
		if n < len(code) && code[n]|0x20 == 'j' {
			n++
		}
	}
	if n < len(code) && (letter(code[n]) || code[n] >= 0x80) {
		return 0
	}
	return n
}

// pyOperator returns the length of the operator that a text begins with, or 0 if there is none.
func pyOperator(code string) int {
	for _, op := range pyOperators {
		if strings.HasPrefix(code, op) {
			return len(op)
		}
	}
	return 0
}

// pyOperators lists the operators, the longest first.
var pyOperators = strings.Fields("**= //= >>= <<= ... == != <= >= := -> += -= *= /= %= &= |= ^= @= ** // >> << <> + - * / % @ & | ^ ~ < > ( ) [ ] { } , : . ; =")
