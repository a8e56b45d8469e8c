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

// Options configures New. Store and Audit are required.
type Options struct {
	Worker         string
	Store          *store.Store
	Audit          *audit.Log
	Logger         *slog.Logger
	Mode           Mode
	Autonomy       Autonomy                                    // the level of new sessions
	AskEscalations bool                                        // ESCALATION asks instead of being denied
	Timeout        time.Duration                               // how long an approval waits for a person; 0 means 120 s
	ClaimWithin    time.Duration                               // how long a decision is kept for the repeat of a handed-over call; 0 means 15 min
	History        func(context.Context) []string              // shell commands that the worker ran or asked about before; may be nil
	Answered       func(context.Context, time.Time) []Answered // returns what people have answered since the time, oldest first; may be nil
	Dir            string                                      // folder of waiting approvals and kept decisions; "" keeps none
	MaxPending     int                                         // approvals that may wait at once in one session; 0 means 64
	MaxPendingAll  int                                         // the same for all sessions together; 0 means no limit
	Protected      *Protected                                  // what no call may touch; nil for nothing
	Limits         Limits                                      // limits of each session
	InMemory       bool                                        // keeps the worker's grants in memory, so that they end with the process
	Terminal       *Terminal                                   // the terminal allow-list; nil for none
	Undo           func(Call, *tools.Analysis) *Undo           // says whether a call's changes can be undone; may be nil
	Unkept         func(Call, *tools.Analysis) (why string)    // returns why a call's files cannot be kept, which marks the call, or ""; may be nil
	Credentials    func() []Credential                         // more secrets that must not leave; called once, at the first call; may be nil
	Presence       Presence                                    // checks proofs that a person is there; nil requires none
	Ledger         Ledger                                      // shares approvals with other machines; nil keeps them in Dir
	Tallies        Tallies                                     // counts limits over several replicas; nil counts only here
	Standing       store.Shared                                // settings of sessions that several replicas serve; nil shares none
	Current        func() error                                // returns why rules and freezes may be stale; then nothing runs; nil if they never are
	Freezer        *Freezer                                    // what people have frozen; nil freezes nothing
	NoFlow         bool                                        // sessions do not remember where values come from
	Advisors       []Advisor                                   // other policy engines, which can deny and ask
	Stop           <-chan struct{}                             // closed when somebody stops callgate; nil for never
	Off            bool                                        // applies no rules, levels or marks; hooks, freezes and Protected still deny
	Agents         []permissions.Agent                         // profiles that sessions and calls may run under, besides DefaultAgent
}

// Settings holds the options that Configure can replace while the gate is in use. Each field means what the field of
// that name in Options means. Autonomy applies to sessions that begin later.
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

// settings returns the settings among the options, with their defaults.
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

	credentials func() []Credential // Options.Credentials, called at most once
	protected   atomic.Pointer[Protected]

	lastPerson lastPerson
	history    history
	granted    grantBook // the worker's grants, if they stay in memory
	agents     map[string]permissions.Agent
	answers    answeredBook
	standings  standings
}

// journal writes audit records and publishes events.
type journal struct {
	o      Options                  // as given to New; set has the current values of some
	set    atomic.Pointer[Settings] // current
	events hub
}

// queue holds the approvals that wait. Only resolve ends one.
type queue struct {
	journal *journal

	// mu guards all approvals. Its holder may wait for the Ledger. An allowed call therefore never takes it: neither
	// judging nor looking up a session does.
	mu      sync.Mutex
	pending map[string]*approval
	order   []string // ids of pending, oldest first
	asked   askedBook

	given atomic.Pointer[given] // the last "always"; nil for none
}

// registry holds the open sessions.
type registry struct {
	opening  sync.Mutex // guards sessions; code that needs both takes queue.mu first
	sessions map[string]*Session
}

// New returns a gate without sessions. It takes over the approvals that dead processes of the worker left in Dir.
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

// Worker returns the name of the worker whose rules this gate applies.
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
	if err := g.changeSharedSettings(s, func(one *sharedSettings) error { one.Autonomy = autonomy.String(); return nil }); err != nil {
		return err
	}
	if s.account == "" {
		s.autonomy.Store(uint32(autonomy))
	} else {
		_ = s.applySettings() // another replica may have changed it since; a failed read is retried at the next call
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
