package tui

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// pretty writes JSON indented, one member a line, numbers as they were spelled and members in their order.
// Escapes that hide what could be read are resolved, so that "r\u006d" reads "rm"; those that JSON needs
// stay. Text with half of a character is indented and stays as it is spelled; text that is no JSON stays as it is.
func pretty(raw json.RawMessage) string {
	text, err := jsontext.AppendFormat(nil, raw, jsontext.AllowDuplicateNames(true), jsontext.Multiline(true), jsontext.WithIndent("  "),
		jsontext.PreserveRawStrings(false), jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false))
	if err == nil {
		return string(text)
	}
	var indented bytes.Buffer
	if json.Indent(&indented, bytes.TrimSpace(raw), "", "  ") != nil {
		return string(raw)
	}
	return indented.String()
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
