package companion

import "callgate/gate"

// roster follows what each session's agents are doing, from the events that one client sees.
type roster map[string]*crew

// crew is the agents of one session. What its own agent does is what the whole session does.
type crew struct {
	own     string
	members map[string]*member // by id, own included
}

type member struct {
	id, role string
	status   string
	waiting  map[string]bool // approvals that are pending
	running  map[string]bool // calls that are at their upstream
}

// apply takes an event in and returns the new states of the session's agents that it changed. Calls that
// were running when the client came are known from the agents' own status alone, until one ends.
func (r roster) apply(event gate.Event) []AgentState {
	id := event.Session()
	c := r[id]
	switch e := event.(type) {
	case gate.SessionOpened:
		if c == nil {
			c = &crew{members: map[string]*member{}}
			r[id] = c
		}
		return c.muster(e.Info) // told again when the host names itself, and when an agent comes or goes
	case gate.SessionClosed:
		delete(r, id)
		return nil
	}
	if c == nil {
		return nil
	}
	switch e := event.(type) {
	case gate.Asked:
		return c.changed(id, e.Approval.Agent, func(m *member) { m.waiting[e.Approval.ID] = true })
	case gate.Resolved:
		return c.changed(id, c.asker(e.ID), func(m *member) { delete(m.waiting, e.ID) })
	case gate.Started:
		return c.changed(id, e.Agent, func(m *member) { m.running[e.ID] = true })
	case gate.Finished:
		return c.changed(id, e.Agent, func(m *member) { delete(m.running, e.ID) })
	}
	return nil
}

// muster takes over who is there, and returns what each of them does.
func (c *crew) muster(info gate.SessionInfo) (states []AgentState) {
	before := c.members
	c.own, c.members = info.Agent, map[string]*member{}
	enlist := func(id, role, status string) {
		m := before[id]
		if m == nil {
			m = &member{id: id, waiting: map[string]bool{}, running: map[string]bool{}}
		}
		m.role, m.status = role, status
		c.members[id] = m
		states = append(states, m.state(info.ID))
	}
	enlist(info.Agent, info.Agent, info.Status)
	for _, a := range info.Agents {
		if a.ID != info.Agent {
			enlist(a.ID, a.Role, a.Status)
		}
	}
	return states
}

// changed applies a change to the session's own agent and to the one that it is about, when that is another.
func (c *crew) changed(session, agent string, change func(*member)) (states []AgentState) {
	concerned := []*member{c.members[c.own]}
	if m := c.members[agent]; m != nil && agent != c.own {
		concerned = append(concerned, m)
	}
	for _, m := range concerned {
		change(m)
		if status := m.does(); status != m.status {
			m.status = status
			states = append(states, m.state(session))
		}
	}
	return states
}

// asker is the registered agent whose call waits for the approval; "" when none does.
func (c *crew) asker(approval string) string {
	for id, m := range c.members {
		if id != c.own && m.waiting[approval] {
			return id
		}
	}
	return ""
}

func (m *member) does() string {
	switch {
	case len(m.waiting) > 0:
		return "waiting"
	case len(m.running) > 0:
		return "running"
	}
	return "idle"
}

func (m *member) state(session string) AgentState {
	return AgentState{Head: head(TypeAgentState, session), AgentID: m.id, Status: m.status, Role: m.role}
}
