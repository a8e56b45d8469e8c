package tui

import (
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// dialog is a box that takes all keys until it closes by setting model.dialog.
type dialog interface {
	key(m *model, k tea.KeyPressMsg) tea.Cmd
	// content returns what the box shows, in lines of at most width columns. The box shows at most rows of them, among
	// them the line focus.
	content(m *model, width, rows int) boxed
}

// paster is a dialog that takes pasted text.
type paster interface{ paste(tea.PasteMsg) }

// boxed is the content of a box.
type boxed struct {
	title, note string
	lines       []string
	focus       int // line that must be visible
	edge        ansi.Style
}

// window returns at most rows lines, with the focus among them.
func (b boxed) window(rows int) []string {
	if len(b.lines) <= rows {
		return b.lines
	}
	if rows <= 0 {
		return nil
	}
	start := min(max(0, b.focus-rows/2), len(b.lines)-rows)
	return b.lines[start : start+rows]
}

// keepHelp closes every dialog about an approval, because the approval has ended or changed.
func keepHelp(d dialog) dialog {
	if h, ok := d.(*help); ok {
		return h
	}
	return nil
}

// stop is the dialog that asks whether to end everything that runs and waits in a session.
type stop struct {
	session string
	end     bool // the chosen button; the other one goes back
}

func (d *stop) key(m *model, k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc", "q", "n", "N":
		m.dialog = nil
	case "left", "h":
		d.end = false
	case "right", "l":
		d.end = true
	case "enter":
		m.dialog = nil
		if d.end {
			return m.send("", func() error { return m.client.Cancel(d.session) })
		}
	}
	return nil
}

func (d *stop) content(m *model, width, _ int) boxed {
	chosen := 0
	if d.end {
		chosen = 1
	}
	b := boxed{title: m.styles.title.Styled("Stop session " + shown(d.session)), edge: m.styles.bad}
	b.lines = wrap("Cancels its running calls and withdraws its pending approvals. The host stays connected and can call again.", width, "")
	b.focus = len(b.lines)
	b.lines = append(b.lines, m.styles.buttons([]string{"Go back", "Stop calls"}, chosen))
	return b
}
