package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"
)

// key does what a key means. Ctrl-C always leaves; everything else waits until the keyboard has rested since
// the last question appeared, whatever is on the screen.
func (m *model) key(k tea.KeyPressMsg) tea.Cmd {
	if k.String() == "ctrl+c" {
		return tea.Quit
	}
	if m.quiet.swallows(m.now) {
		return nil
	}
	if m.tooSmall() { // nobody decides about what cannot be seen
		if k.String() == "q" {
			return tea.Quit
		}
		return nil
	}
	if m.dialog != nil {
		return m.dialog.key(m, k)
	}
	switch k.String() {
	case "q":
		return tea.Quit
	case "ctrl+z":
		return tea.Suspend
	case "?":
		m.dialog = &help{}
	case "tab":
		return m.visit((m.screen + 1) % screen(len(screenNames)))
	case "shift+tab":
		return m.visit((m.screen + screen(len(screenNames)) - 1) % screen(len(screenNames)))
	case "1", "2", "3", "4":
		return m.visit(screen(k.String()[0] - '1'))
	case "!":
		m.dialog = &own{input{limit: maxOwnCommand}}
	case "c", "C":
		if id := m.chosenSession(); id != "" {
			m.dialog = newTalk(id)
		}
	case "r":
		return tea.Batch(m.refresh(true), m.lookUp())
	default:
		switch m.screen {
		case approvals:
			return m.approvalKey(k.String())
		case sessions:
			return m.sessionKey(k.String())
		case trail:
			m.trailView.scroll(k.String())
			m.follow = m.trailView.below() == 0
		case toolbox:
			m.toolKey(k.String())
		}
	}
	return nil
}

// chosenSession is the session of the approval that is looked at, or the one that is chosen among the sessions.
func (m *model) chosenSession() string {
	if m.screen == approvals && m.current != nil {
		return m.current.SessionID
	}
	return m.roster.selected()
}

// visit goes to a screen. What was said about keys on the other one does not come along.
func (m *model) visit(to screen) tea.Cmd {
	m.screen = to
	m.toasts = slices.DeleteFunc(m.toasts, func(t toast) bool { return t.here })
	if to == toolbox {
		return m.lookUp()
	}
	return nil
}

// Choices of the box below an approval, in the order of the screen. The first is what Enter takes unless
// something else was chosen.
const (
	chooseDeny = iota
	chooseApprove
	chooseAlways
	chooseEdit
)

var choices = []string{"Deny…", "Approve", "Always…", "Edit…"}

func (m *model) approvalKey(k string) tea.Cmd {
	if m.current == nil {
		return nil
	}
	switch k {
	case "up", "k":
		m.move(-1, k)
	case "down", "j":
		m.move(+1, k)
	case "left", "h":
		m.choice = max(0, m.choice-1)
	case "right", "l":
		m.choice = min(len(choices)-1, m.choice+1)
	case "enter":
		return m.choose(m.choice)
	case "n", "N":
		return m.choose(chooseDeny)
	case "y", "Y":
		return m.choose(chooseApprove)
	case "a", "A":
		return m.choose(chooseAlways)
	case "e", "E":
		return m.choose(chooseEdit)
	case "u", "U":
		m.openAutonomy(m.current.SessionID)
	case "d", "D":
		return m.visitDefinition(m.current)
	default:
		m.detail.scroll(k)
	}
	return nil
}

// move goes to a neighbour, or scrolls when there is none: a mouse wheel arrives as arrow keys too. It is the
// person's own step, so nothing is swallowed after it; what is to be read there still has to be read.
func (m *model) move(step int, k string) {
	if m.queue.len() == 1 {
		m.detail.scroll(k)
		return
	}
	if next := m.queue.beside(m.current, step); next != m.current {
		m.current, m.choice = next, 0
	}
}
