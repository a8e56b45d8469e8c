package tui

import tea "charm.land/bubbletea/v2"

// help lists the keys.
type help struct{ top int }

var helpLines = [...][2]string{
	{"Approvals", ""},
	{"y", "approve this call, once"},
	{"n", "deny it; the text you type goes to the model"},
	{"a", "approve, and always allow a pattern you pick"},
	{"e", "edit the arguments in $VISUAL or $EDITOR, then approve"},
	{"← →, Enter", "choose a button; Enter presses it (Deny at first)"},
	{"↑ ↓", "go to another approval; scroll when it is the only one"},
	{"Space b, PgDn PgUp", "scroll the call; J K by a line, g G to its ends"},
	{"u", "autonomy of the session"},
	{"d", "the tool's definition, if it has changed"},
	{"Everywhere", ""},
	{"Tab, 1 2 3 4", "approvals, sessions and servers, audit trail, tools"},
	{"!", "run your own shell command outside the gate; it is recorded"},
	{"c", "chat with the model of the session"},
	{"r", "refresh the state of the servers"},
	{"q, Ctrl-C", "leave; calls keep waiting until they time out"},
	{"Sessions", ""},
	{"↑ ↓, u or Enter", "choose a session, set its autonomy"},
	{"x", "stop its running and pending calls"},
	{"z, Z", "freeze all sessions, so that only reading runs; unfreeze"},
	{"Tools", ""},
	{"↑ ↓, Enter", "choose a tool, look at it, accept its definition"},
	{"", ""},
	{"", "When a question appears, keys work after a pause of 400 ms."},
	{"", "y, a and e work once you have seen all arguments."},
	{"", "Enter alone never approves."},
}

func (d *help) key(m *model, k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "up", "k", "pgup", "b":
		d.top = max(0, d.top-1)
	case "down", "j", "pgdown", "space":
		d.top = min(len(helpLines)-1, d.top+1)
	default:
		m.dialog = nil
	}
	return nil
}

func (d *help) content(m *model, width, rows int) boxed {
	s := &m.styles
	b := boxed{title: s.title.Styled("Keys"), note: "any key closes", edge: s.faint}
	for _, line := range helpLines {
		switch {
		case line[1] == "":
			b.lines = append(b.lines, s.heading.Styled(line[0]))
		case line[0] == "":
			b.lines = append(b.lines, wrap(line[1], width, "")...)
		default:
			const column = 20
			for i, text := range wrap(line[1], width-column, "") {
				name := ""
				if i == 0 {
					name = line[0]
				}
				b.lines = append(b.lines, pad(name, column)+text)
			}
		}
	}
	d.top = min(d.top, max(0, len(b.lines)-rows))
	if len(b.lines) > rows {
		b.note = "↑ ↓ scroll, any other key closes"
	}
	b.focus = d.top + rows/2
	return b
}
