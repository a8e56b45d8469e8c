package tui

import (
	tea "charm.land/bubbletea/v2"

	"callgate/internal/companion"
)

// event takes in what the client delivers.
func (m *model) event(e companion.Event) tea.Cmd {
	switch f := e.Frame.(type) {
	case companion.Connected:
		return m.connected(f)
	case companion.Notice:
		for _, problem := range f.Problems {
			m.toast(toastBad, "%s.", problem)
		}
	case companion.Disconnected:
		return m.disconnected(f)
	case *companion.ToolApproveRequest:
		return m.asked(f)
	case *companion.ToolApproveResolved:
		return m.resolved(f)
	case *companion.Error:
		m.failed(f)
	case *companion.TeamUpdate:
		m.roster.team(f)
	case *companion.AgentState:
		m.roster.state(f)
	case *companion.AutonomyChanged:
		m.roster.level(f)
		if f.By != "" {
			m.toast(toastInfo, "Autonomy of session %s is now %s, set by %s.", f.SessionID, f.Level, f.By)
		}
	case *companion.ChatAsked:
		m.chatted(f.SessionID, f.By, f.Text, true)
	case *companion.Token:
		m.chatted(f.SessionID, "model", f.Content, true)
	case *companion.Done:
		m.chatted(f.SessionID, "", "", false)
	case *companion.ChatCleared:
		delete(m.talks, f.SessionID)
	case *companion.AuditEntry:
		m.log.add(entryOf(f))
	}
	return nil
}

// connected: everything that was known is void, and told again.
func (m *model) connected(f companion.Connected) tea.Cmd {
	m.forget()
	m.address = f.Address
	again := "Connected"
	if m.connections++; m.connections > 1 {
		again = "Connected again"
	}
	m.toast(toastGood, "%s to callgate at %s.", again, f.Address)
	return m.refresh(true)
}

func (m *model) disconnected(f companion.Disconnected) tea.Cmd {
	if f.Final {
		m.err = f.Err
		return tea.Quit
	}
	m.toast(toastBad, "The connection is lost; trying again.")
	for _, a := range m.queue.all() {
		if a.sent != "" {
			m.toast(toastBad, "It is not known whether the answer to %s arrived.", a.Tool)
		}
	}
	m.forget()
	return nil
}

// forget drops what only a connection knows.
func (m *model) forget() {
	m.address, m.queue, m.roster, m.servers, m.serversErr, m.offered = "", queue{}, newRoster(), nil, "", offered{}
	clear(m.talks)
	m.dialog = keepHelp(m.dialog)
	m.show(nil)
}

// show makes a the approval that keys are about. It was not asked for by a key, so the keyboard has to rest.
func (m *model) show(a *approval) {
	m.current, m.choice = a, 0
	m.quiet.arm(m.now)
}

func (m *model) asked(f *companion.ToolApproveRequest) tea.Cmd {
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

func (m *model) resolved(f *companion.ToolApproveResolved) tea.Cmd {
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
func (m *model) failed(f *companion.Error) {
	if f.Code == companion.CodeApprovalTimeout {
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

func outcomeOf(decision string) companion.Outcome {
	switch decision {
	case "approve", "always":
		return companion.Approved
	case "reject":
		return companion.Rejected
	}
	return companion.Withdrawn
}
