package proxy

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"callgate/gate"
	"callgate/internal/pool"
	"callgate/internal/rpc"
	"callgate/internal/traces"
	"callgate/internal/upstream"
	"callgate/proxy/internal/catalogue"
	"callgate/proxy/internal/events"
	"callgate/proxy/internal/provenance"
	"callgate/proxy/internal/shared"
	"callgate/proxy/internal/stateless"
)

// New checks the options and returns a proxy. The caller MUST Close it.
func New(o Options) (*Proxy, error) {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Hooks = cmp.Or(o.Hooks, events.None)
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = 30 * time.Minute
	}
	p := &Proxy{o: o, quota: quota{limit: o.MaxSessions, of: map[string]int{}}, hosts: map[*host]struct{}{}}
	first, err := p.settings(Settings{o.Servers, o.Reserved, o.HandOver, o.Hosts})
	if err != nil {
		return nil, err
	}
	p.set.Store(first)
	if p.stateless, err = p.newStateless(); err != nil {
		return nil, err
	}
	if o.Traces {
		p.tracer, err = traces.New(traces.Options{Version: o.Version, Worker: o.Gate.Worker(), Logger: o.Logger})
	}
	return p, err
}

// settings checks s, and prepares to make the catalogues of all sessions with these servers.
func (p *Proxy) settings(s Settings) (*settings, error) {
	aliases := make([]string, len(s.Servers))
	m := &catalogue.Maker{Pins: p.o.Pins, Shows: p.o.Expose.Shows, Log: p.o.Logger}
	for i, one := range s.Servers {
		aliases[i] = one.Tools.Name
		if one.Own == nil {
			m.Configured = append(m.Configured, catalogue.Configured{Alias: one.Tools.Name, Identity: one.Tools.Identity, Choice: &s.Servers[i].Choice})
		}
	}
	return &settings{s, m, map[string]*shared.Server{}}, catalogue.CheckAliases(aliases)
}

// Configure checks the settings and returns a function that applies them. Open sessions keep their servers, and new
// sessions get the new ones. Stateless hosts cannot choose when their sessions begin. So with renew their sessions get
// the new servers too, but keep their state and settings.
func (p *Proxy) Configure(s Settings, renew bool) (apply func(), err error) {
	next, err := p.settings(s)
	if err != nil {
		return nil, err
	}
	return func() {
		if !renew {
			next.shared = p.set.Load().shared
		}
		p.set.Store(next)
		p.turnOut()
		if renew {
			p.stateless.Renew()
		}
	}, nil
}

// Expel withdraws the approvals that wait in sessions of stateless hosts whose principal is no longer known. The caller
// MUST call end, which ends those sessions and waits for them.
func (p *Proxy) Expel(known func(principal string) bool) (end func()) {
	return p.stateless.Expel(known)
}

// Connect begins a session with the principal's host over the line. It lasts until ctx ends. The caller MUST Close the
// peer. The error is a *QuotaError if the principal has too many sessions.
func (p *Proxy) Connect(ctx context.Context, v View, principal string, line Line) (Peer, error) {
	return p.connect(ctx, v, principal, line, upstream.Legacy, nil)
}

