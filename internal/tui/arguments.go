package tui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// pretty writes JSON indented, one member a line, numbers as they were spelled and members in their order.
// Escapes that hide what could be read are resolved, so that "r\u006d" reads "rm"; those that JSON needs
// stay. Text that is no JSON stays as it is.
func pretty(raw json.RawMessage) string {
	var indented bytes.Buffer
	if json.Indent(&indented, bytes.TrimSpace(raw), "", "  ") != nil {
		return string(raw)
	}
	text, _ := legible(indented.String())
	return text
}

// legible spells every character of JSON by itself that needs no escape. whole is false when there is half of a character,
// which stays as it is spelled.
func legible(text string) (spelled string, whole bool) {
	var b strings.Builder
	whole = true
	for {
		plain, escaped, found := strings.Cut(text, `\`)
		b.WriteString(plain)
		if !found {
			return b.String(), whole
		}
		if escaped[0] != 'u' {
			if escaped[0] != '/' {
				b.WriteByte('\\')
			}
			b.WriteByte(escaped[0])
			text = escaped[1:]
			continue
		}
		r, rest := unescaped(escaped)
		if utf16.IsSurrogate(r) {
			if half, found := strings.CutPrefix(rest, `\`); found {
				if second, after := unescaped(half); utf16.DecodeRune(r, second) != utf8.RuneError {
					r, rest = utf16.DecodeRune(r, second), after
				}
			}
		}
		switch {
		case utf16.IsSurrogate(r):
			whole = false
			b.WriteString(`\` + escaped[:5])
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r < ' ':
			if i := strings.IndexRune("\b\f\n\r\t", r); i >= 0 {
				b.WriteString(`\` + "bfnrt"[i:i+1])
			} else {
				fmt.Fprintf(&b, `\u%04x`, r)
			}
		default:
			b.WriteRune(r)
		}
		text = rest
	}
}

// unescaped reads u and four digits; 0 when there is something else.
func unescaped(text string) (r rune, rest string) {
	if len(text) < 5 || text[0] != 'u' {
		return 0, text
	}
	n, err := strconv.ParseUint(text[1:5], 16, 32)
	if err != nil {
		return 0, text
	}
	return rune(n), text[5:]
}

// readsOneWay reports whether a text is JSON that every decoder reads alike: UTF-8, without half characters, and with no
// member twice.
func readsOneWay(text []byte) bool {
	if !utf8.Valid(text) || !json.Valid(text) {
		return false
	}
	_, whole := legible(string(text))
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return whole && oneWay(decoder)
}

// oneWay reads one value and reports whether none of its members is there twice.
func oneWay(decoder *json.Decoder) bool {
	token, err := decoder.Token()
	if err != nil {
		return false
	}
	members := map[string]bool{}
	switch token {
	case json.Delim('{'), json.Delim('['):
		for decoder.More() {
			if token == json.Delim('{') {
				name, err := decoder.Token()
				if text, ok := name.(string); err != nil || !ok || members[text] {
					return false
				} else {
					members[text] = true
				}
			}
			if !oneWay(decoder) {
				return false
			}
		}
		_, err = decoder.Token()
	}
	return err == nil
}

// Gutters of the lines of arguments: none of what a call brings begins at the edge, where headings do.
const (
	gutterLine  = "│ "
	gutterBreak = "┊ " // goes on after a \n inside of a string
	gutterFold  = "↪ " // goes on with a line that is wider than the screen
)

// argumentLines shows arguments exactly, in lines of at most width columns. A string of several lines breaks
// after each \n, which stays in sight.
func argumentLines(raw json.RawMessage, width int) (lines []string) {
	for line := range strings.SplitSeq(pretty(raw), "\n") {
		gutter := gutterLine
		for _, part := range afterBreaks(line) {
			lines = append(lines, gutters(shown(part), gutter, width)...)
			gutter = gutterBreak
		}
	}
	return lines
}

// readable is arguments as text that can be compared line by line: strings break after each \n, and go on
// behind a gutter.
func readable(raw json.RawMessage) string {
	var lines []string
	for line := range strings.SplitSeq(pretty(raw), "\n") {
		lines = append(lines, strings.Join(afterBreaks(line), "\n"+gutterBreak))
	}
	return strings.Join(lines, "\n")
}

// gutters folds one visible line behind a gutter.
func gutters(text, gutter string, width int) (lines []string) {
	for _, piece := range fold(text, width-2) {
		lines = append(lines, gutter+piece)
		gutter = gutterFold
	}
	return lines
}

// afterBreaks splits JSON text after each \n escape.
func afterBreaks(text string) (parts []string) {
	start := 0
	for i := 0; i+1 < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		if i++; text[i] == 'n' {
			parts = append(parts, text[start:i+1])
			start = i + 1
		}
	}
	return append(parts, text[start:])
}
