package companion

import (
	"callgate/gate"
	"callgate/internal/companion/wire"
)

// roster tracks what each session's agents are doing, based on the events that one client gets.
type roster map[string]*crew

// crew holds the agents of one session. The session's own agent does what the whole session does.
type crew struct {
	own     string
	members map[string]*member // by id, own included
}

type member struct {
	info    gate.AgentInfo
	waiting map[string]bool // pending approvals
	running map[string]bool // running calls; true for those that the host's model answers
}

// apply handles an event and returns the new states of the agents that it changed. Calls that were already running when
// the client connected show only in the agents' own status, until one of them ends.
func (r roster) apply(event gate.Event) []wire.AgentState {
	id := event.Session()
	c := r[id]
	switch e := event.(type) {
	case gate.SessionOpened:
		if c == nil {
			c = &crew{members: map[string]*member{}}
			r[id] = c
		}
		return c.muster(e.Info) // comes again when the host names itself, and when an agent comes or goes
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
		return c.changed(id, e.Agent, func(m *member) { m.running[e.ID] = e.Thinks })
	case gate.Finished:
		return c.changed(id, e.Agent, func(m *member) { delete(m.running, e.ID) })
	}
	return nil
}

// muster replaces the session's agents and returns what each of them does.
func (c *crew) muster(info gate.SessionInfo) (states []wire.AgentState) {
	before := c.members
	c.own, c.members = info.Agent, map[string]*member{}
	enlist := func(a gate.AgentInfo) {
		m := before[a.ID]
		if m == nil {
			m = &member{waiting: map[string]bool{}, running: map[string]bool{}}
		}
		m.info = a
		c.members[a.ID] = m
		states = append(states, m.state(info.ID))
	}
	enlist(gate.AgentInfo{ID: info.Agent, Role: info.Agent, Status: info.Status})
	for _, a := range info.Agents {
		if a.ID != info.Agent {
			enlist(a)
		}
	}
	return states
}

// changed applies a change to the session's own agent and to the agent that it concerns.
func (c *crew) changed(session, agent string, change func(*member)) (states []wire.AgentState) {
	concerned := []*member{c.members[c.own]}
	if m := c.members[agent]; m != nil && agent != c.own {
		concerned = append(concerned, m)
	}
	for _, m := range concerned {
		change(m)
		if status := m.does(); status != m.info.Status {
			m.info.Status = status
			states = append(states, m.state(session))
		}
	}
	return states
}

// asker returns the registered agent whose call waits for the approval, or "".
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
	case len(m.running) == 0:
		return "idle"
	}
	for _, thinks := range m.running {
		if !thinks {
			return "running"
		}
	}
	return "thinking"
}

func (m *member) state(session string) wire.AgentState {
	return wire.AgentState{Head: wire.NewHead(wire.TypeAgentState, session), AgentID: m.info.ID, Status: m.info.Status, Role: m.info.Role, Provider: m.info.Provider, Model: m.info.Model}
}
