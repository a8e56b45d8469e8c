package tui

import (
	"slices"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// input is one line of typed text.
type input struct {
	text  []rune
	at    int // position of the cursor
	limit int // in runes
}

// insert inserts text at the cursor. Line breaks and tabs become spaces. It drops other control characters, and
// everything over the limit.
func (in *input) insert(text string) {
	for _, r := range text {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			r = ' '
		case unicode.IsControl(r) || r == unicode.ReplacementChar:
			continue
		}
		if len(in.text) >= in.limit {
			return
		}
		in.text = slices.Insert(in.text, in.at, r)
		in.at++
	}
}

// cut removes the text between two positions.
func (in *input) cut(from, to int) {
	in.text = slices.Delete(in.text, from, to)
	in.at = from
}

// word returns the start of the word before the cursor.
func (in *input) word() int {
	at := in.at
	for at > 0 && in.text[at-1] == ' ' {
		at--
	}
	for at > 0 && in.text[at-1] != ' ' {
		at--
	}
	return at
}

func (in *input) key(k tea.KeyPressMsg) {
	switch k.String() {
	case "left", "ctrl+b":
		in.at = max(0, in.at-1)
	case "right", "ctrl+f":
		in.at = min(len(in.text), in.at+1)
	case "home", "ctrl+a":
		in.at = 0
	case "end", "ctrl+e":
		in.at = len(in.text)
	case "backspace", "ctrl+h":
		in.cut(max(0, in.at-1), in.at)
	case "delete", "ctrl+d":
		in.cut(in.at, min(len(in.text), in.at+1))
	case "ctrl+w", "alt+backspace":
		in.cut(in.word(), in.at)
	case "ctrl+u":
		in.cut(0, in.at)
	case "ctrl+k":
		in.cut(in.at, len(in.text))
	default:
		in.insert(k.Text)
	}
}

// view returns the text around the cursor in at most width columns, or the hint if there is no text.
func (in *input) view(s *styles, hint string, width int) string {
	const prompt = "› "
	if len(in.text) == 0 {
		return cut(prompt+s.chosen.Styled(" ")+s.faint.Styled(hint), width)
	}
	before, under, after := shown(string(in.text[:in.at])), " ", ""
	if in.at < len(in.text) {
		under, after = shown(string(in.text[in.at])), shown(string(in.text[in.at+1:]))
	}
	room := width - ansi.StringWidth(prompt) - ansi.StringWidth(under)
	if over := ansi.StringWidth(before) - room; over > 0 {
		before = ansi.TruncateLeft(before, over+1, "…")
	}
	return cut(prompt+before+s.chosen.Styled(under)+after, width)
}
