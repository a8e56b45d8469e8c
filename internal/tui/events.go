package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"callgate/internal/companion/wire"
)

// listener updates the model from the companion's events.
type listener struct{ model *model }

// event handles one event of the client.
func (m listener) event(e wire.Event) tea.Cmd {
	switch f := e.Frame.(type) {
	case wire.Connected:
		return m.connected(f)
	case wire.Notice:
		m.model.partial = slices.ContainsFunc(f.Problems, wire.IsUnseen)
		for _, problem := range f.Problems {
			m.model.toast(toastBad, "%s.", problem)
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
		m.model.roster.team(f)
	case *wire.AgentState:
		m.model.roster.state(f)
	case *wire.AutonomyChanged:
		m.model.roster.level(f)
		if f.By != "" {
			m.model.toast(toastInfo, "Autonomy of session %s is now %s, set by %s.", f.SessionID, f.Level, f.By)
		}
	case *wire.ChatAsked:
		m.model.chatted(f.SessionID, f.By, f.Text, true)
	case *wire.Token:
		m.model.chatted(f.SessionID, "model", f.Content, true)
	case *wire.Done:
		m.model.chatted(f.SessionID, "", "", false)
	case *wire.ChatCleared:
		delete(m.model.talks, f.SessionID)
	case *wire.AuditEntry:
		m.model.log.add(entryOf(f))
	}
	return nil
}

// connected forgets everything, because the companion sends it again.
func (m listener) connected(f wire.Connected) tea.Cmd {
	m.forget()
	m.model.address, m.model.partial = f.Address, false
	again := "Connected"
	if m.model.connections++; m.model.connections > 1 {
		again = "Connected again"
	}
	m.model.toast(toastGood, "%s to callgate at %s.", again, f.Address)
	cmds := []tea.Cmd{m.model.refresh(true)}
	ended := m.model.unrecorded
	m.model.unrecorded = nil
	for _, c := range ended {
		cmds = append(cmds, m.model.recordOwn(c))
	}
	return tea.Batch(cmds...)
}

func (m listener) disconnected(f wire.Disconnected) tea.Cmd {
	if f.Final {
		m.model.err = f.Err
		return tea.Quit
	}
	m.model.toast(toastBad, "The connection is lost; trying again.")
	for _, a := range m.model.queue.all() {
		if a.sent != "" {
			m.model.toast(toastBad, "The answer to %s may not have arrived.", a.Tool)
		}
	}
	m.forget()
	return nil
}

// forget drops everything that belongs to the connection.
func (m listener) forget() {
	m.model.address, m.model.queue, m.model.roster, m.model.servers, m.model.serversErr, m.model.offered = "", queue{}, newRoster(), nil, "", offered{}
	clear(m.model.talks)
	m.model.dialog = keepHelp(m.model.dialog)
	m.show(nil)
}

// show makes a the current approval. The person did not ask for it, so keys do not count at first.
func (m listener) show(a *approval) {
	m.model.current, m.model.choice = a, 0
	m.model.quiet.arm(m.model.now)
}

func (m listener) asked(f *wire.ToolApproveRequest) tea.Cmd {
	known := m.model.queue.find(f.ToolCallID) != nil
	a := m.model.queue.put(f)
	switch {
	case m.model.current == nil:
		m.model.screen = approvals
		m.show(a)
	case m.model.current.ToolCallID == f.ToolCallID:
		what := "The arguments of this call changed"
		if m.model.current.ArgsDigest == f.ArgsDigest {
			what = "The details of this call changed"
		}
		m.model.dialog = keepHelp(m.model.dialog)
		m.show(a)
		m.model.toast(toastBad, "%s. Look at it again.", what)
	case !known:
		m.model.toast(toastInfo, "%s waits too (%d in all).", f.Tool, m.model.queue.len())
	}
	if m.model.bell && !known {
		return tea.Batch(tea.Raw("\a"), m.model.compare(a))
	}
	return m.model.compare(a)
}

func (m listener) resolved(f *wire.ToolApproveResolved) tea.Cmd {
	gone, next := m.model.queue.remove(f.ToolCallID)
	if gone == nil {
		return nil
	}
	kind, text := resolvedText(gone.Tool, f)
	m.model.toast(kind, "%s", text)
	if gone == m.model.current {
		m.model.dialog = keepHelp(m.model.dialog)
		m.show(next)
	}
	if m.model.once {
		m.model.outcome = wire.OutcomeOf(f.Decision)
		return tea.Quit
	}
	return nil
}

// failed shows an error. If it names an approval, the answer had no effect.
func (m listener) failed(f *wire.Error) {
	if f.Code == wire.CodeApprovalTimeout {
		return // the resolved frame says so
	}
	if of, ok := m.model.talks[f.SessionID]; ok && f.ToolCallID == "" {
		of.asking = false
		m.model.talks[f.SessionID] = of
	}
	if a := m.model.queue.find(f.ToolCallID); a != nil {
		a.sent = ""
		if a == m.model.current {
			m.model.quiet.arm(m.model.now)
		}
	}
	m.model.toast(toastBad, "callgate says: %s", f.Message)
}
