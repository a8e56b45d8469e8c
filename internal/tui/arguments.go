package tui

import (
	"encoding/json"
	"strings"

	"callgate/internal/companion/wire"
)

// Gutters of the lines of arguments: none of what a call brings begins at the edge, where headings do.
const (
	gutterLine  = "│ "
	gutterBreak = "┊ " // goes on after a \n inside of a string
	gutterFold  = "↪ " // goes on with a line that is wider than the screen
)

// argumentLines shows arguments exactly, in lines of at most width columns. A string of several lines breaks
// after each \n, which stays in sight.
func argumentLines(raw json.RawMessage, width int) (lines []string) {
	for line := range strings.SplitSeq(wire.Indented(raw), "\n") {
		gutter := gutterLine
		for _, part := range wire.Breaks(line) {
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
	for line := range strings.SplitSeq(wire.Indented(raw), "\n") {
		lines = append(lines, strings.Join(wire.Breaks(line), "\n"+gutterBreak))
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
