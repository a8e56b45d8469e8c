package embedded

import (
	"strings"
	"unicode/utf8"
)

// sqlToken is one token of SQL. Comments and blanks are not tokens.
type sqlToken struct {
	kind byte // 'w' a word, in small letters; 'q' a quoted name, 's' a string, 'n' a number, 'o' an operator or a bracket; 0 the end
	text string
}

// maxSQL limits the text, in bytes.
const maxSQL = 64 << 10

// sqlOperators lists the operators of more than one character, longest first.
var sqlOperators = strings.Fields("->> !~* -> :: || && == <> != <= >= << >> !~ ~* @> <@")

// sqlTokens splits a text into tokens. It returns false if PostgreSQL, MySQL, SQLite and their clients may split it
// differently: backslashes, dollar quotes, variables, comments that not all of them know.
func sqlTokens(s string) (list []sqlToken, ok bool) {
	if len(s) > maxSQL || !utf8.ValidString(s) || strings.IndexByte(s, '\\') >= 0 {
		return nil, false
	}
	for s != "" {
		if n := sqlBlank(s); n > 0 {
			s = s[n:]
			continue
		}
		if path, n := sqlDotted(s); n > 0 {
			list, s = append(list, path...), s[n:]
			continue
		}
		token, n := sqlFirst(s)
		if n == 0 {
			return nil, false
		}
		list, s = append(list, token), s[n:]
	}
	return list, true
}

// sqlFirst reads the first token of a text. n is its length, or 0 if there is none.
func sqlFirst(s string) (token sqlToken, n int) {
	switch c := s[0]; {
	case c == '\'' || c == '"' || c == '`':
		return sqlQuoted(s)
	case c == '[':
		if n = strings.IndexByte(s, ']') + 1; n > 0 && sqlPlain(s[1:n-1]) {
			return sqlToken{'q', s[1 : n-1]}, n
		}
		return token, 0
	case letter(c):
		for n < len(s) && (letter(s[n]) || digit(s[n])) {
			n++
		}
		return sqlToken{'w', strings.ToLower(s[:n])}, n
	case digit(c):
		n = sqlNumber(s)
		return sqlToken{'n', s[:n]}, n
	}
	n = sqlOperator(s)
	return sqlToken{'o', s[:n]}, n
}

// sqlBlank returns the length of the blank or comment at the beginning of a text. It returns 0 if there is none, or if
// not all clients skip it: MySQL needs a blank after two dashes, and some clients run comments or nest them.
func sqlBlank(s string) int {
	switch {
	case s[0] == ' ' || s[0] == '\t' || s[0] == '\n' || strings.HasPrefix(s, "\r\n"):
		return 1
	case strings.HasPrefix(s, "-- ") || s == "--" || strings.HasPrefix(s, "--\n"):
		if end := strings.IndexByte(s, '\n'); end >= 0 {
			return end
		}
		return len(s)
	case strings.HasPrefix(s, "/*"):
		body, _, closed := strings.Cut(s[2:], "*/")
		if closed && !strings.Contains(body, "/*") && (body == "" || strings.IndexByte("!M+", body[0]) < 0) {
			return len(body) + 4
		}
	}
	return 0
}

// sqlQuoted reads the string or quoted name at the beginning of a text. n is 0 if it does not end, or if PostgreSQL
// takes it for an operator.
func sqlQuoted(s string) (token sqlToken, n int) {
	var text []byte
	for n = 1; ; n++ {
		if n >= len(s) || s[n] == 0 {
			return token, 0
		}
		if s[n] == s[0] {
			if n+1 >= len(s) || s[n+1] != s[0] {
				break
			}
			n++
		}
		text = append(text, s[n])
	}
	switch {
	case s[0] == '\'':
		return sqlToken{'s', string(text)}, n + 1
	case s[0] == '`' && !sqlPlain(string(text)):
		return token, 0
	}
	return sqlToken{'q', string(text)}, n + 1
}

// sqlDotted reads a path in BigQuery's quotes at the beginning of a text: plain names, which may have hyphens, within
// one pair of backquotes. n is 0 if there is none.
func sqlDotted(s string) (tokens []sqlToken, n int) {
	if s[0] != '`' {
		return nil, 0
	}
	path, rest, closed := strings.Cut(s[1:], "`")
	if !closed || !strings.Contains(path, ".") || strings.HasPrefix(rest, "`") {
		return nil, 0
	}
	for i, part := range strings.Split(path, ".") {
		if plain := strings.ReplaceAll(part, "-", "_"); plain == "" || !sqlPlain(plain) {
			return nil, 0
		}
		if i > 0 {
			tokens = append(tokens, sqlToken{'o', "."})
		}
		tokens = append(tokens, sqlToken{'q', part})
	}
	return tokens, len(path) + 2
}

// sqlNumber returns the length of the number at the beginning of a text, or 0 if letters follow it.
func sqlNumber(s string) int {
	i := 0
	for i < len(s) && (digit(s[i]) || s[i] == '.') {
		i++
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		if i++; i < len(s) && (s[i] == '-' || s[i] == '+') {
			i++
		}
		for i < len(s) && digit(s[i]) {
			i++
		}
	}
	if i < len(s) && letter(s[i]) {
		return 0
	}
	return i
}

// sqlOperator returns the length of the operator at the beginning of a text, or 0. Two dashes and the beginning of a
// comment are not operators.
func sqlOperator(s string) int {
	if strings.HasPrefix(s, "--") || strings.HasPrefix(s, "/*") {
		return 0
	}
	for _, o := range sqlOperators {
		if strings.HasPrefix(s, o) {
			return len(o)
		}
	}
	if strings.IndexByte("+-*/%=<>|&~^,.();!", s[0]) >= 0 {
		return 1
	}
	return 0
}

// sqlPlain reports whether a quoted name needs no quotes.
func sqlPlain(s string) bool {
	for i := 0; i < len(s); i++ {
		if !letter(s[i]) && (i == 0 || !digit(s[i])) {
			return false
		}
	}
	return s != ""
}
