package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"callgate/internal/companion/wire"
	"callgate/internal/visible"
)

// shown makes a frame's string safe for the screen: characters that are invisible, or that change how others appear,
// become visible. Every string from a frame MUST pass through it.
func shown(s string) string { return visible.Text(s) }

func words(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = wire.Quoted(s)
	}
	return strings.Join(out, " ")
}

// cut shortens one line of styled text to width columns.
func cut(s string, width int) string { return ansi.Truncate(s, max(0, width), "…") }

// pad cuts s and fills it up to exactly width columns.
func pad(s string, width int) string {
	s = cut(s, width)
	return s + strings.Repeat(" ", max(0, width-ansi.StringWidth(s)))
}

// between puts left and right on one line of width columns, and shortens left if it must.
func between(left, right string, width int) string {
	right = cut(right, width)
	room := width - ansi.StringWidth(right)
	return pad(left, room) + right
}

// wrap breaks text at words into lines of at most width columns, and indents all lines but the first. It breaks long
// words anywhere and leaves nothing out.
func wrap(text string, width int, indent string) []string {
	if text == "" {
		return nil
	}
	room := max(1, width-ansi.StringWidth(indent))
	lines := strings.Split(ansi.Wrap(text, room, ""), "\n")
	for i := 1; i < len(lines); i++ {
		lines[i] = indent + lines[i]
	}
	return lines
}

// block wraps text into lines of one style, each with a prefix.
func block(style ansi.Style, prefix, text string, width int) (lines []string) {
	for _, line := range wrap(text, width-len(prefix), "") {
		lines = append(lines, prefix+style.Styled(line))
	}
	return lines
}

// fold breaks text anywhere into lines of at most width columns, and keeps spaces.
func fold(text string, width int) []string {
	return strings.Split(ansi.Hardwrap(text, max(1, width), true), "\n")
}

// countdown formats the remaining time as 1:05, rounded down.
func countdown(left time.Duration) string {
	seconds := max(0, int(left.Seconds()))
	if seconds >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
	}
	return fmt.Sprintf("%d:%02d", seconds/60, seconds%60)
}

// riskLabel returns the label of a risk class. An unknown class is high.
func riskLabel(class string) string {
	switch class {
	case "READ_ONLY", "BUILD_TEST":
		return "low"
	case "WRITE", "NETWORK":
		return "medium"
	case "ESCALATION":
		return "critical"
	}
	return "high"
}
