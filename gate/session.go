package gate

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"callgate/audit"
	"callgate/gate/internal/past"
	"callgate/gate/internal/provenance"
	"callgate/internal/secrets"
	"callgate/internal/spelling"
	"callgate/permissions"
)

// Session is one host at the gate. Several connections of the host can share it.
type Session struct {
	gate             *Gate
	id               string
	agent            string // the profile that the session runs under
	startedAt        time.Time
	client           atomic.Pointer[Client]
	origin           atomic.Pointer[Origin]
	tools            atomic.Pointer[[]string]
	active           lastTime      // when something last happened
	account          string        // shared by the host's sessions at all replicas; "" if there are no others
	settingsMu       sync.Mutex    // held while applySettings applies shared settings, so that the newest win
	settingsRevision atomic.Uint64 // revision of the shared settings that the session applied last
	autonomy         atomic.Uint32 // an Autonomy
	running          atomic.Int32  // forwarded calls without an outcome, those to its model included
	thinking         atomic.Int32  // of them, those to the host's model
	turn             past.Turn
	manifests        past.Manifests
	refused          past.Refusals
	burst            past.Losses
	places           Tally   // counts Limits.Concurrent together with other replicas; nil if it is not shared
	tallies          []Tally // all that Close has to close
	secrets          secrets.Memory
	flow             provenance.Session
	unlearned        atomic.Bool // secrets and flow lack some result
	around           provenance.Surroundings
	learnCredentials sync.Once // learns the credentials of Options
	past             past.Calls
	closed           chan struct{}
	leaveConnection  func() // leaves the connection that the session was opened for

	granted   grantBook // grants that end with the session
	ungranted atomic.Bool

	users connections
	team  team

	// mu guards the policies that were made for the session, and how many of its calls wait.
	mu        sync.Mutex
	made      madeFrom
	policies  map[string]*permissions.Policy // by agent
	waiting   int
	waitingOf map[string]int // approvals by agent; replaced, never changed
}

// connections holds the host's connections to a session, which ends with the last one.
type connections struct {
	mu    sync.Mutex
	begun bool
	open  map[*connection]struct{}
}

type connection struct{ cancelCalls func() }

// join adds a connection, or returns false if the last one has left. end is called if this one is the last to leave.
func (c *connections) join(cancelCalls, end func()) (leave func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.begun && len(c.open) == 0 {
		return nil, false
	}
	if !c.begun {
		c.begun, c.open = true, map[*connection]struct{}{}
	}
	one := &connection{cancelCalls}
	c.open[one] = struct{}{}
	return sync.OnceFunc(func() {
		c.mu.Lock()
		delete(c.open, one)
		last := len(c.open) == 0
		c.mu.Unlock()
		if last {
			end()
		}
	}), true
}

// cancel cancels the calls of all connections.
func (c *connections) cancel() {
	c.mu.Lock()
	open := slices.Collect(maps.Keys(c.open))
	c.mu.Unlock()
	for _, one := range open {
		if one.cancelCalls != nil {
			one.cancelCalls()
		}
	}
}

func (c *connections) gone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open) == 0
}

// madeFrom is what a policy was made from. If it differs now, the policy is made anew.
type madeFrom struct {
	base            *permissions.Policy // the worker's file
	worker, session int                 // versions of the grants in memory
}

// grantBook holds grants that live in memory.
type grantBook struct {
	mu      sync.Mutex
	grants  []permissions.Grant
	version int
}

func (b *grantBook) add(grants []permissions.Grant) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.grants = append(b.grants, grants...)
	b.version++
}

// read returns the grants, which the caller MUST NOT change, and the version that changes with them.
func (b *grantBook) read() ([]permissions.Grant, int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.grants[:len(b.grants):len(b.grants)], b.version
}

// KeepNoGrants refuses session grants. It is for a session that stands for all hosts with one credential, where an
// "always" for one host would hold for the others.
func (s *Session) KeepNoGrants() { s.ungranted.Store(true) }

func newSessionID() string { return "s-" + rand.Text()[:12] }