// Knows returns an error that says why callgate cannot show the view, or nil if it can.
func (p *Proxy) Knows(v View) error {
	known := v.Server == ""
	for _, s := range p.set.Load().Servers {
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

// connect begins a session with a host over the line. If before is not nil, it continues the session of that host, with
// other servers. The caller MUST Close the host.
func (p *Proxy) connect(ctx context.Context, v View, principal string, line Line, era upstream.Era, before *host) (*host, error) {
	h := &host{p: p, view: v, principal: principal, era: era, line: line, log: p.o.Logger, jobs: pool.New()}
	if by, ok := line.(Vouched); ok {
		h.admitted = by.Admitted
	}
	h.running.byKey = map[string]*inflight{}
	set := p.set.Load()
	h.offers.h, h.offers.maker, h.offers.moved = h, set.maker, make(chan struct{})
	h.ctx, h.cancel = context.WithCancelCause(ctx)
	if err := h.join(before); err != nil {
		h.cancel(err)
		return nil, err
	}
	session := h.session
	h.folders.Local = principal == StdioPrincipal
	h.events = events.Events{Hooks: p.o.Hooks, Session: session}
	h.checks.Checks, h.checks.Ended, h.checks.Work = p.o.Verification, h.ctx, &h.work
	h.checks.Unseen = func() string { return p.o.Gate.Files.Unseen(session) }
	session.SetOrigin(h.folders.Origin())
	for _, s := range set.Servers {
		if s.Own != nil || v.shows(s.Tools.Name) {
			h.servers = append(h.servers, h.newServer(s, set.shared))
		}
	}
	h.offers.now.Store(&table{Catalogue: &catalogue.Catalogue{}})
	for _, s := range h.servers {
		if s.shared != nil { // it may run already, and send something at once
			s.shared.Join(s)
		}
	}
	if before != nil && before.session == session {
		before.inviting.Lock()
		defer before.inviting.Unlock() // only after h is in p.hosts
		h.takeAlong(before)
	}
	p.mu.Lock()
	p.hosts[h] = struct{}{}
	p.mu.Unlock()
	return h, nil
}

// join makes the host use the session of the host before it, or a new one.
func (h *host) join(before *host) (err error) {
	if before != nil {
		h.began, h.seat = before.began+1, before.seat
		h.seat.taken.Add(1)
		if leave, ok := before.session.Join(h.cancelCalls); ok {
			h.session, h.leave = before.session, leave
			return nil
		}
		h.seat.give()
	}
	if h.seat, err = h.p.quota.seat(h.principal); err != nil {
		return err
	}
	if h.session, err = h.p.o.Gate.OpenSession(cmp.Or(h.view.Agent, h.p.o.Agent), h.cancelCalls, gate.Client{Principal: proven(h.principal)}); err != nil {
		h.seat.give()
		return err
	}
	h.leave = h.session.Close
	return nil
}

func (h *host) newServer(o Server, among map[string]*shared.Server) *server {
	s := &server{host: h, alias: o.Tools.Name, about: o.Tools, place: o.Place, own: o.Own != nil, choice: o.Choice, locked: o.Locked, bounds: o.Bounds}
	s.words = provenance.Server{Alias: s.alias, Asks: h.p.o.Gate.Imitates, Log: h.log}
	if s.own {
		o.Upstream.Serve = o.Own(h.session)
	}
	if o.Shared {
		s.shared = h.p.share(o, among)
		s.up = s.shared.Up
		return s
	}
	s.up = upstream.New(o.Upstream, upstream.Options{
		Budget:   h.p.o.Budget,
		CacheDir: h.p.o.CacheDir,
		Logger:   h.log,
		Wanted:   s.subscriptions.any,
		Connect:  wall{s}.connects,
		Refused:  wall{s}.refused,
		Widen:    wall{s}.widens,
		Events: upstream.Events{
			Notification: func(_ *upstream.Upstream, m rpc.Message, cause any) {
				s.Notified(m, cause)
			},
			Request: func(_ *upstream.Upstream, m rpc.Message, cause any) {
				r, _ := cause.(*inflight)
				serverSide{s}.asked(m, r)
			},
			StateChanged: func(u *upstream.Upstream, state upstream.State) {
				s.Changed(u, state)
			},
			ListChanged: func(_ *upstream.Upstream, k upstream.Kind) { s.ListChanged(k) },
		},
	})
	return s
}

// Close ends the sessions of stateless hosts and the shared servers, and waits for them. It does not end hosts with
// connections of their own: they MUST have ended already. It returns an error if traces could not be sent.
func (p *Proxy) Close() error {
	p.stateless.Close()
	p.closeShared()
	return p.tracer.Close()
}

// newStateless sets up the sessions of hosts that have none of their own.
func (p *Proxy) newStateless() (*stateless.Clients, error) {
	return stateless.New(stateless.Options{
		Open: func(ctx context.Context, c *stateless.Client, from stateless.Sender, o stateless.Opening) (stateless.Host, error) {
			before, _ := o.Before.(statelessHost)
			h, err := p.connect(ctx, View(from.View), from.Principal, c, upstream.Modern, before.h)
			if err != nil {
				return nil, err
			}
			h.waits = o.WaitsForTasks
			if before.h == nil || before.h.session != h.session {
				h.session.Share(o.Account)
			}
			if o.KeepsNoGrants && from.Principal != StdioPrincipal {
				h.session.KeepNoGrants()
			}
			return statelessHost{h}, nil
		},
		Place: p.o.Place, Awaits: p.o.Gate.Awaits, AgentOf: agentOf,
		Versions: upstream.Versions, Secret: p.o.Secret, IdleTimeout: p.o.IdleTimeout, Logger: p.o.Logger,
	})
}

// share returns the shared server for o from among, the servers of the same settings, or adds it. A host that begins
// while settings are replaced does not pass an old server on to later hosts. The server starts with the first host that
// needs it and ends with the proxy.
func (p *Proxy) share(o Server, among map[string]*shared.Server) *shared.Server {
	p.mu.Lock()
	defer p.mu.Unlock()
	if sh := among[o.Tools.Name]; sh != nil {
		return sh
	}
	o.Upstream.IdleTimeout = cmp.Or(o.Upstream.IdleTimeout, p.o.IdleTimeout)
	sh := shared.New(o.Upstream, upstream.Options{Budget: p.o.Budget, CacheDir: p.o.CacheDir, Logger: p.o.Logger}, func(cause any) shared.User {
		r, _ := cause.(*inflight)
		if s := r.server(); s != nil {
			return s
		}
		return nil
	})
	among[o.Tools.Name], p.shared = sh, append(p.shared, sh)
	return sh
}

// closeShared ends the shared servers and waits for them.
func (p *Proxy) closeShared() {
	p.mu.Lock()
	all := p.shared
	p.shared = nil
	p.mu.Unlock()
	var closing sync.WaitGroup
	for _, sh := range all {
		closing.Go(sh.Up.Close)
	}
	closing.Wait()
}

// Notified handles a notification of the server.
func (s *server) Notified(m rpc.Message, cause any) {
	r, _ := cause.(*inflight)
	serverSide{s}.notified(m, r)
}

// ListChanged handles a new list of the server.
func (s *server) ListChanged(k upstream.Kind) { s.host.offers.changed(k) }

// Changed handles a change of the server's state.
func (s *server) Changed(up *upstream.Upstream, state upstream.State) {
	s.host.offers.touch()
	s.noteState(up.Status(), state)
	s.tellState(up, state)
	s.withdrawApprovals(up, state)
	assigned{s}.cancel(state)
	if state == upstream.Ready {
		s.remind()
	}
}
