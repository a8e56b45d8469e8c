// Package gate decides whether a tool call may run. Rules decide first, and a person decides the rest.
//
// It is a library: New needs rules and an audit log, a Session makes calls, and Decide judges a call and waits for a
// subscriber's answer. Every decision is on record before the call goes on. What Decide does not allow MUST NOT run,
// and what runs MUST be exactly the call that it returned. The module in examples/library is a whole program.
package gate

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"callgate/audit"
	"callgate/gate/tools"
	"callgate/permissions"
	"callgate/permissions/store"
)

// Options assemble a gate. Store and Audit are required.
type Options struct {
	Worker         string
	Store          *store.Store
	Audit          *audit.Log
	Logger         *slog.Logger
	Mode           Mode
	Autonomy       Autonomy                                    // of every new session
	AskEscalations bool                                        // ESCALATION asks instead of being denied
	Timeout        time.Duration                               // how long an approval waits for a person; 0 means 120 s
	ClaimWithin    time.Duration                               // how long a decision waits for the call that was handed over; 0 means 15 min
	History        func(context.Context) []string              // shell commands that the worker ran or asked about before; may be nil
	Answered       func(context.Context, time.Time) []Answered // what people answered since then, the oldest first; may be nil
	Dir            string                                      // where such decisions are kept; "" keeps none
	MaxPending     int                                         // approvals that may wait at once in one session; 0 means 64
	MaxPendingAll  int                                         // and in all sessions; 0 is no bound
	Protected      *Protected                                  // what no call may touch
	Limits         Limits                                      // of every session
	InMemory       bool                                        // grants for the worker are not written to its file and end with the process
	Terminal       *Terminal                                   // the terminal allow-list; nil does without
	Undo           func(Call, *tools.Analysis) *Undo           // says whether what a call changes can be brought back; nil says nothing
	Unkept         func(Call, *tools.Analysis) (why string)    // marks calls whose files could not be kept; nil marks none
	Credentials    func() []Credential                         // what must not leave beside what sessions see; called once, when the first call is judged; may be nil
	Presence       Presence                                    // proofs that people are there; nil needs none
	Ledger         Ledger                                      // where approvals are kept for other machines; nil keeps them in Dir
	Tallies        Tallies                                     // count what hosts use at several replicas; nil counts here alone
	Standing       store.Shared                                // what people set of sessions that live at several replicas; nil for none
	Current        func() error                                // why rules and freezes may be old, so that nothing may run; nil when they cannot be
	Freezer        *Freezer                                    // what people have frozen; nil freezes nothing
	NoFlow         bool                                        // sessions do not remember where values come from
	Advisors       []Advisor                                   // other policy engines, which can deny and ask
	Stop           <-chan struct{}                             // closed when somebody stops callgate; nil for never
	Off            bool                                        // every call runs but those that touch what is protected
	Agents         []permissions.Agent                         // profiles that sessions and calls may run under, beside DefaultAgent
}

// Settings are the options that Configure replaces while the gate is in use. They mean what the options of their names
// mean; the autonomy is of sessions that begin from then on.
type Settings struct {
	Mode                 Mode
	Autonomy             Autonomy
	AskEscalations       bool
	Timeout, ClaimWithin time.Duration
	MaxPending           int
	MaxPendingAll        int
	Limits               Limits
	Terminal             *Terminal
	Advisors             []Advisor
}

// settings are those of the options, with their defaults.
func (o *Options) settings() Settings {
	return Settings{o.Mode, o.Autonomy, o.AskEscalations, o.Timeout, o.ClaimWithin, o.MaxPending, o.MaxPendingAll, o.Limits, o.Terminal, o.Advisors}.withDefaults()
}

func (s Settings) withDefaults() Settings {
	s.Timeout, s.ClaimWithin = cmp.Or(max(s.Timeout, 0), 120*time.Second), cmp.Or(max(s.ClaimWithin, 0), 15*time.Minute)
	s.MaxPending = cmp.Or(max(s.MaxPending, 0), 64)
	return s
}

// Credential is a secret that must not leave this machine, and the place where people keep it. The gate stores only a
// fingerprint.
type Credential struct{ Value, Place string }

// DefaultAgent is the agent of a session that runs under no profile.
const DefaultAgent = "default"

// Gate decides about calls. Its methods may be called concurrently.
type Gate struct {
	journal  *journal
	queue    queue
	registry registry
	Controls Controls
	Files    Files

	credentials func() []Credential // of Options, asked once
	protected   atomic.Pointer[Protected]

	lastPerson lastPerson
	history    history
	granted    grantBook // for the worker, while grants stay in memory
	agents     map[string]permissions.Agent
	answers    answeredBook
	standings  standings
}

// journal writes records, and tells them to listeners.
type journal struct {
	o      Options                  // but for what is in set
	set    atomic.Pointer[Settings] // as they are now
	events hub
}

