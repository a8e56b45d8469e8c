// Package proxy is the life of one call: MCP in from a host, through the gate, out to the upstreams, and
// everything else of MCP relayed in both directions without harm.
package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"callgate/gate"
	"callgate/internal/rpc"
	"callgate/internal/tools"
	"callgate/internal/upstream"
)

// Server is one configured upstream.
type Server struct {
	Upstream upstream.Config
	Tools    tools.Server // Name is the alias; it MUST pass CheckAliases
	Place    tools.Place  // where its calls run
}

// Options assemble a proxy. Gate is required.
type Options struct {
	Gate      *gate.Gate
	Servers   []Server
	Untouched bool        // the one server's names are shown as they are; rules see qualified names all the same
	Pins      *tools.Pins // definitions as people know them; nil compares none
	Agent     string      // profile that every session runs under; "" is none
	Version   string
	// HandOver is how long a call waits for a person before the host gets an answer; 0 goes by the host's own
	// limit, a negative one lets calls wait as long as approvals do.
	HandOver time.Duration
	// HostApproves makes the host an approver: what its person answers in a form counts.
	HostApproves bool
	Page         func() string // address of the page for approvers, "" when there is none; may be nil
	CacheDir     string        // of what upstreams said of themselves; "" means none
	Logger       *slog.Logger
}

// Proxy serves hosts. Each connection has a session and upstream processes of its own.
type Proxy struct {
	o Options

	mu    sync.Mutex
	hosts map[*host]struct{}
}

// New checks the options and returns a proxy.
func New(o Options) (*Proxy, error) {
	if o.Untouched && len(o.Servers) != 1 {
		return nil, errors.New("names can only be left untouched with exactly one server")
	}
	aliases := make([]string, len(o.Servers))
	for i, s := range o.Servers {
		aliases[i] = s.Tools.Name
	}
	if err := CheckAliases(aliases); err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Proxy{o: o, hosts: map[*host]struct{}{}}, nil
}

// Run serves one host until in ends or ctx does. It returns when nothing of the connection runs any more.
func (p *Proxy) Run(ctx context.Context, in io.ReadCloser, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h, err := p.newHost(ctx, in, out)
	if err != nil {
		return err
	}
	defer h.close()
	stop := context.AfterFunc(ctx, func() { in.Close() })
	defer stop()
	if err := h.conn.Run(h.handle); err != nil && ctx.Err() == nil {
		return fmt.Errorf("read from the host: %w", err)
	}
	return nil
}

func (p *Proxy) newHost(ctx context.Context, in io.Reader, out io.Writer) (*host, error) {
	h := &host{p: p, log: p.o.Logger, changed: make(chan struct{}), calls: map[string]*inflight{}, asked: map[string]*serverRequest{}, workers: workers{jobs: make(chan func())}}
	h.ctx, h.cancel = context.WithCancel(ctx)
	h.conn, h.out = rpc.NewConn(in, out, rpc.Options{Noise: h.noise}), out
	session, err := p.o.Gate.OpenSession(p.o.Agent, h.cancelCalls)
	if err != nil {
		return nil, err
	}
	h.session = session
	for _, s := range p.o.Servers {
		h.servers = append(h.servers, h.newServer(s))
	}
	h.table.Store(&table{})
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
	states := make([]UpstreamStatus, len(p.o.Servers))
	for i, s := range p.o.Servers {
		states[i] = UpstreamStatus{Name: s.Tools.Name, State: upstream.Idle}
		for h := range p.hosts {
			states[i] = states[i].better(h.servers[i].status())
		}
	}
	return states
}

// UpstreamStatus is what people see of a server.
type UpstreamStatus struct {
	Name   string
	State  upstream.State
	Tools  int
	Reason string // why it is down
}

// better returns the status that says more: a server that is up for one host is up.
func (a UpstreamStatus) better(b UpstreamStatus) UpstreamStatus {
	rank := func(s upstream.State) int {
		switch s {
		case upstream.Ready:
			return 3
		case upstream.Starting:
			return 2
		case upstream.Down:
			return 1
		}
		return 0
	}
	if rank(b.State) > rank(a.State) {
		return b
	}
	return a
}
