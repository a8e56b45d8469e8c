package companion

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"callgate/audit"
	"callgate/gate"
	"callgate/internal/companion/wire"
	"callgate/permissions"
)

// fakeBackend is a gate without rules. It keeps what tests put into it, and the first answer wins.
type fakeBackend struct {
	mu        sync.Mutex
	queue     int // how far a subscriber may fall behind
	subs      map[chan gate.Event]bool
	sessions  []gate.SessionInfo
	pending   []*gate.Approval
	answers   []gate.Answer // the applied ones
	cancelled []string
	upstreams []wire.UpstreamState
	records   []audit.Record
	query     AuditQuery
	broken    error                  // returned by Answer and Audit
	panics    atomic.Pointer[string] // name of the method that panics
}

func (b *fakeBackend) mayPanic(method string) {
	if name := b.panics.Load(); name != nil && *name == method {
		panic("a mistake in " + method)
	}
}

var _ Gate = (*fakeBackend)(nil)

func newFakeBackend(sessions ...string) *fakeBackend {
	b := &fakeBackend{queue: 256, subs: make(map[chan gate.Event]bool)}
	for _, id := range sessions {
		b.sessions = append(b.sessions, gate.SessionInfo{
			ID: id, Worker: "default", Agent: "main", Agents: []gate.AgentInfo{{ID: "main", Role: "main", Status: "idle"}}, Client: gate.Client{Name: "host", Version: "1"},
			Autonomy: "NONE", Mode: "ask", Status: "idle",
		})
	}
	return b
}

func (b *fakeBackend) Subscribe() gate.Subscription {
	b.mu.Lock()
	defer b.mu.Unlock()
	events := make(chan gate.Event, b.queue+len(b.sessions)+len(b.pending))
	for _, s := range b.sessions {
		events <- gate.SessionOpened{Info: s}
	}
	for _, a := range b.pending {
		events <- gate.Asked{Approval: a}
	}
	b.subs[events] = true
	return gate.NewSubscription(events, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.drop(events)
	})
}

func (b *fakeBackend) drop(events chan gate.Event) {
	if b.subs[events] {
		delete(b.subs, events)
		close(events)
	}
}

// publish sends an event and returns how many subscribers got it.
func (b *fakeBackend) publish(e gate.Event) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.send(e)
}

func (b *fakeBackend) send(e gate.Event) int {
	for events := range b.subs {
		select {
		case events <- e:
		default:
			b.drop(events)
		}
	}
	return len(b.subs)
}

func (b *fakeBackend) ask(a *gate.Approval) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pending = append(b.pending, a)
	b.send(gate.Asked{Approval: a})
}

// resolve ends an approval on the gate's side.
func (b *fakeBackend) resolve(id, decision, by string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.resolveLocked(id, decision, by)
}

func (b *fakeBackend) resolveLocked(id, decision, by string) bool {
	at := slices.IndexFunc(b.pending, func(a *gate.Approval) bool { return a.ID == id })
	if at < 0 {
		return false
	}
	a := b.pending[at]
	b.pending = slices.Delete(b.pending, at, at+1)
	b.send(gate.Resolved{SessionID: a.SessionID, ID: id, Decision: decision, By: by})
	return true
}

func (b *fakeBackend) Answer(_ context.Context, id string, a gate.Answer) (bool, error) {
	b.mayPanic("Answer")
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken != nil {
		return false, b.broken
	}
	for _, p := range b.pending {
		if p.ID != id {
			continue
		}
		if p.SessionID != a.SessionID {
			return false, gate.ErrSession
		}
		if p.Digest != a.Digest {
			return false, gate.ErrDigest
		}
		b.answers = append(b.answers, a)
		return b.resolveLocked(id, a.Decision, a.By), nil
	}
	return false, gate.ErrNotPending
}

func (b *fakeBackend) has(session string) bool {
	return slices.ContainsFunc(b.sessions, func(s gate.SessionInfo) bool { return s.ID == session })
}

