package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// styles uses the terminal's own sixteen colours, which fit its theme, dark or light. Colour is never the only sign:
// words say the same.
//
// The styles come from x/ansi. lipgloss, which bubbles imports, queries the terminal's colours at the start of any
// program, and inside tmux runs "tmux info" for that.
type styles struct {
	title, faint, heading, chosen, warn, good, bad ansi.Style
	risks                                          map[string]ansi.Style // by label
}

func newStyles() styles {
	plain := ansi.NewStyle()
	return styles{
		title:   plain.Bold(),
		faint:   plain.Faint(),
		heading: plain.Bold().ForegroundColor(ansi.Cyan),
		chosen:  plain.Reverse(true),
		warn:    plain.Bold().ForegroundColor(ansi.Yellow),
		good:    plain.ForegroundColor(ansi.Green),
		bad:     plain.ForegroundColor(ansi.Red),
		risks: map[string]ansi.Style{
			"low":      plain.ForegroundColor(ansi.Green),
			"medium":   plain.ForegroundColor(ansi.Yellow),
			"high":     plain.Bold().ForegroundColor(ansi.Red),
			"critical": plain.Bold().ForegroundColor(ansi.Magenta),
		},
	}
}

// risk returns a label in its colour. An unknown label gets the colour of critical.
func (s *styles) risk(label string) string {
	style, ok := s.risks[label]
	if !ok {
		style = s.risks["critical"]
	}
	return style.Styled(strings.ToUpper(shown(label)))
}

// box returns lines in a frame of width columns, with a title at the upper left and a note at the upper right.
func (s *styles) box(title, note string, lines []string, width int, edge ansi.Style) []string {
	inner := width - 4
	if note != "" {
		note = cut(" "+note+" ", inner/2)
	}
	title = cut(" "+title+" ", inner-ansi.StringWidth(note))
	rule := strings.Repeat("─", inner-ansi.StringWidth(title)-ansi.StringWidth(note))
	out := []string{edge.Styled("╭─") + title + edge.Styled(rule) + note + edge.Styled("─╮")}
	for _, line := range lines {
		out = append(out, edge.Styled("│")+" "+pad(line, inner)+" "+edge.Styled("│"))
	}
	return append(out, edge.Styled("╰"+strings.Repeat("─", inner+2)+"╯"))
}

// buttons returns a row of choices. The chosen one is recognizable without colours too.
func (s *styles) buttons(names []string, chosen int) string {
	parts := make([]string, len(names))
	for i, name := range names {
		if i == chosen {
			parts[i] = s.chosen.Styled("[ " + name + " ]")
		} else {
			parts[i] = "  " + name + "  "
		}
	}
	return strings.Join(parts, " ")
}

// either returns a row of two choices. The second one is chosen if isYes.
func (s *styles) either(no, yes string, isYes bool) string {
	chosen := 0
	if isYes {
		chosen = 1
	}
	return s.buttons([]string{no, yes}, chosen)
}
