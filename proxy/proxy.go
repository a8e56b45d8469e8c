// Package proxy is the life of one call: MCP in from a host, through the gate, out to the servers.
//
// Everything else of MCP it relays unchanged in both directions.
package proxy

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/budget"
	"callgate/internal/hooks"
	"callgate/internal/pool"
	"callgate/internal/rpc"
	"callgate/internal/traces"
	"callgate/internal/upstream"
	"callgate/proxy/internal/catalogue"
	"callgate/proxy/internal/stateless"
)

// Server is one configured upstream.
type Server struct {
	Upstream upstream.Config
	Tools    tools.Server // Name is the alias; it MUST pass CheckAliases
	Place    tools.Place  // where its calls run
	Shared   bool         // one for all hosts, instead of one for each
	Choice   Choice       // which of its tools there are
	Bounds   Bounds       // of its requests

	// Locked are the digests of the definitions that people accepted for everybody, by the server's own names; nil when
	// there are none. A definition among them is accepted, another one waits for a person.
	Locked map[string]string

	// Own makes this callgate's own server, for one session: the function is what Upstream.Serve is. Its names
	// are qualified also where the others are untouched, its definitions are not pinned, because they come with
	// the program, and it does not count as a configured server. Nil for every other.
	Own func(*gate.Session) func(ctx context.Context, in io.Reader, out io.Writer) error
}

// Options assemble a proxy. Gate is required.
type Options struct {
	Gate       *gate.Gate
	Servers    []Server
	Reserved   []string    // further names that nobody may bring tools under: of servers that are configured and not served
	Pins       *tools.Pins // definitions as people know them; nil compares none
	Agent      string      // profile that sessions run under whose view names none; "" is none
	Version    string
	Expose     *Expose    // nil shows hosts every tool
	Workspaces Workspaces // hears of the folders that hosts work in; nil for nobody
	// HandOver is how long a call waits for a person before the host gets an answer; 0 goes by the host's own
	// limit, a negative one lets calls wait as long as approvals do.
	HandOver time.Duration
	Hosts    []HostLimit // what users know of their hosts' limits
	// HostApproves makes the host an approver: what its person answers in a form counts.
	HostApproves bool
	Page         func() string  // address of the page for approvers, "" when there is none; may be nil
	Hooks        *hooks.Runner  // nil has none
	Tracer       *traces.Tracer // nil makes no traces
	CacheDir     string         // of what upstreams said of themselves; "" means none
	Checkpoints  *Checkpoints   // keeps files before calls change them; nil keeps none
	Verification *Verification  // runs checks after calls changed files; nil runs none
	Logger       *slog.Logger
	Budget       *budget.Budget // of messages in flight; nil has no bound

	// Secret seals what stateless hosts carry from one request to the next; nil makes one that ends with the process.
	Secret      []byte
	IdleTimeout time.Duration // sessions of stateless hosts end when nobody used them for so long; 0 means 30 min
	MaxSessions int           // of one principal at once; 0 sets no bound
}

// Choice says which tools of a server there are for hosts, and how they are called.
type Choice = catalogue.Choice

// OwnName is the alias of the server that callgate itself is. Nothing else may have it.
const OwnName = catalogue.OwnName

// Sanitize returns name with everything but letters, digits, _ and - replaced by _.
func Sanitize(name string) string { return catalogue.Sanitize(name) }

// CheckAliases reports aliases that would make a qualified name mean two things.
func CheckAliases(aliases []string) error { return catalogue.CheckAliases(aliases) }

// Plain is the name that the suffix of a qualified name was added to, if it has one.
func Plain(qualified string) string { return catalogue.Plain(qualified) }

// Proxy serves hosts. Each connection has a session and upstream processes of its own.
type Proxy struct {
	o     Options
	quota quota

	mu     sync.Mutex
	hosts  map[*host]struct{}
	shared map[string]*shared // servers that hosts share, by alias

	maker     *catalogue.Maker
	stateless *stateless.Clients
}

// New checks the options and returns a proxy. Close it.
func New(o Options) (*Proxy, error) {
	aliases := make([]string, len(o.Servers))
	for i, s := range o.Servers {
		aliases[i] = s.Tools.Name
	}
	if err := catalogue.CheckAliases(aliases); err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = 30 * time.Minute
	}
	p := &Proxy{o: o, quota: quota{limit: o.MaxSessions, of: map[string]int{}}, hosts: map[*host]struct{}{}}
	p.maker = p.newMaker()
	var err error
	p.stateless, err = p.newStateless()
	return p, err
}

// newMaker returns what makes the catalogues of all sessions.
func (p *Proxy) newMaker() *catalogue.Maker {
	m := &catalogue.Maker{Pins: p.o.Pins, Shows: p.o.Expose.shows, Log: p.o.Logger}
	for i, s := range p.o.Servers {
		if s.Own == nil {
			m.Configured = append(m.Configured, catalogue.Configured{Alias: s.Tools.Name, Identity: s.Tools.Identity, Choice: &p.o.Servers[i].Choice})
		}
	}
	return m
}

// Peer is one host's session, for a transport that reads the host's messages by itself.
type Peer interface {
	// Handle takes a message of the host: any but an answer to a request that went out by Line.Ask. It does not
	// wait for what comes of it.
	Handle(m rpc.Message)

	// Serve is Handle for a request, on the caller's goroutine. It calls answered when the request has its response, or
	// gets none, and then does what that leaves to do.
	Serve(m rpc.Message, answered func())

	// Malformed puts on record that the host sent what is not a message.
	Malformed(err error)

	// Close ends the session and waits until nothing of it runs.
	Close()
}