func (b *fakeBackend) AddAgent(session string, profile permissions.Agent, info gate.AgentInfo, _ audit.Author) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.has(session) {
		return "", fmt.Errorf("%w: %q", gate.ErrSession, session)
	}
	info.ID, info.Status = fmt.Sprintf("%s-%08x", profile.Name, len(profile.Rules)), "idle"
	b.send(gate.SessionOpened{Info: gate.SessionInfo{ID: session, Status: "idle", Autonomy: "NONE", Agents: []gate.AgentInfo{info}}})
	return info.ID, nil
}

func (b *fakeBackend) RemoveAgent(session, id string, _ audit.Author) error {
	if id != "rev-00000001" {
		return gate.Invalid(fmt.Errorf("the session has no agent %q", id))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.send(gate.SessionOpened{Info: gate.SessionInfo{ID: session, Status: "idle", Autonomy: "NONE"}})
	return nil
}

func (b *fakeBackend) SetAutonomy(session, level string, who audit.Author) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.has(session) {
		return fmt.Errorf("%w: %q", gate.ErrSession, session)
	}
	if !slices.Contains([]string{"NONE", "MANUAL", "CAUTIOUS", "SUPERVISED", "FULL_AUTO"}, level) {
		return gate.Invalid(fmt.Errorf("unknown level %q", level))
	}
	b.send(gate.AutonomyChanged{SessionID: session, Level: level, By: who.By})
	return nil
}

func (b *fakeBackend) Cancel(session string, who audit.Author) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.has(session) {
		return gate.ErrSession
	}
	b.cancelled = append(b.cancelled, session+" "+who.By)
	for _, a := range slices.Clone(b.pending) {
		if a.SessionID == session {
			b.resolveLocked(a.ID, "withdrawn", who.By)
		}
	}
	return nil
}

func (b *fakeBackend) Sessions() []gate.SessionInfo {
	b.mayPanic("Sessions")
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.sessions)
}

func (b *fakeBackend) Pending() []*gate.Approval {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.pending)
}

func (b *fakeBackend) Note(summary string, who audit.Author) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken == nil {
		b.cancelled = append(b.cancelled, who.By+": "+summary)
	}
	return b.broken
}

func (b *fakeBackend) Upstreams() []wire.UpstreamState {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.upstreams)
}

func (b *fakeBackend) Audit(q AuditQuery) ([]AuditRecord, string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.query = q
	if b.broken != nil {
		return nil, "", b.broken
	}
	return ReadAudit(func(yield func(audit.Record, error) bool) {
		for _, r := range b.records {
			if !yield(r, nil) {
				return
			}
		}
	}, q)
}

// applied returns the applied answers without From, which differs from run to run; see origins.
func (b *fakeBackend) applied() []gate.Answer {
	b.mu.Lock()
	defer b.mu.Unlock()
	answers := slices.Clone(b.answers)
	for i := range answers {
		answers[i].From = ""
	}
	return answers
}

// origins returns where the applied answers came from.
func (b *fakeBackend) origins() (from []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range b.answers {
		from = append(from, a.From)
	}
	return from
}

func (b *fakeBackend) subscribers() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.subs)
}

var errDisk = errors.New("write /secret/path: no space left on device")

// approval returns a pending call of session s1.
func approval(id string) *gate.Approval {
	now := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	return &gate.Approval{
		ID: id, SessionID: "s1", Worker: "default", Agent: "main", Server: "commands", Tool: "commands_run", Kind: "shell_exec",
		Arguments: []byte(`{"command":"git push","n":1.0e2}`), Digest: "d-" + id, Undo: &gate.Undo{Text: "Cannot be restored: .env is ignored by git."}, Host: gate.Client{Name: "host", Version: "1"}, Origin: gate.Origin{Folder: "/src/app", Branch: "main"}, Reason: "no rule matched",
		CreatedAt: now, ExpiresAt: now.Add(2 * time.Minute),
	}
}
