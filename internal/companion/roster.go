package companion

import "callgate/gate"

// roster follows what each session's agent is doing, from the events that one client sees.
type roster map[string]*member

type member struct {
	agent   string
	status  string
	waiting map[string]bool // approvals that are pending
	running map[string]bool // calls that are at their upstream
}

// apply takes an event in and returns the new state of its session's agent if it changed. Calls that
// were running when the client came are known from the session's own status alone, until one ends.
func (r roster) apply(event gate.Event) (AgentState, bool) {
	id := event.Session()
	m := r[id]
	switch e := event.(type) {
	case gate.SessionOpened:
		if m == nil {
			m = &member{waiting: map[string]bool{}, running: map[string]bool{}}
			r[id] = m
		}
		m.agent, m.status = e.Info.Agent, e.Info.Status // told again when the host names itself
		return m.state(id), true
	case gate.SessionClosed:
		delete(r, id)
		return AgentState{}, false
	}
	if m == nil {
		return AgentState{}, false
	}
	switch e := event.(type) {
	case gate.Asked:
		m.waiting[e.Approval.ID] = true
	case gate.Resolved:
		delete(m.waiting, e.ID)
	case gate.Started:
		m.running[e.ID] = true
	case gate.Finished:
		delete(m.running, e.ID)
	default:
		return AgentState{}, false
	}
	status := "idle"
	switch {
	case len(m.waiting) > 0:
		status = "waiting"
	case len(m.running) > 0:
		status = "running"
	}
	if status == m.status {
		return AgentState{}, false
	}
	m.status = status
	return m.state(id), true
}

func (m *member) state(session string) AgentState {
	return AgentState{Head: head(TypeAgentState, session), AgentID: m.agent, Status: m.status, Role: m.agent}
}
