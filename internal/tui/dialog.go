package tui

import (
	"context"
	"errors"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// dialog is a box that takes all keys until it closes by setting model.dialog.
type dialog interface {
	key(m *model, k tea.KeyPressMsg) tea.Cmd
	// content returns lines of at most width columns. The box shows at most rows of them, including the line focus.
	content(m *model, width, rows int) boxed
}

// paster is a dialog that accepts pasted text.
type paster interface{ paste(tea.PasteMsg) }

// boxed is the content of a box.
type boxed struct {
	title, note string
	lines       []string
	focus       int // index of the line that must be visible
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

// keepHelp returns d if it is the help, otherwise nil. It closes dialogs about an approval that has ended or changed.
func keepHelp(d dialog) dialog {
	if h, ok := d.(*help); ok {
		return h
	}
	return nil
}

// confirmation is a dialog that asks whether to do something for a whole session or for all.
type confirmation struct {
	title, text, button string
	do                  func() error
	done                string // what to say once it is done; "" if an event says it
	yes                 bool   // the chosen button; the other one goes back
}

// newStopDialog asks whether to end everything that runs and waits in a session.
func newStopDialog(m *model, session string) *confirmation {
	return &confirmation{
		title: "Stop session " + shown(session), button: "Stop calls",
		text: "Cancels its running calls and withdraws its pending approvals. The host stays connected and can call again.",
		do:   func() error { return m.client.Cancel(session) },
	}
}

// newFreezeDialog asks whether to freeze all sessions or, if end is set, to unfreeze all.
func newFreezeDialog(m *model, end bool) *confirmation {
	c := &confirmation{
		title: "Freeze all sessions", button: "Freeze",
		text: "Refuses every call that writes, sends or runs, in all sessions, until someone unfreezes. Pending calls are refused too. Reading goes on.",
		done: "All sessions are frozen: only reading goes on. Z on the screen Sessions unfreezes.",
	}
	if end {
		c.title, c.button = "Unfreeze all sessions", "Unfreeze"
		c.done = "The freeze of all sessions has ended."
		c.text = "The rules decide about calls again. Sessions that were frozen one by one stay frozen."
	}
	c.do = func() error {
		if m.rest == nil || m.address == "" {
			return errors.New("not connected to callgate")
		}
		return m.rest.freeze(context.WithoutCancel(m.ctx), m.address, end)
	}
	return c
}

func (d *confirmation) key(m *model, k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc", "q", "n", "N":
		m.dialog = nil
	case "left", "h":
		d.yes = false
	case "right", "l":
		d.yes = true
	case "enter":
		m.dialog = nil
		if d.yes {
			return func() tea.Msg { return sentMsg{err: d.do(), done: d.done} }
		}
	}
	return nil
}

func (d *confirmation) content(m *model, width, _ int) boxed {
	b := boxed{title: m.styles.title.Styled(d.title), edge: m.styles.bad, lines: wrap(d.text, width, "")}
	b.focus = len(b.lines)
	b.lines = append(b.lines, m.styles.either("Go back", d.button, d.yes))
	return b
}
