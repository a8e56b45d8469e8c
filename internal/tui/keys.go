package tui

import (
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"
)

// key handles a key. Ctrl-C always quits. After a question appears, no other key counts until the keyboard has rested,
// whatever is on the screen.
func (m *model) key(k tea.KeyPressMsg) tea.Cmd {
	if k.String() == "ctrl+c" {
		return tea.Quit
	}
	if m.quiet.swallows(m.now) {
		return nil
	}
	if (view{m}).tooSmall() { // a person must not decide about a call that they cannot see
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
		return tea.Batch(m.refresh(true), toolScreen{m}.lookUp())
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
			toolScreen{m}.toolKey(k.String())
		}
	}
	return nil
}

// chosenSession returns the session of the current approval on its screen, and the selected session elsewhere.
func (m *model) chosenSession() string {
	if m.screen == approvals && m.current != nil {
		return m.current.SessionID
	}
	return m.roster.selected()
}

// visit goes to a screen, and drops hints about the keys of the one before.
func (m *model) visit(to screen) tea.Cmd {
	m.screen = to
	m.toasts = slices.DeleteFunc(m.toasts, func(t toast) bool { return t.here })
	if to == toolbox {
		return toolScreen{m}.lookUp()
	}
	return nil
}

// Choices below an approval, in the order of the screen. Enter takes the first one by default.
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
		return toolScreen{m}.visitDefinition(m.current)
	default:
		m.detail.scroll(k)
	}
	return nil
}

// move goes to a neighbouring approval, or scrolls if there is none, because a mouse wheel sends arrow keys too. The
// person asked for this approval, so keys count at once. They still have to see its arguments.
func (m *model) move(step int, k string) {
	if m.queue.len() == 1 {
		m.detail.scroll(k)
		return
	}
	if next := m.queue.neighbour(m.current, step); next != m.current {
		m.current, m.choice = next, 0
	}
}

// quietTime is how long the keyboard must rest after a question appears before keys count. Nobody who is typing
// elsewhere may answer it by accident.
const quietTime = 400 * time.Millisecond

// quiet ignores keys after a question appears until the keyboard has rested.
type quiet struct {
	muted  bool
	last   time.Time // when the question appeared, or a key was last ignored
	waking bool      // a redraw is scheduled for the end of the silence
}

// arm starts a new silence, because a question has popped up.
func (q *quiet) arm(now time.Time) { q.muted, q.last = true, now }

// swallows reports whether to ignore a key that arrives now. An ignored key extends the silence.
func (q *quiet) swallows(now time.Time) bool {
	if q.muted && now.Sub(q.last) < quietTime {
		q.last = now
		return true
	}
	q.muted = false
	return false
}

// silent reports whether a key pressed now would be ignored.
func (q *quiet) silent(now time.Time) bool { return q.muted && now.Sub(q.last) < quietTime }
