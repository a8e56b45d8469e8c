package tui

import (
	tea "charm.land/bubbletea/v2"

	"callgate/internal/companion/wire"
)

// choose applies a choice to the current approval. All choices except a denial require that the person has seen all
// arguments.
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
		m.dialog = newGrantDialog(a)
	case chooseEdit:
		return m.edit(a)
	}
	return nil
}

// answer sends the answer unless one was sent already. Every approval passes here, so this is the last check that the
// person has seen all arguments. Callers MUST check that too.
func (m *model) answer(a *approval, f wire.ToolApprove) tea.Cmd {
	m.dialog = nil
	if a.sent != "" || f.Decision != "reject" && !a.read {
		return nil
	}
	a.sent = f.Decision
	f.SessionID, f.ToolCallID, f.ArgsDigest = a.SessionID, a.ToolCallID, a.ArgsDigest
	return m.send(a.ToolCallID, func() error { return m.client.Answer(f) })
}
