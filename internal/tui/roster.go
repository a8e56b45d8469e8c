package tui

import (
	"cmp"
	"slices"
	"strings"

	"callgate/internal/companion/wire"
)

// roster holds what frames say about sessions.
type roster struct {
	sessions map[string]session
	order    []string // ids in the order of arrival
	chosen   string   // id in the sessions view
}

// session is one connection of a host.
type session struct {
	id                                 string // id of its own agent
	client, agent, mode, level, status string
	team                               []agent // registered by clients
}

// agent is an agent that a client registered.
type agent struct {
	id, role, about, status string
}

func newRoster() roster { return roster{sessions: map[string]session{}} }

func (r *roster) team(f *wire.TeamUpdate) {
	if len(f.Agents) == 0 {
		delete(r.sessions, f.SessionID)
		r.order = slices.DeleteFunc(r.order, func(id string) bool { return id == f.SessionID })
		return
	}
	s := r.known(f.SessionID)
	a := f.Agents[0]
	s.id, s.agent, s.mode, s.client = a.AgentID, cmp.Or(a.Role, a.AgentID), a.Permissions, a.Client.Name
	if a.Client.Version != "" {
		s.client += " " + a.Client.Version
	}
	s.team = teamOf(f.Agents[1:], s.team)
	r.sessions[f.SessionID] = s
}

// teamOf describes the registered agents. It keeps their known status.
func teamOf(agents []wire.TeamAgent, before []agent) []agent {
	team := make([]agent, len(agents))
	for i, a := range agents {
		one := agent{id: a.AgentID, role: a.Role}
		if at := slices.IndexFunc(before, func(b agent) bool { return b.id == a.AgentID }); at >= 0 {
			one.status = before[at].status
		}
		var about []string
		model := strings.TrimSpace(a.Provider + " " + a.Model)
		for _, said := range []string{a.Domain, model, a.Goal} {
			if said != "" {
				about = append(about, said)
			}
		}
		for _, r := range a.Roles {
			about = append(about, strings.TrimSpace("also "+r.Name+" "+r.Domain))
		}
		one.about = strings.Join(about, ", ")
		team[i] = one
	}
	return team
}

func (r *roster) state(f *wire.AgentState) {
	s := r.known(f.SessionID)
	if f.AgentID == s.id {
		s.status = f.Status
	}
	s.team = slices.Clone(s.team)
	for i := range s.team {
		if s.team[i].id == f.AgentID {
			s.team[i].status = f.Status
		}
	}
	r.sessions[f.SessionID] = s
}

func (r *roster) level(f *wire.AutonomyChanged) {
	s := r.known(f.SessionID)
	s.level = f.Level
	r.sessions[f.SessionID] = s
}

func (r *roster) known(id string) session {
	if _, ok := r.sessions[id]; !ok {
		r.order = append(r.order, id)
	}
	return r.sessions[id]
}

// alarm returns the mode of a session that everybody should know of, or "".
func (r *roster) alarm() (mode string) {
	for _, id := range r.order {
		switch of := r.sessions[id].mode; of {
		case "GATE OFF":
			return of
		case "FROZEN":
			mode = of
		}
	}
	return mode
}

// selected returns the id of the chosen session, or else of the first one, or "".
func (r *roster) selected() string {
	if slices.Contains(r.order, r.chosen) {
		return r.chosen
	}
	if len(r.order) > 0 {
		return r.order[0]
	}
	return ""
}

func (r *roster) move(step int) {
	if len(r.order) == 0 {
		return
	}
	at := slices.Index(r.order, r.selected()) + step
	r.chosen = r.order[min(max(0, at), len(r.order)-1)]
}