// isSessionID reports whether a text has the form of an id from newSessionID.
func isSessionID(text string) bool {
	random, ok := strings.CutPrefix(text, "s-")
	return ok && len(random) == 12 && strings.Trim(random, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}

// OpenSession begins a session under an agent profile; "" means DefaultAgent. cancelCalls, if not nil, is called when
// an approver cancels the session's calls. known, if given, is the client. The caller MUST Close the session.
func (g *Gate) OpenSession(agent string, cancelCalls func(), known ...Client) (*Session, error) {
	agent = cmp.Or(agent, DefaultAgent)
	if _, ok := g.agents[agent]; !ok {
		return nil, fmt.Errorf("unknown agent %q: callgate knows %s", agent, strings.Join(slices.Sorted(maps.Keys(g.agents)), ", "))
	}
	s := &Session{
		gate: g, id: newSessionID(), agent: agent, startedAt: time.Now().UTC(),
		closed: make(chan struct{}),
	}
	s.leaveConnection, _ = s.users.join(cancelCalls, s.end)
	s.client.Store(&Client{})
	for _, c := range known {
		s.client.Store(&c)
	}
	s.origin.Store(&Origin{})
	s.tools.Store(&[]string{})
	s.active.touch()
	s.flow.Off = g.journal.o.NoFlow
	s.autonomy.Store(uint32(g.journal.set.Load().Autonomy))
	if err := g.journal.record(audit.Record{
		Event: audit.Control, SessionID: s.id, Agent: s.agent, Principal: s.Client().Principal,
		Summary: fmt.Sprintf("Session started. Mode %s, autonomy %s.", g.journal.modeName(), g.journal.set.Load().Autonomy),
	}); err != nil {
		return nil, err
	}
	g.registry.opening.Lock()
	g.registry.sessions[s.id] = s
	info := s.info()
	g.registry.opening.Unlock()
	g.journal.events.publish(SessionOpened{info})
	return s, nil
}

// Join lets another connection of the host share the session, with all that it remembers and that people set for it.
// The session then ends once Close and leave have both been called. cancelCalls is as for OpenSession. Join returns
// false if the session has ended.
func (s *Session) Join(cancelCalls func()) (leave func(), ok bool) {
	return s.users.join(cancelCalls, s.end)
}

// modeName returns the mode as people see it.
func (j *journal) modeName() string {
	if j.o.Off {
		return "GATE OFF"
	}
	return j.set.Load().Mode.String()
}

// ID returns the session's id, unique over all processes.
func (s *Session) ID() string { return s.id }

// StartedAt returns when the session began.
func (s *Session) StartedAt() time.Time { return s.startedAt }

// Agent returns the agent profile that the session runs under.
func (s *Session) Agent() string { return s.agent }

// Client returns how the host names itself.
func (s *Session) Client() Client { return *s.client.Load() }

// SetClient sets how the host names itself.
func (s *Session) SetClient(c Client) {
	s.client.Store(&c)
	s.gate.journal.publishSession(s)
}

// SetTools sets which tools the host is offered, by qualified name. The caller MUST NOT change names afterwards.
func (s *Session) SetTools(names []string) {
	if before := s.tools.Swap(&names); !slices.Equal(*before, names) {
		s.gate.journal.publishSession(s)
	}
}

// publishSession tells listeners about the session as it is now.
func (j *journal) publishSession(s *Session) { j.events.publish(SessionOpened{s.info()}) }

// lastTime is the time of the last activity.
type lastTime struct{ ms atomic.Int64 } // Unix milliseconds

func (t *lastTime) touch() { t.ms.Store(time.Now().UnixMilli()) }

func (t *lastTime) at() time.Time { return time.UnixMilli(t.ms.Load()).UTC() }

// WithdrawServer withdraws the waiting calls of one server that is gone for good.
func (s *Session) WithdrawServer(server, reason string) {
	s.gate.queue.withdraw(audit.Author{By: "callgate"}, reason, waitsIn(s, server))
}

// ServerEnded tells people that the server of a waiting call has ended. The server may be a different program when it
// runs again, so people are asked again after a yes.
func (s *Session) ServerEnded(server, reason string) {
	g := s.gate
	g.queue.mu.Lock()
	defer g.queue.mu.Unlock()
	for _, id := range g.queue.order {
		a := g.queue.pending[id]
		if !waitsIn(s, server)(a) || a.serverEnded != "" {
			continue
		}
		a.serverEnded = fmt.Sprintf("The server %q ended while the call waited: %s.", server, reason)
		shown := *a.shown
		shown.Reason = strings.TrimSpace(shown.Reason + " " + a.serverEnded + " If you approve, it is started again and you are asked once more.")
		a.shown = &shown
		_ = g.queue.renew(a) // a failure is logged
		g.journal.events.publish(Asked{a.shown})
	}
}

// NewTurn begins a turn: the person sent a prompt, so the budget starts anew.
func (s *Session) NewTurn() { s.turn.Begin() }

// Close withdraws what waits in the session and ends it, unless another connection of its host uses it.
func (s *Session) Close() { s.leaveConnection() }

// Ended reports whether nothing uses the session any more.
func (s *Session) Ended() bool { return s.users.gone() }

func (s *Session) end() {
	g := s.gate
	left, summary := g.journal.withdrawnBecause(ErrSessionEnded), "Session ended."
	if g.journal.stopped() != nil {
		summary = "Session ended: callgate was stopped."
	}
	g.queue.withdraw(audit.Author{By: left.by}, left.reason, waitsIn(s, ""))
	close(s.closed)
	for _, t := range s.tallies {
		t.Close()
	}
	g.registry.opening.Lock()
	delete(g.registry.sessions, s.id)
	info := s.info()
	g.registry.opening.Unlock()
	if err := g.journal.record(audit.Record{Event: audit.Control, SessionID: s.id, Agent: s.agent, Principal: s.Client().Principal, Summary: summary}); err != nil {
		g.journal.o.Logger.Error("the end of a session could not be recorded", "session", s.id, "error", err)
	}
	g.journal.events.publish(SessionClosed{info})
}

// unknownAgent is the error for a call under a profile that does not exist. near is a known name like it, or "".
type unknownAgent struct{ name, near string }

// agentUnknown returns an unknownAgent with the name that was most likely meant.
func agentUnknown(s *Session, name string) error {
	known := slices.Collect(maps.Keys(s.gate.agents))
	for _, member := range s.team.list(nil) {
		known = append(known, member.ID)
	}
	slices.Sort(known) // so that of two equally near names always the same one is found
	return &unknownAgent{name, spelling.Nearest(name, known)}
}

func (u *unknownAgent) Error() string {
	if u.near == "" {
		return fmt.Sprintf("unknown agent %q", u.name)
	}
	return fmt.Sprintf("unknown agent %q; did you mean %q?", u.name, u.near)
}

// policy returns what the rules say now for a call under the agent: the worker's file, the profile's layer and the
// session's grants. An unknown agent is an error, so that all its calls are denied.
func (s *Session) policy(agent string) (*permissions.Policy, error) {
	base, err := s.gate.journal.o.Store.Policy()
	if err != nil {
		return nil, err
	}
	profile, ok := s.gate.agents[agent]
	if !ok { // a client may have registered it
		profile, ok = s.team.profile(agent)
	}
	if !ok {
		return nil, agentUnknown(s, agent)
	}
	worker, wv := s.gate.granted.read()
	session, sv := s.granted.read()
	if len(worker)+len(session)+len(profile.Rules) == 0 {
		return base, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := (madeFrom{base, wv, sv}); s.made != now {
		s.made, s.policies = now, map[string]*permissions.Policy{}
	}
	if s.policies[agent] == nil {
		made, err := base.With(profile.Rules, slices.Concat(worker, session))
		if err != nil {
			return nil, err
		}
		s.policies[agent] = made
	}
	return s.policies[agent], nil
}

func (s *Session) info() SessionInfo {
	_ = s.applySettings() // while it fails, calls are denied
	s.mu.Lock()
	pending, of := s.waiting, s.waitingOf
	s.mu.Unlock()
	status := statusOf(pending, int(s.running.Load()), int(s.thinking.Load()))
	mode, frozen := s.gate.journal.modeName(), s.gate.journal.frozenNow(s.id)
	if frozen != "" {
		mode = "FROZEN"
	}
	return SessionInfo{
		ID: s.id, Worker: s.gate.journal.o.Worker, Agent: s.agent, Agents: append([]AgentInfo{{ID: s.agent, Role: s.agent, Status: status}}, s.team.list(of)...), Client: *s.client.Load(),
		Autonomy: Autonomy(s.autonomy.Load()).String(), Mode: mode, Frozen: frozen,
		Status: status, Pending: pending, Tools: *s.tools.Load(), Origin: *s.origin.Load(), CreatedAt: s.startedAt, LastActivity: s.active.at(),
	}
}

// roster describes all sessions, oldest first; the caller holds opening.
func (r *registry) roster() []SessionInfo {
	infos := make([]SessionInfo, 0, len(r.sessions))
	for _, s := range r.sessions {
		infos = append(infos, s.info())
	}
	slices.SortFunc(infos, func(a, b SessionInfo) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return infos
}

// pending returns how many calls of the session wait.
func (s *Session) pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting
}

// recount updates how many of the session's calls wait. Call it after every change. The caller holds mu.
func (q *queue) recount(s *Session) {
	n, of := 0, map[string]int{}
	for _, a := range q.pending {
		if a.session == s {
			n += 1 + len(a.duplicates)
			of[a.call.Agent]++
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting, s.waitingOf = n, of
}