// queue is the approvals that wait. Only resolve ends one.
type queue struct {
	journal *journal

	// mu guards everything about approvals. Its holder may wait for the Ledger. So judging and the sessions, which
	// allowed calls need, never take it.
	mu      sync.Mutex
	pending map[string]*approval
	order   []string // ids of pending, oldest first
	asked   askedBook

	given atomic.Pointer[given] // the last "always"; nil for none
}

// registry is the sessions that are open.
type registry struct {
	opening  sync.Mutex // guards sessions; taken after mu by who needs both
	sessions map[string]*Session
}

// New returns a gate without sessions.
func New(o Options) *Gate {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	g := &Gate{journal: &journal{o: o}, agents: map[string]permissions.Agent{DefaultAgent: {Name: DefaultAgent}}}
	g.Controls, g.Files = Controls{g}, Files{g}
	g.queue.journal, g.queue.pending, g.registry.sessions = g.journal, map[string]*approval{}, map[string]*Session{}
	settings := o.settings()
	g.journal.set.Store(&settings)
	for _, a := range o.Agents {
		g.agents[a.Name] = a
	}
	g.credentials = func() []Credential { return nil }
	if o.Credentials != nil {
		g.credentials = sync.OnceValue(o.Credentials)
	}
	g.protected.Store(o.Protected)
	g.queue.sweep()
	g.queue.asked = newAskedBook(o.Dir, o.Worker, o.Logger)
	g.restore()
	return g
}

// Protect replaces the files and addresses that no call may touch. callgate calls it once it knows its port, before any
// host connects.
func (g *Gate) Protect(p *Protected) { g.protected.Store(p) }

// Configure replaces the settings for calls from now on. Waiting approvals keep their timeout.
func (c Controls) Configure(s Settings) {
	s = s.withDefaults()
	c.gate.journal.set.Store(&s)
}

// HasAgent reports whether sessions may run under the agent.
func (g *Gate) HasAgent(name string) bool {
	_, ok := g.agents[name]
	return ok
}

// Worker is the name of the worker whose rules this gate applies.
func (g *Gate) Worker() string { return g.journal.o.Worker }

// Sessions lists the sessions, oldest first.
func (g *Gate) Sessions() []SessionInfo {
	g.registry.opening.Lock()
	defer g.registry.opening.Unlock()
	return g.registry.roster()
}

// SetAutonomy changes a session's level. Level is a name that ParseAutonomy reads.
func (c Controls) SetAutonomy(sessionID, level string, who audit.Author) error {
	g := c.gate
	autonomy, err := ParseAutonomy(level)
	if err != nil {
		return Invalid(err)
	}
	s, err := g.registry.session(sessionID)
	if err != nil {
		return err
	}
	if err := g.journal.control(who, audit.Record{
		SessionID: s.id, Agent: s.agent,
		Summary: fmt.Sprintf("Autonomy is now %s.", autonomy), Reason: autonomy.String(),
	}); err != nil {
		return err
	}
	if err := g.setStanding(s, func(one *standing) error { one.Autonomy = autonomy.String(); return nil }); err != nil {
		return err
	}
	if s.account == "" {
		s.autonomy.Store(uint32(autonomy))
	} else {
		_ = s.stand() // others may have set another since; what cannot be read now is read at the next call
	}
	g.lastPerson.note(who.By)
	g.journal.events.publish(AutonomyChanged{SessionID: s.id, Level: autonomy.String(), By: who.By})
	return nil
}

// Cancel withdraws every pending approval of the session and cancels its running calls. It does so even if that cannot
// be recorded; the error says so.
func (c Controls) Cancel(sessionID string, who audit.Author) error {
	g := c.gate
	s, err := g.registry.session(sessionID)
	if err != nil {
		return err
	}
	const what = "The session's calls were cancelled."
	err = g.journal.control(who, audit.Record{SessionID: s.id, Agent: s.agent, Summary: what})
	g.queue.withdraw(who, what, waitsIn(s, ""))
	s.users.cancel()
	return err
}

func (r *registry) session(id string) (*Session, error) {
	r.opening.Lock()
	defer r.opening.Unlock()
	if s, ok := r.sessions[id]; ok {
		return s, nil
	}
	return nil, fmt.Errorf("%w: %q", ErrSession, id)
}

// Close withdraws all waiting approvals and ends all sessions and subscriptions.
func (g *Gate) Close() {
	g.registry.opening.Lock()
	sessions := slices.Collect(maps.Values(g.registry.sessions))
	g.registry.opening.Unlock()
	for _, s := range sessions {
		s.Close()
	}
	g.queue.mu.Lock()
	g.queue.asked.close()
	g.queue.mu.Unlock()
	g.journal.events.close()
}
