package gate

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"callgate/audit"
	"callgate/gate/tools"
	"callgate/permissions"
)

// maxAgents bounds the profiles that clients may register in one session.
const maxAgents = 64

// AgentInfo describes an agent of a session to people. All but ID and Status come from the client that registered the
// agent. They are shown and never trusted.
type AgentInfo struct {
	ID       string      `json:"agentId"`
	Name     string      `json:"name,omitempty"`
	Role     string      `json:"role"`
	Goal     string      `json:"goal,omitempty"`
	Domain   string      `json:"domain,omitempty"`
	Provider string      `json:"provider,omitempty"`
	Model    string      `json:"model,omitempty"`
	Roles    []AgentRole `json:"roles,omitempty"`
	Status   string      `json:"status"` // idle, waiting, running or thinking
}

// AgentRole is one of several roles of an agent.
type AgentRole struct {
	Name   string `json:"name"`
	Goal   string `json:"goal"`
	Domain string `json:"domain"`
}

// AddAgent registers a subagent profile for the session and returns its id, the name and eight hex digits. A
// call that names the id in _meta "callgate/agent" is judged under the profile too, which can only tighten.
// The profile ends with the session.
func (c Controls) AddAgent(sessionID string, profile permissions.Agent, info AgentInfo, who audit.Author) (id string, err error) {
	g := c.gate
	s, err := g.session(sessionID)
	if err != nil {
		return "", err
	}
	if _, err := permissions.NewPolicy(profile.Rules, nil, nil); err != nil {
		return "", fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	info.Name = strings.TrimSpace(info.Name)
	if err := checkAgentName(cmp.Or(strings.TrimSpace(profile.Name), info.Role)); err != nil {
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
		s.team = map[string]*teamMember{}
	}
	s.team[info.ID] = &teamMember{info: info, profile: profile}
	s.mu.Unlock()
	return info.ID, g.teamChanged(s, who, fmt.Sprintf("Agent %q added.", info.ID))
}

// maxAgentName bounds, in characters, what the id of an agent begins with.
const maxAgentName = 64

// checkAgentName says why an id cannot begin with the name: ids stand in paths, records and terminals.
func checkAgentName(name string) error {
	switch {
	case utf8.RuneCountInString(name) > maxAgentName:
		return fmt.Errorf("the name of an agent has at most %d characters", maxAgentName)
	case !utf8.ValidString(name) || tools.Visible(name) != name || strings.ContainsAny(name, "\n\t"):
		return fmt.Errorf("the name of an agent holds a character that cannot be seen: %s", strconv.QuoteToASCII(name))
	case strings.ContainsAny(name, `/\`) || strings.Contains(name, ".."):
		return fmt.Errorf("the name of an agent looks like a path: %q", name)
	}
	return nil
}

// RemoveAgent ends a registered profile. Its waiting calls are withdrawn, and calls that still name it are denied.
func (c Controls) RemoveAgent(sessionID, id string, who audit.Author) error {
	g := c.gate
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
	g.withdraw(who, fmt.Sprintf("The agent %q was removed.", id), func(a *approval) bool { return a.session == s && !a.detached && a.call.Agent == id })
	return g.teamChanged(s, who, fmt.Sprintf("Agent %q removed.", id))
}

func (c Controls) teamChanged(s *Session, who audit.Author, what string) error {
	g := c.gate
	err := g.control(who, audit.Record{SessionID: s.id, Agent: s.agent, Summary: what})
	g.events.publish(SessionOpened{s.info()})
	return err
}

// teamMember is a registered profile.
type teamMember struct {
	info     AgentInfo
	profile  permissions.Agent
	running  int // its forwarded calls without an outcome
	thinking int // of them, those to the host's model
}

// runs counts a call of the session, +1 when it is forwarded and -1 when it ended, and returns how many run now.
func (s *Session) runs(call Call, n int32) int {
	thinks := call.Thinks()
	if call.Agent != "" && call.Agent != s.agent {
		s.mu.Lock()
		if m := s.team[call.Agent]; m != nil {
			m.running += int(n)
			if thinks {
				m.thinking += int(n)
			}
		}
		s.mu.Unlock()
	}
	if thinks {
		s.thinking.Add(n)
	}
	return int(s.running.Add(n))
}

// profile finds an agent by its name: one of the configuration, or one that a client registered.
func (s *Session) profile(name string) (permissions.Agent, bool) {
	if a, ok := s.gate.agents[name]; ok {
		return a, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if m, ok := s.team[name]; ok {
		return m.profile, true
	}
	return permissions.Agent{}, false
}

// statusOf words what an agent, or a session, does. thinking are those of the running calls that go to the host's
// model.
func statusOf(waiting, running, thinking int) string {
	switch {
	case waiting > 0:
		return "waiting"
	case thinking > 0 && running == thinking:
		return "thinking"
	case running > 0:
		return "running"
	}
	return "idle"
}

// agents lists the session's own agent, whose status is the whole session's, and those that clients registered, by
// id.
func (s *Session) agents(status string) []AgentInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]AgentInfo, 0, len(s.team)+1)
	for _, m := range s.team {
		info := m.info
		info.Status = statusOf(s.waitingOf[info.ID], m.running, m.thinking)
		list = append(list, info)
	}
	slices.SortFunc(list, func(a, b AgentInfo) int { return cmp.Compare(a.ID, b.ID) })
	return append([]AgentInfo{{ID: s.agent, Role: s.agent, Status: status}}, list...)
}
