package tui

import tea "charm.land/bubbletea/v2"

// stop asks whether everything that runs and waits in a session may be ended.
type stop struct {
	session string
	end     bool // the button that is chosen; the other one goes back
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
	b.lines = wrap("Ends what runs, and withdraws what waits. The host stays connected and can call again.", width, "")
	b.focus = len(b.lines)
	b.lines = append(b.lines, m.styles.buttons([]string{"Go back", "Stop calls"}, chosen))
	return b
}
