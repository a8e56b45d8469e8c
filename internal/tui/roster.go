package tui

import (
	"cmp"
	"slices"

	"callgate/internal/companion"
)

// roster is what frames tell of the sessions.
type roster struct {
	sessions map[string]session
	order    []string // of their ids, as they came
	chosen   string   // in the sessions view
}

// session is one connection of a host.
type session struct {
	client, agent, mode, level, status string
}

func newRoster() roster { return roster{sessions: map[string]session{}} }

func (r *roster) team(f *companion.TeamUpdate) {
	if len(f.Agents) == 0 {
		delete(r.sessions, f.SessionID)
		r.order = slices.DeleteFunc(r.order, func(id string) bool { return id == f.SessionID })
		return
	}
	s := r.known(f.SessionID)
	a := f.Agents[0]
	s.agent, s.mode, s.client = cmp.Or(a.Role, a.AgentID), a.Permissions, a.Client.Name
	if a.Client.Version != "" {
		s.client += " " + a.Client.Version
	}
	r.sessions[f.SessionID] = s
}

func (r *roster) state(f *companion.AgentState) {
	s := r.known(f.SessionID)
	s.status = f.Status
	r.sessions[f.SessionID] = s
}

func (r *roster) level(f *companion.AutonomyChanged) {
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

// selected returns the chosen session, or the first, or "".
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
