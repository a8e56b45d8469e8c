package tui

import (
	tea "charm.land/bubbletea/v2"

	"callgate/internal/companion/wire"
)

// choose does what a choice means for the current approval. All of them but a denial need that the arguments
// were read.
func (m *model) choose(choice int) tea.Cmd {
	a := m.current
	if a.sent != "" {
		m.toast(toastInfo, "An answer is being sent.")
		return nil
	}
	if choice == chooseDeny {
		m.dialog = newDenial(a)
		return nil
	}
	if !a.read {
		m.hint("Nothing was sent: read all arguments first (Space scrolls).")
		return nil
	}
	switch choice {
	case chooseApprove:
		return m.answer(a, wire.ToolApprove{Decision: "approve"})
	case chooseAlways:
		if len(a.Always) == 0 {
			m.hint("Nothing was sent: this call cannot be allowed always.")
			return nil
		}
		m.dialog = newLadder(a)
	case chooseEdit:
		return m.edit(a)
	}
	return nil
}

// answer sends an answer to a. Only the first one for what is on the screen is sent. All approvals pass here, so this
// makes the last check. It MUST NOT be called for arguments that were not read.
func (m *model) answer(a *approval, f wire.ToolApprove) tea.Cmd {
	m.dialog = nil
	if a.sent != "" || f.Decision != "reject" && !a.read {
		return nil
	}
	a.sent = f.Decision
	f.SessionID, f.ToolCallID, f.ArgsDigest = a.SessionID, a.ToolCallID, a.ArgsDigest
	return m.send(a.ToolCallID, func() error { return m.client.Answer(f) })
}
