package tui

import (
	"context"
	"errors"

	tea "charm.land/bubbletea/v2"
)

// freeze is the dialog that asks whether to freeze all sessions, or with end, to unfreeze them.
type freeze struct {
	end bool
	yes bool // the chosen button; the other one goes back
}

func (d *freeze) key(m *model, k tea.KeyPressMsg) tea.Cmd {
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
			return m.send("", func() error {
				if m.rest == nil || m.address == "" {
					return errors.New("not connected to callgate")
				}
				return m.rest.freeze(context.WithoutCancel(m.ctx), m.address, d.end)
			})
		}
	}
	return nil
}

func (d *freeze) content(m *model, width, _ int) boxed {
	title, text, button := "Freeze all sessions", "Refuses every call that writes, sends or runs, in all sessions, until someone unfreezes. Pending calls are refused too. Reading goes on.", "Freeze"
	if d.end {
		title, text, button = "Unfreeze all sessions", "The rules decide about calls again. Sessions that were frozen one by one stay frozen.", "Unfreeze"
	}
	chosen := 0
	if d.yes {
		chosen = 1
	}
	b := boxed{title: m.styles.title.Styled(title), edge: m.styles.bad}
	b.lines = wrap(text, width, "")
	b.focus = len(b.lines)
	b.lines = append(b.lines, m.styles.buttons([]string{"Go back", button}, chosen))
	return b
}

// frozen reports whether a session is.
func (r *roster) frozen() bool {
	for _, s := range r.sessions {
		if s.mode == "FROZEN" {
			return true
		}
	}
	return false
}
