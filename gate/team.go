package gate

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"callgate/audit"
	"callgate/gate/tools"
	"callgate/permissions"
	"callgate/permissions/store"
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
	s, err := g.registry.session(sessionID)
	if err != nil {
		return "", err
	}
	if _, err := permissions.NewPolicy(profile.Rules, nil, nil); err != nil {
		return "", Invalid(err)
	}
	info.Name = strings.TrimSpace(info.Name)
	if err := checkAgentName(cmp.Or(strings.TrimSpace(profile.Name), info.Role)); err != nil {
		return "", Invalid(err)
	}
	suffix := make([]byte, 4)
	rand.Read(suffix)
	info.ID = cmp.Or(strings.TrimSpace(profile.Name), info.Role, "agent") + "-" + hex.EncodeToString(suffix)
	full := Invalid(fmt.Errorf("the session has %d agents already: remove one", maxAgents))
	if err := g.changeSharedSettings(s, func(one *sharedSettings) error {
		if len(one.Team) >= maxAgents {
			return full
		}
		one.add(info, profile)
		return nil
	}); err != nil {
		return "", err
	}
	if s.account != "" {
		_ = s.applySettings() // another replica may have removed it since; a failed read is retried at the next call
	} else if !s.team.add(info, profile) {
		return "", full
	}
	return info.ID, c.teamChanged(s, who, fmt.Sprintf("Agent %q added.", info.ID))
}

// maxAgentName bounds, in characters, the name that an agent's id begins with.
const maxAgentName = 64

