package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/companion/wire"
)

// listener takes what the companion tells into the model.
type listener struct{ *model }

// event takes in what the client delivers.
func (m listener) event(e wire.Event) tea.Cmd {
	switch f := e.Frame.(type) {
	case wire.Connected:
		return m.connected(f)
	case wire.Notice:
		m.partial = slices.ContainsFunc(f.Problems, wire.IsUnseen)
		for _, problem := range f.Problems {
			m.toast(toastBad, "%s.", problem)
		}
	case wire.Disconnected:
		return m.disconnected(f)
	case *wire.ToolApproveRequest:
		return m.asked(f)
	case *wire.ToolApproveResolved:
		return m.resolved(f)
	case *wire.Error:
		m.failed(f)
	case *wire.TeamUpdate:
		m.roster.team(f)
	case *wire.AgentState:
		m.roster.state(f)
	case *wire.AutonomyChanged:
		m.roster.level(f)
		if f.By != "" {
			m.toast(toastInfo, "Autonomy of session %s is now %s, set by %s.", f.SessionID, f.Level, f.By)
		}
	case *wire.ChatAsked:
		m.chatted(f.SessionID, f.By, f.Text, true)
	case *wire.Token:
		m.chatted(f.SessionID, "model", f.Content, true)
	case *wire.Done:
		m.chatted(f.SessionID, "", "", false)
	case *wire.ChatCleared:
		delete(m.talks, f.SessionID)
	case *wire.AuditEntry:
		m.log.add(entryOf(f))
	}
	return nil
}

// connected: everything that was known is void, and told again.
func (m listener) connected(f wire.Connected) tea.Cmd {
	m.forget()
	m.address, m.partial = f.Address, false
	again := "Connected"
	if m.connections++; m.connections > 1 {
		again = "Connected again"
	}
	m.toast(toastGood, "%s to callgate at %s.", again, f.Address)
	return m.refresh(true)
}

func (m listener) disconnected(f wire.Disconnected) tea.Cmd {
	if f.Final {
		m.err = f.Err
		return tea.Quit
	}
	m.toast(toastBad, "The connection is lost; trying again.")
	for _, a := range m.queue.all() {
		if a.sent != "" {
			m.toast(toastBad, "The answer to %s may not have arrived.", a.Tool)
		}
	}
	m.forget()
	return nil
}

// forget drops what only a connection knows.
func (m listener) forget() {
	m.address, m.queue, m.roster, m.servers, m.serversErr, m.offered = "", queue{}, newRoster(), nil, "", offered{}
	clear(m.talks)
	m.dialog = keepHelp(m.dialog)
	m.show(nil)
}

// show makes a the approval that keys are about. It was not asked for by a key, so the keyboard has to rest.
func (m listener) show(a *approval) {
	m.current, m.choice = a, 0
	m.quiet.arm(m.now)
}

func (m listener) asked(f *wire.ToolApproveRequest) tea.Cmd {
	known := m.queue.find(f.ToolCallID) != nil
	a := m.queue.put(f)
	switch {
	case m.current == nil:
		m.screen = approvals
		m.show(a)
	case m.current.ToolCallID == f.ToolCallID:
		m.dialog = keepHelp(m.dialog)
		m.show(a)
		m.toast(toastBad, "The arguments of this call changed. Look at it again.")
	case !known:
		m.toast(toastInfo, "%s waits too (%d in all).", f.Tool, m.queue.len())
	}
	if m.bell && !known {
		return tea.Batch(tea.Raw("\a"), m.compare(a))
	}
	return m.compare(a)
}

func (m listener) resolved(f *wire.ToolApproveResolved) tea.Cmd {
	gone, heir := m.queue.remove(f.ToolCallID)
	if gone == nil {
		return nil
	}
	kind, text := resolvedText(gone.Tool, f)
	m.toast(kind, "%s", text)
	if gone == m.current {
		m.dialog = keepHelp(m.dialog)
		m.show(heir)
	}
	if m.once {
		m.outcome = outcomeOf(f.Decision)
		return tea.Quit
	}
	return nil
}

// failed: an error that names an approval means that the answer did nothing.
func (m listener) failed(f *wire.Error) {
	if f.Code == wire.CodeApprovalTimeout {
		return // the resolved frame said it
	}
	if of, ok := m.talks[f.SessionID]; ok && f.ToolCallID == "" {
		of.asking = false
		m.talks[f.SessionID] = of
	}
	if a := m.queue.find(f.ToolCallID); a != nil {
		a.sent = ""
		if a == m.current {
			m.quiet.arm(m.now)
		}
	}
	m.toast(toastBad, "callgate says: %s", f.Message)
}

func outcomeOf(decision string) wire.Outcome {
	switch decision {
	case "approve", "always":
		return wire.Approved
	case "reject":
		return wire.Rejected
	}
	return wire.Withdrawn
}
