package gate

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"callgate/audit"
	"callgate/permissions"
)

type protectedPointer = atomic.Pointer[Protected]

// Session is one host's connection to the gate.
type Session struct {
	gate        *Gate
	id          string
	agent       string
	startedAt   time.Time
	client      atomic.Pointer[Client]
	cancelCalls func()
	autonomy    atomic.Uint32 // an Autonomy
	running     atomic.Int32  // forwarded calls without an outcome
	closed      chan struct{}
	closing     sync.Once

	// mu guards the grants that end with the session and the policy that is made from them.
	mu     sync.Mutex
	grants []permissions.Grant
	base   *permissions.Policy // the worker's policy that merged was made from
	merged *permissions.Policy
}

// OpenSession begins a session. CancelCalls is called when an approver cancels what the session runs; it
// may be nil. The caller MUST Close the session.
func (g *Gate) OpenSession(cancelCalls func()) (*Session, error) {
	s := &Session{
		gate: g, id: "s-" + rand.Text()[:12], agent: "default", startedAt: time.Now().UTC(),
		cancelCalls: cancelCalls, closed: make(chan struct{}),
	}
	s.client.Store(&Client{})
	s.autonomy.Store(uint32(g.o.Autonomy))
	if _, err := g.record(audit.Record{
		Event: audit.Control, SessionID: s.id, Agent: s.agent,
		Summary: fmt.Sprintf("Session started. Mode %s, autonomy %s.", g.o.Mode, g.o.Autonomy),
	}); err != nil {
		return nil, err
	}
	g.mu.Lock()
	g.sessions[s.id] = s
	info := s.info(0)
	g.mu.Unlock()
	g.events.publish(SessionOpened{info})
	return s, nil
}

// ID is the session's name, unique over all processes.
func (s *Session) ID() string { return s.id }

// Agent is the resolved agent profile of the session.
func (s *Session) Agent() string { return s.agent }

// SetClient notes how the host names itself.
func (s *Session) SetClient(c Client) {
	s.client.Store(&c)
	s.gate.mu.Lock()
	info := s.info(s.gate.pendingOf(s))
	s.gate.mu.Unlock()
	s.gate.events.publish(SessionOpened{info})
}

// Close withdraws what waits in the session and ends it.
func (s *Session) Close() {
	s.closing.Do(func() {
		g := s.gate
		g.withdraw(s, "host", "The session ended.")
		close(s.closed)
		g.mu.Lock()
		delete(g.sessions, s.id)
		info := s.info(0)
		g.mu.Unlock()
		if _, err := g.record(audit.Record{Event: audit.Control, SessionID: s.id, Agent: s.agent, Summary: "Session ended."}); err != nil {
			g.o.Logger.Error("the end of a session could not be recorded", "session", s.id, "error", err)
		}
		g.events.publish(SessionClosed{info})
	})
}

// policy returns what the rules say for this session now: the worker's file and the session's grants.
func (s *Session) policy() (*permissions.Policy, error) {
	base, err := s.gate.o.Store.Policy()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.grants) == 0 {
		return base, nil
	}
	if s.base != base || s.merged == nil {
		merged, err := base.With(nil, s.grants)
		if err != nil {
			return nil, err
		}
		s.base, s.merged = base, merged
	}
	return s.merged, nil
}

// addGrants adds grants that end with the session.
func (s *Session) addGrants(grants []permissions.Grant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grants = append(s.grants, grants...)
	s.merged = nil
}

// info describes the session; the caller holds gate.mu.
func (s *Session) info(pending int) SessionInfo {
	status := "idle"
	switch {
	case pending > 0:
		status = "waiting"
	case s.running.Load() > 0:
		status = "running"
	}
	return SessionInfo{
		ID: s.id, Worker: s.gate.o.Worker, Agent: s.agent, Client: *s.client.Load(),
		Autonomy: Autonomy(s.autonomy.Load()).String(), Mode: s.gate.o.Mode.String(),
		Status: status, Pending: pending, StartedAt: s.startedAt,
	}
}

// roster describes all sessions, oldest first; the caller holds mu.
func (g *Gate) roster() []SessionInfo {
	infos := make([]SessionInfo, 0, len(g.sessions))
	for _, s := range g.sessions {
		infos = append(infos, s.info(g.pendingOf(s)))
	}
	slices.SortFunc(infos, func(a, b SessionInfo) int {
		return cmp.Or(a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.ID, b.ID))
	})
	return infos
}

// pendingOf counts the session's pending approvals; the caller holds mu.
func (g *Gate) pendingOf(s *Session) (n int) {
	for _, a := range g.pending {
		if a.session == s {
			n += 1 + len(a.twins)
		}
	}
	return n
}
