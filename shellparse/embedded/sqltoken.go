package embedded

import (
	"strings"
	"unicode/utf8"
)

// sqlToken is one token of SQL. Comments and blanks are none.
type sqlToken struct {
	kind byte // 'w' a word in small letters, 'q' a quoted name, 's' a string, 'n' a number, 'o' an operator or a bracket; 0 the end
	text string
}

// maxSQL bounds the text, in bytes.
const maxSQL = 64 << 10

// sqlOperators are those of more than one character, longest first.
var sqlOperators = strings.Fields("->> !~* -> :: || && == <> != <= >= << >> !~ ~* @> <@")

// sqlTokens divides a text into tokens. It returns false where PostgreSQL, MySQL, SQLite and their clients may
// divide it differently: backslashes, dollar quotes, variables, comments that not all of them know.
func sqlTokens(s string) (list []sqlToken, ok bool) {
	if len(s) > maxSQL || !utf8.ValidString(s) || strings.IndexByte(s, '\\') >= 0 {
		return nil, false
	}
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' && i+1 < len(s) && s[i+1] == '\n':
			i++
		case strings.HasPrefix(s[i:], "-- ") || s[i:] == "--" || strings.HasPrefix(s[i:], "--\n"):
			end := strings.IndexByte(s[i:], '\n')
			if end < 0 {
				end = len(s) - i
			}
			i += end
		case strings.HasPrefix(s[i:], "--"):
			return nil, false // no comment to MySQL
		case strings.HasPrefix(s[i:], "/*"):
			end := strings.Index(s[i+2:], "*/")
			if end < 0 || strings.Contains(s[i+2:i+2+end], "/*") || end > 0 && strings.IndexByte("!M+", s[i+2]) >= 0 {
				return nil, false // some run it, some nest it
			}
			i += end + 4
		case c == '\'' || c == '"' || c == '`':
			var text []byte
			k := i + 1
			for ; ; k++ {
				if k >= len(s) || s[k] == 0 {
					return nil, false
				}
				if s[k] == c {
					if k+1 >= len(s) || s[k+1] != c {
						break
					}
					k++
				}
				text = append(text, s[k])
			}
			kind := byte('q')
			if c == '\'' {
				kind = 's'
			} else if c == '`' && !sqlPlain(string(text)) {
				return nil, false // an operator to PostgreSQL
			}
			list = append(list, sqlToken{kind, string(text)})
			i = k + 1
		case c == '[':
			end := strings.IndexByte(s[i:], ']')
			if end < 0 || !sqlPlain(s[i+1:i+end]) {
				return nil, false
			}
			list = append(list, sqlToken{'q', s[i+1 : i+end]})
			i += end + 1
		case letter(c):
			start := i
			for i < len(s) && (letter(s[i]) || digit(s[i])) {
				i++
			}
			list = append(list, sqlToken{'w', strings.ToLower(s[start:i])})
		case digit(c):
			start := i
			for i < len(s) && (digit(s[i]) || s[i] == '.') {
				i++
			}
			if i < len(s) && s[i]|0x20 == 'e' {
				k := i + 1
				if k < len(s) && (s[k] == '-' || s[k] == '+') {
					k++
				}
				for i = k; i < len(s) && digit(s[i]); i++ {
				}
			}
			if i < len(s) && letter(s[i]) {
				return nil, false
			}
			list = append(list, sqlToken{'n', s[start:i]})
		default:
			op := ""
			for _, o := range sqlOperators {
				if strings.HasPrefix(s[i:], o) {
					op = o
					break
				}
			}
			if op == "" && strings.IndexByte("+-*/%=<>|&~^,.();!", c) >= 0 {
				op = s[i : i+1]
			}
			if op == "" {
				return nil, false
			}
			list = append(list, sqlToken{'o', op})
			i += len(op)
		}
	}
	return list, true
}

// sqlPlain says that a quoted name is one that needs no quotes.
func sqlPlain(s string) bool {
	for i := 0; i < len(s); i++ {
		if !letter(s[i]) && (i == 0 || !digit(s[i])) {
			return false
		}
	}
	return s != ""
}
