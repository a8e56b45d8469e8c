package gate

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"callgate/audit"
	"callgate/permissions"
)

// maxAgents bounds the profiles that clients may register in one session.
const maxAgents = 64

// AgentInfo is what people see of an agent that runs in a session.
type AgentInfo struct {
	ID   string `json:"agentId"`
	Role string `json:"role"`
	Goal string `json:"goal,omitempty"`
}

// AddAgent registers a subagent profile for the session and returns its id, the name and eight hex digits. A
// call that names the id in _meta "callgate/agent" is judged under the profile too, which can only tighten.
// The profile ends with the session.
func (g *Gate) AddAgent(sessionID string, profile permissions.Agent, info AgentInfo, by string) (id string, err error) {
	s, err := g.session(sessionID)
	if err != nil {
		return "", err
	}
	if _, err := permissions.NewPolicy(profile.Rules, nil, nil); err != nil {
		return "", fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	suffix := make([]byte, 4)
	rand.Read(suffix)
	info.ID = cmp.Or(strings.TrimSpace(profile.Name), info.Role, "agent") + "-" + hex.EncodeToString(suffix)
	s.mu.Lock()
	if len(s.team) >= maxAgents {
		s.mu.Unlock()
		return "", fmt.Errorf("%w: the session has %d agents already: remove one", ErrAnswer, maxAgents)
	}
	if s.team == nil {
		s.team = map[string]teamMember{}
	}
	s.team[info.ID] = teamMember{info, profile}
	s.mu.Unlock()
	return info.ID, g.teamChanged(s, by, fmt.Sprintf("Agent %q added.", info.ID))
}

// RemoveAgent ends a registered profile. Calls that still name it are denied: nobody knows it any more.
func (g *Gate) RemoveAgent(sessionID, id, by string) error {
	s, err := g.session(sessionID)
	if err != nil {
		return err
	}
	s.mu.Lock()
	_, ok := s.team[id]
	delete(s.team, id)
	delete(s.policies, id)
	s.mu.Unlock()
	if !ok {
		return fmt.Errorf("%w: the session has no agent %q", ErrAnswer, id)
	}
	return g.teamChanged(s, by, fmt.Sprintf("Agent %q removed.", id))
}

func (g *Gate) teamChanged(s *Session, by, what string) error {
	err := g.record(audit.Record{Event: audit.Control, SessionID: s.id, Agent: s.agent, By: by, Summary: what})
	g.mu.Lock()
	info := s.info(g.pendingOf(s))
	g.mu.Unlock()
	g.events.publish(SessionOpened{info})
	return err
}

// teamMember is a registered profile.
type teamMember struct {
	info    AgentInfo
	profile permissions.Agent
}

// profile finds an agent by its name: one of the configuration, or one that a client registered.
func (s *Session) profile(name string) (permissions.Agent, bool) {
	if a, ok := s.gate.agents[name]; ok {
		return a, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m, ok := s.team[name]
	return m.profile, ok
}

// agents lists the session's own agent and those that clients registered, by id.
func (s *Session) agents() []AgentInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]AgentInfo, 0, len(s.team)+1)
	for _, m := range s.team {
		list = append(list, m.info)
	}
	slices.SortFunc(list, func(a, b AgentInfo) int { return cmp.Compare(a.ID, b.ID) })
	return append([]AgentInfo{{ID: s.agent, Role: s.agent}}, list...)
}
