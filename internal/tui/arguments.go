package tui

import (
	"encoding/json"
	"strings"

	"callgate/internal/companion/wire"
)

// Gutters begin the lines of arguments: only headings begin at the edge, so a call cannot imitate one.
const (
	gutterLine  = "│ "
	gutterBreak = "┊ " // after a \n in a string
	gutterFold  = "↪ " // the rest of a line that is wider than the screen
)

// argumentLines returns the exact arguments in lines of at most width columns. Strings break after \n, which stays.
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

// readable returns arguments as text that a diff can compare: strings break after each \n and continue behind a gutter.
func readable(raw json.RawMessage) string {
	var lines []string
	for line := range strings.SplitSeq(wire.Indented(raw), "\n") {
		lines = append(lines, strings.Join(wire.Breaks(line), "\n"+gutterBreak))
	}
	return strings.Join(lines, "\n")
}

// gutters folds a text into lines of at most width columns, each with a gutter.
func gutters(text, gutter string, width int) (lines []string) {
	for _, piece := range fold(text, width-2) {
		lines = append(lines, gutter+piece)
		gutter = gutterFold
	}
	return lines
}