// checkAgentName returns why an id cannot begin with the name, or nil. Ids appear in paths, records and terminals.
func checkAgentName(name string) error {
	switch {
	case utf8.RuneCountInString(name) > maxAgentName:
		return fmt.Errorf("the name of an agent can have at most %d characters", maxAgentName)
	case !utf8.ValidString(name) || tools.Visible(name) != name || strings.ContainsAny(name, "\n\t"):
		return fmt.Errorf("the name of an agent has an invisible character: %s", strconv.QuoteToASCII(name))
	case strings.ContainsAny(name, `/\`) || strings.Contains(name, ".."):
		return fmt.Errorf("the name of an agent looks like a path: %q", name)
	}
	return nil
}

// RemoveAgent ends a registered profile. Its waiting calls are withdrawn, and calls that still name it are denied.
func (c Controls) RemoveAgent(sessionID, id string, who audit.Author) error {
	g := c.gate
	s, err := g.registry.session(sessionID)
	if err != nil {
		return err
	}
	elsewhere := false
	if err := g.changeSharedSettings(s, func(one *sharedSettings) error { _, elsewhere = one.Team[id]; delete(one.Team, id); return nil }); err != nil {
		return err
	}
	ok := s.team.remove(id) || elsewhere
	s.mu.Lock()
	delete(s.policies, id)
	s.mu.Unlock()
	if !ok {
		return Invalid(fmt.Errorf("the session has no agent %q", id))
	}
	g.queue.withdraw(who, fmt.Sprintf("The agent %q was removed.", id), func(a *approval) bool { return a.session == s && !a.detached && a.call.Agent == id })
	return c.teamChanged(s, who, fmt.Sprintf("Agent %q removed.", id))
}

func (c Controls) teamChanged(s *Session, who audit.Author, what string) error {
	g := c.gate
	err := g.journal.control(who, audit.Record{SessionID: s.id, Agent: s.agent, Summary: what})
	g.journal.events.publish(SessionOpened{s.info()})
	return err
}

// teamMember is a registered profile.
type teamMember struct {
	info     AgentInfo
	profile  permissions.Agent
	running  int // its forwarded calls without an outcome
	thinking int // of them, those to the host's model
}

// team holds the profiles that clients registered for a session.
type team struct {
	mu sync.Mutex
	by map[string]*teamMember // by id
}

// add adds an agent, or returns false if there are too many.
func (t *team) add(info AgentInfo, profile permissions.Agent) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.by) >= maxAgents {
		return false
	}
	if t.by == nil {
		t.by = map[string]*teamMember{}
	}
	t.by[info.ID] = &teamMember{info: info, profile: profile}
	return true
}

// remove removes an agent and reports whether it was there.
func (t *team) remove(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.by[id]
	delete(t.by, id)
	return ok
}

// replace sets the members. A member that was there before stays as it was, with its counts.
func (t *team) replace(by map[string]*teamMember) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id := range by {
		if known := t.by[id]; known != nil {
			by[id] = known
		}
	}
	t.by = by
}

// runs counts n calls of an agent that begin, or -n that end.
func (t *team) runs(id string, n int, thinks bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m := t.by[id]; m != nil {
		m.running += n
		if thinks {
			m.thinking += n
		}
	}
}

func (t *team) profile(id string) (permissions.Agent, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m, ok := t.by[id]; ok {
		return m.profile, true
	}
	return permissions.Agent{}, false
}

// list describes the agents, sorted by id. waiting holds how many approvals each has.
func (t *team) list(waiting map[string]int) []AgentInfo {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]AgentInfo, 0, len(t.by))
	for _, m := range t.by {
		info := m.info
		info.Status = statusOf(waiting[info.ID], m.running, m.thinking)
		list = append(list, info)
	}
	slices.SortFunc(list, func(a, b AgentInfo) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// runs counts a call of the session, +1 when it is forwarded and -1 when it ended, and returns how many run now.
func (s *Session) runs(call Call, n int32) int {
	thinks := call.Thinks()
	if call.Agent != "" && call.Agent != s.agent {
		s.team.runs(call.Agent, int(n), thinks)
	}
	if thinks {
		s.thinking.Add(n)
	}
	return int(s.running.Add(n))
}

// statusOf returns the status of an agent or a session. thinking counts the running calls that go to the host's model.
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

// sharedSettings holds what people and clients have set for the sessions of one account.
type sharedSettings struct {
	Autonomy string                    `json:"autonomy,omitempty"` // "" is the configured one
	Team     map[string]standingMember `json:"team,omitempty"`
	At       time.Time                 `json:"at"` // when it was set last
}

type standingMember struct {
	Info  AgentInfo `json:"info"`
	Name  string    `json:"name,omitempty"`
	Rules string    `json:"rules,omitempty"`
}

func (one *sharedSettings) add(info AgentInfo, profile permissions.Agent) {
	one.Team = maps.Clone(one.Team)
	if one.Team == nil {
		one.Team = map[string]standingMember{}
	}
	one.Team[info.ID] = standingMember{info, profile.Name, profile.Text}
}

// keepStanding is how long callgate remembers what was set for sessions.
const keepStanding = 30 * 24 * time.Hour

// standings caches what was set for all sessions. It is read once for each revision.
type standings struct {
	mu       sync.Mutex
	revision uint64
	by       map[string]sharedSettings // by account; replaced, never changed
}

// read returns what was set, by account. On an error nobody knows what was set.
func (b *standings) read(from store.Shared) (by map[string]sharedSettings, revision uint64, err error) {
	text, revision, err := from.Text()
	if err != nil {
		return nil, 0, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if revision != b.revision {
		var by map[string]sharedSettings
		if err := json.Unmarshal(text, &by); err != nil {
			return nil, 0, fmt.Errorf("the saved settings of sessions are damaged: %w", err)
		}
		b.by, b.revision = by, revision
	}
	return b.by, revision, nil
}

// changeSharedSettings changes what is set for the sessions that share s's account, at all replicas. If s shares no
// account, it does nothing.
func (g *Gate) changeSharedSettings(s *Session, change func(*sharedSettings) error) error {
	if s.account == "" {
		return nil
	}
	return store.WhileStale(func() error {
		before, revision, err := g.standings.read(g.journal.o.Standing)
		if err != nil {
			return err
		}
		now := time.Now().UTC()
		by := maps.Clone(before)
		maps.DeleteFunc(by, func(_ string, one sharedSettings) bool { return now.Sub(one.At) > keepStanding })
		if by == nil {
			by = map[string]sharedSettings{}
		}
		one := by[s.account]
		one.Team = maps.Clone(one.Team)
		if err := change(&one); err != nil {
			return err
		}
		one.At = now
		by[s.account] = one
		text, err := json.Marshal(by)
		if err != nil {
			return err
		}
		return g.journal.o.Standing.Replace(revision, text)
	})
}

// applySettings applies what was set for the session at any replica. On an error the session's settings may be stale.
func (s *Session) applySettings() error {
	if s.account == "" {
		return nil
	}
	if _, revision, err := s.gate.standings.read(s.gate.journal.o.Standing); err != nil || revision == s.settingsRevision.Load() {
		return err
	}
	s.settingsMu.Lock()
	defer s.settingsMu.Unlock()
	by, revision, err := s.gate.standings.read(s.gate.journal.o.Standing)
	if err != nil {
		return err
	}
	one, ok := by[s.account]
	if !ok {
		s.settingsRevision.Store(revision)
		return nil
	}
	team := map[string]*teamMember{}
	for id, m := range one.Team {
		profile, err := permissions.ParseProfile(m.Name, "agent_add", m.Rules)
		if err != nil {
			return err
		}
		team[id] = &teamMember{info: m.Info, profile: profile}
	}
	if one.Autonomy != "" {
		autonomy, err := ParseAutonomy(one.Autonomy)
		if err != nil {
			return err
		}
		s.autonomy.Store(uint32(autonomy))
	}
	s.team.replace(team)
	s.settingsRevision.Store(revision)
	return nil
}