// Connect begins a session with the principal's host, which speaks over the line, until ctx ends. The caller MUST
// Close it. The error is a *QuotaError when the principal has too many.
func (p *Proxy) Connect(ctx context.Context, v View, principal string, line Line) (Peer, error) {
	return p.connect(ctx, v, principal, line, upstream.Legacy)
}

// Knows says why there is no such view.
func (p *Proxy) Knows(v View) error {
	known := v.Server == ""
	for _, s := range p.o.Servers {
		known = known || s.Own == nil && v.shows(s.Tools.Name)
	}
	if !known {
		return fmt.Errorf("callgate has no server %q", v.Server)
	}
	if v.Agent != "" && p.o.Agent != "" && v.Agent != p.o.Agent {
		return fmt.Errorf("sessions of this callgate run under the agent %q", p.o.Agent)
	}
	if v.Agent != "" && !p.o.Gate.HasAgent(v.Agent) {
		return fmt.Errorf("callgate knows no agent %q", v.Agent)
	}
	return nil
}

// connect begins a session with a host that speaks over the line. The caller MUST Close it.
func (p *Proxy) connect(ctx context.Context, v View, principal string, line Line, era upstream.Era) (*host, error) {
	if err := p.quota.enter(principal); err != nil {
		return nil, err
	}
	h := &host{p: p, view: v, principal: principal, era: era, line: line, log: p.o.Logger, jobs: pool.New()}
	h.folders.h, h.events.h, h.checks.h, h.chats.h = h, h, h, h
	h.relay.h, h.relay.asked = h, map[string]*serverRequest{}
	h.tasks.h, h.running.byKey = h, map[string]*inflight{}
	h.offers.h, h.offers.moved = h, make(chan struct{})
	h.ctx, h.cancel = context.WithCancel(ctx)
	session, err := p.o.Gate.OpenSession(cmp.Or(v.Agent, p.o.Agent), h.cancelCalls)
	if err != nil {
		h.cancel()
		p.quota.leave(principal)
		return nil, err
	}
	h.session = session
	h.folders.locate()
	for _, s := range p.o.Servers {
		if s.Own != nil || v.shows(s.Tools.Name) {
			h.servers = append(h.servers, h.newServer(s))
		}
	}
	h.offers.now.Store(&table{Catalogue: &catalogue.Catalogue{}})
	for _, s := range h.servers {
		if s.shared != nil { // it runs already, and may tell of something at once
			s.shared.join(s)
		}
	}
	p.mu.Lock()
	p.hosts[h] = struct{}{}
	p.mu.Unlock()
	return h, nil
}

// page is the address that a host may lead its person to.
func (p *Proxy) page() string {
	if p.o.Page == nil {
		return ""
	}
	return p.o.Page()
}

// Upstreams tells the state of every configured server: the best one of all connections.
func (p *Proxy) Upstreams() []UpstreamStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	states := make([]UpstreamStatus, 0, len(p.o.Servers))
	for _, s := range p.o.Servers {
		if s.Own != nil {
			continue
		}
		state := UpstreamStatus{Name: s.Tools.Name, State: upstream.Idle}
		for h := range p.hosts {
			if here := h.server(s.Tools.Name); here != nil {
				state = state.better(here.status())
			}
		}
		states = append(states, state)
	}
	return states
}

// UpstreamStatus is what people see of a server.
type UpstreamStatus struct {
	Name   string
	State  upstream.State
	Tools  int
	Reason string // why it is down
	Guard  string // what keeps its process from callgate; "" when none runs

	Resting bool // it is Idle because nobody used it for long: the next use starts it
}

// better returns the status that says more: a server that is up for one host is up.
func (a UpstreamStatus) better(b UpstreamStatus) UpstreamStatus {
	rank := func(s UpstreamStatus) int {
		switch s.State {
		case upstream.Ready:
			return 4
		case upstream.Idle:
			if s.Resting {
				return 3
			}
		case upstream.Starting:
			return 2
		case upstream.Down:
			return 1
		}
		return 0
	}
	if rank(b) > rank(a) {
		return b
	}
	return a
}

// quota bounds the sessions that one principal has at once, of either era: what a session holds is paid for by
// everybody, and hosts that never end theirs must not keep others out.
type quota struct {
	limit int // 0 is none

	mu sync.Mutex
	of map[string]int // by principal; those with none are not in it
}

// QuotaError says that a principal has as many sessions as one may have.
type QuotaError struct {
	Principal string
	Limit     int
}

func (e *QuotaError) Error() string {
	return fmt.Sprintf("the client %q has %d sessions open, and no more are let in (maxSessions): "+
		"a session ends with DELETE, or when nobody has used it for idleTimeout", e.Principal, e.Limit)
}

// enter counts a session in; the error is a *QuotaError. A session that has entered MUST leave.
func (q *quota) enter(principal string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.limit > 0 && q.of[principal] >= q.limit {
		return &QuotaError{Principal: principal, Limit: q.limit}
	}
	q.of[principal]++
	return nil
}

func (q *quota) leave(principal string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.of[principal]--; q.of[principal] == 0 {
		delete(q.of, principal)
	}
}
