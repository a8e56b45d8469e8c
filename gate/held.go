package gate

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"callgate/audit"
	"callgate/gate/tools"
	"callgate/permissions"
)

// Controls holds what people can change besides answering: levels, agents, freezes and grants. Every change is on
// record.
type Controls struct{ gate *Gate }

// Note records a change that a person makes besides answering approvals: to rules, grants or definitions. If it fails,
// the caller MUST NOT change anything. sessionID is "" if the change concerns no session.
func (c Controls) Note(sessionID string, who audit.Author, summary string) error {
	g := c.gate
	return g.journal.control(who, audit.Record{SessionID: sessionID, Summary: summary})
}

// NoteChat records what a person said to the host's model in a session, or what the model said. If it fails, the chat
// MUST NOT go on.
func (c Controls) NoteChat(sessionID string, who audit.Author, summary, text string) error {
	g := c.gate
	said, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		return err
	}
	return g.journal.control(who, audit.Record{SessionID: sessionID, Kind: tools.KindSampling, Summary: summary, Arguments: said})
}

// Note records something that callgate itself noticed in the session.
func (s *Session) Note(summary string) error {
	return s.gate.Controls.Note(s.id, audit.Author{By: "callgate"}, summary)
}

// Policy returns what the rules say now for calls of the session's own agent, grants in memory included.
func (c Controls) Policy(sessionID string) (*permissions.Policy, error) {
	g := c.gate
	s, err := g.registry.session(sessionID)
	if err != nil {
		return nil, err
	}
	return s.policy(s.agent)
}

// Agents returns the profiles that sessions and calls may run under, by name.
func (g *Gate) Agents() []permissions.Agent {
	return slices.SortedFunc(maps.Values(g.agents), func(a, b permissions.Agent) int { return strings.Compare(a.Name, b.Name) })
}

// HeldGrant is a grant that lives in memory: for one session, or for the worker when SessionID is "".
type HeldGrant struct {
	permissions.Grant
	SessionID string
}

// HeldGrants returns the grants that are not in the worker's file.
func (c Controls) HeldGrants() []HeldGrant {
	g := c.gate
	held := appendHeld(nil, "", &g.granted)
	for _, s := range g.registry.openSessions() {
		held = appendHeld(held, s.id, &s.granted)
	}
	return held
}

func appendHeld(held []HeldGrant, sessionID string, book *grantBook) []HeldGrant {
	grants, _ := book.read()
	for _, grant := range grants {
		held = append(held, HeldGrant{grant, sessionID})
	}
	return held
}

// RevokeHeld takes back the grants in memory that drop selects, and returns their number. Calls that they covered ask
// again.
func (c Controls) RevokeHeld(drop func(HeldGrant) bool) int {
	g := c.gate
	n := g.granted.remove(func(grant permissions.Grant) bool { return drop(HeldGrant{grant, ""}) })
	for _, s := range g.registry.openSessions() {
		n += s.granted.remove(func(grant permissions.Grant) bool { return drop(HeldGrant{grant, s.id}) })
	}
	return n
}

// remove removes the grants that drop selects and returns their number. It does not change a slice that read returned.
func (b *grantBook) remove(drop func(permissions.Grant) bool) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := slices.DeleteFunc(slices.Clone(b.grants), drop)
	n := len(b.grants) - len(left)
	if n > 0 {
		b.grants = left
		b.version++
	}
	return n
}

func (r *registry) openSessions() []*Session {
	r.opening.Lock()
	defer r.opening.Unlock()
	sessions := slices.Collect(maps.Values(r.sessions))
	slices.SortFunc(sessions, func(a, b *Session) int { return a.startedAt.Compare(b.startedAt) })
	return sessions
}
