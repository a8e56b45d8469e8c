package walk

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"callgate/shellparse/internal/parse"
	"callgate/shellparse/internal/word"
)

// MaxPieces limits the pieces that are guessed from one text.
const MaxPieces = 256

// Guess adds the commands that a text could run if its shell syntax is uncertain. It cuts the text wherever a shell
// could begin a command, and takes each piece as a command. They are for denials only. The caller MUST report the
// problem that keeps the text from being allowed.
func (a *Walker) Guess(text string, sc *word.Scope) {
	if len(text) > parse.MaxText {
		return
	}
	child := *sc
	child.Sure, child.Start, child.DenyOnly = false, false, true
	for n, piece := range pieces(text) {
		if n == MaxPieces {
			return
		}
		words := strings.Fields(strings.Map(UnquotedRune, piece))
		if len(words) == 0 {
			continue
		}
		own := child
		c := &Call{Sc: &own, raw: strings.TrimSpace(piece), Argv: make([]word.Word, len(words))}
		for i, w := range words {
			c.Argv[i] = word.Lit(w)
		}
		a.Run(c)
	}
}

// pieces cuts a text at everything that could end one command and begin the next.
func pieces(text string) []string {
	return strings.FieldsFunc(strings.ToValidUTF8(text, "\n"), func(r rune) bool {
		return strings.ContainsRune(";|&()`{}!\n\r\v\f\u0085\u2028\u2029", r)
	})
}

// UnquotedRune returns -1 for quoting and invisible characters, and a space for other white space.
func UnquotedRune(r rune) rune {
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
