package tui

import (
	tea "charm.land/bubbletea/v2"
)

// levels are the levels of autonomy, from strict to free, and then the presets by category.
var levels = [...]struct{ name, words string }{
	{"NONE", "the rules alone decide"},
	{"MANUAL", "everything asks"},
	{"CAUTIOUS", "low risk runs, the rest asks"},
	{"GUIDED", "asks beyond what you named"},
	{"SUPERVISED", "high risk and sending ask"},
	{"FULL_AUTO", "runs all but critical risk"},
	{"ask-on-write", "reading runs, the rest asks"},
	{"ask-on-external", "reading and edits run, rest asks"},
	{"allow-safe-readonly", "reading runs, the rest asks"},
}

// autonomy is the dialog that sets a session's level. The cursor starts at the current level, so Enter changes nothing.
type autonomy struct {
	session string
	current int // -1 if unknown
	cursor  int
}

func (m *model) openAutonomy(session string) {
	d := &autonomy{session: session, current: -1}
	for i, level := range levels {
		if level.name == m.roster.sessions[session].level {
			d.current, d.cursor = i, i
		}
	}
	m.dialog = d
}

func (d *autonomy) key(m *model, k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc", "q":
		m.dialog = nil
	case "up", "k", "shift+tab":
		d.cursor = max(0, d.cursor-1)
	case "down", "j", "tab":
		d.cursor = min(len(levels)-1, d.cursor+1)
	case "enter":
		m.dialog = nil
		if d.cursor != d.current {
			session, level := d.session, levels[d.cursor].name
			return m.send("", func() error { return m.client.SetAutonomy(session, level) })
		}
	}
	return nil
}

func (d *autonomy) content(m *model, width, _ int) boxed {
	s := &m.styles
	b := boxed{title: s.title.Styled("Autonomy of session " + shown(d.session)), edge: s.warn}
	b.lines = append(b.lines, s.faint.Styled("Denied calls stay denied at every level."))
	for i, level := range levels {
		mark, radio := "  ", "( ) "
		if i == d.current {
			radio = "(•) "
		}
		line := radio + pad(level.name, 20) + level.words
		if i == d.cursor {
			mark, b.focus = "▸ ", len(b.lines)
			line = s.chosen.Styled(cut(line, width-2))
		}
		b.lines = append(b.lines, mark+line)
	}
	b.lines = append(b.lines, s.faint.Styled("↑↓ choose · Enter sets · Esc goes back"))
	return b
}
