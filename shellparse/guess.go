package shellparse

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxPieces bounds what is guessed of one text.
const maxPieces = 256

// guess adds the commands that a text could run of which no shell syntax is certain: it is cut wherever a shell
// could begin a command, and each piece stands for itself. They are for denials only; the problem for which the
// text is guessed at keeps it from being allowed.
func (a *analysis) guess(text string, sc *scope) {
	if len(text) > maxText {
		return
	}
	child := *sc
	child.sure, child.start, child.denyOnly = false, false, true
	for n, piece := range pieces(text) {
		if n == maxPieces {
			return
		}
		words := strings.Fields(strings.Map(unquotedRune, piece))
		if len(words) == 0 {
			continue
		}
		own := child
		c := &call{sc: &own, raw: strings.TrimSpace(piece), argv: make([]word, len(words))}
		for i, w := range words {
			c.argv[i] = lit(w)
		}
		a.run(c)
	}
}

// pieces cuts a text at everything that could end one command and begin the next.
func pieces(text string) []string {
	return strings.FieldsFunc(strings.ToValidUTF8(text, "\n"), func(r rune) bool {
		return strings.ContainsRune(";|&()`{}!\n\r\v\f\u0085\u2028\u2029", r)
	})
}

// unquotedRune drops what a shell could drop from a word, and what nobody sees.
func unquotedRune(r rune) rune {
	switch {
	case r == ' ' || r == '\t':
		return r
	case r == '"' || r == '\'' || r == '\\' || r == '$':
		return -1
	case r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
		return -1
	case unicode.IsSpace(r):
		return ' '
	}
	return r
}
