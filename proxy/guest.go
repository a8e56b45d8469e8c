package proxy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/upstream"
	"callgate/proxy/internal/catalogue"
	"callgate/proxy/internal/guests"
)

// Guest is a server that an approver's client brings into one session. The client runs its tools itself. callgate
// judges, pins and records its calls like all others. It trusts nothing that a guest says about itself: annotations can
// raise a risk, but never lower it.
type Guest struct {
	Name  string   // alias; neither a configured server's nor easily mistaken for one
	By    string   // the client's name for people; definitions are pinned under it
	Tools [][]byte // definitions in MCP's format

	// Call runs a tool and returns the raw result of tools/call. ctx ends when nobody wants the result any more. An
	// error becomes the tool's error result, which the model reads.
	Call func(ctx context.Context, tool string, arguments []byte) (result []byte, err error)
}

// Limits on the guests of one session.
const (
	maxGuests    = 16
	maxGuestName = 32
)

// Visit is a guest's stay in a session, on all connections of the host. The caller MUST call Leave.
type Visit struct {
	session *gate.Session

	mu    sync.Mutex
	guest Guest
	left  bool
	stays []stay
}

// stay is a visit on one connection.
type stay struct {
	host   *host
	server *server
	guest  *guests.Server
}

// Bring lets the guest's tools in and tells the host that its list changed. It returns gate.ErrSession if no host of
// this process has the session, and gate.ErrAnswer if the guest cannot be let in.
func (p *Proxy) Bring(sessionID string, g Guest) (*Visit, error) {
	h, err := p.hostOf(sessionID)
	switch {
	case err != nil:
		return nil, err
	case h == nil:
		return nil, gate.ErrSession
	}
	h.inviting.Lock()
	defer h.inviting.Unlock()
	if now, err := p.hostOf(sessionID); now != h && err == nil { // another connection has taken over the session
		return p.Bring(sessionID, g)
	}
	v := &Visit{session: h.session, guest: g}
	if err := v.begin(h); err != nil {
		return nil, err
	}
	return v, nil
}

// begin brings the guest to a connection. The caller holds the connection's inviting lock, unless nobody else knows the
// connection.
func (v *Visit) begin(h *host) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.left {
		return nil
	}
	g, present := v.guest, h.visitors()
	if err := h.p.welcomes(g.Name, present, h.servers); err != nil {
		return gate.Invalid(err)
	}
	served := guests.New(g.Name, latestVersion, g.Tools, g.Call)
	s := h.newServer(Server{
		Upstream: upstream.Config{Name: g.Name, Serve: served.Serve},
		Tools:    tools.Server{Name: g.Name, Identity: fmt.Sprintf("client %q server %q", g.By, g.Name)},
	}, nil)
	s.guest = v
	all := append(slices.Clone(present), s)
	h.guests.Store(&all)
	if h.ctx.Err() != nil { // the host has just ended, and may not have seen the guest
		s.up.Close()
		return fmt.Errorf("%w: %q", gate.ErrSession, h.session.ID())
	}
	s.up.Start(upstream.Hello{ProtocolVersion: latestVersion})
	v.stays = append(slices.DeleteFunc(v.stays, stay.over), stay{h, s, served})
	return nil
}

// takeAlong brings the guests of the session's earlier connection to this one. The caller holds before.inviting.
func (h *host) takeAlong(before *host) {
	for _, s := range before.visitors() {
		if err := s.guest.begin(h); err != nil {
			h.log.Warn("what a client brought into a session cannot stay with the new servers", "server", s.alias, "error", err)
		}
	}
}

// welcomes returns an error that says why a guest of that name cannot be let in, or nil if it can. present are the
// other guests. The session's servers can be of earlier settings.
func (p *Proxy) welcomes(name string, present, servers []*server) error {
	aliases := []string{name, OwnName}
	set := p.set.Load()
	others := slices.Clone(set.Reserved)
	for _, s := range set.Servers {
		if s.Own == nil {
			aliases = append(aliases, s.Tools.Name)
		}
	}
	for _, s := range present {
		aliases = append(aliases, s.alias)
	}
	for _, s := range servers {
		if !slices.Contains(aliases[1:], s.alias) {
			others = append(others, s.alias)
		}
	}
	reserved := func(other string) bool {
		return strings.EqualFold(other, name) || strings.HasPrefix(other, name+"_") || strings.HasPrefix(name, other+"_")
	}
	switch {
	case slices.ContainsFunc(others, reserved):
		return fmt.Errorf("server name %q is that of a configured server, or could be mistaken for it", name)
	case len(present) >= maxGuests:
		return fmt.Errorf("%d servers were brought into the session already", maxGuests)
	case len(name) > maxGuestName:
		return fmt.Errorf("server name %.40q…: at most %d characters", name, maxGuestName)
	case slices.ContainsFunc(aliases[1:], func(other string) bool { return strings.EqualFold(other, name) }):
		return fmt.Errorf("server name %q is taken", name)
	}
	return catalogue.CheckAliases(aliases)
}

// turnOut has guests leave whose names servers have by now: what rules say of those is not said of them.
func (p *Proxy) turnOut() {
	p.mu.Lock()
	hosts := slices.Collect(maps.Keys(p.hosts))
	p.mu.Unlock()
	for _, h := range hosts {
		h.inviting.Lock() // a guest whose name was welcome before is in by then
		present := h.visitors()
		h.inviting.Unlock()
		for _, s := range present {
			if err := p.welcomes(s.alias, nil, nil); err != nil {
				s.guest.Leave(fmt.Sprintf("The configuration has changed: %v.", err))
			}
		}
	}
}

// Offer replaces the guest's tools and tells the host that its list changed.
func (v *Visit) Offer(definitions [][]byte) {
	v.mu.Lock()
	v.guest.Tools = definitions
	stays := slices.Clone(v.stays)
	v.mu.Unlock()
	for _, at := range stays {
		at.guest.Offer(definitions)
	}
}

// Over reports whether the guest has no open connection left in the session.
func (v *Visit) Over() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.left || !slices.ContainsFunc(v.stays, func(at stay) bool { return !at.over() })
}

func (at stay) over() bool { return at.host.ctx.Err() != nil }

// Leave removes the guest's tools. Waiting calls are withdrawn and running calls fail, with the reason.
func (v *Visit) Leave(reason string) {
	v.mu.Lock()
	v.left = true
	stays := slices.Clone(v.stays)
	v.mu.Unlock()
	for _, at := range stays {
		h := at.host
		h.inviting.Lock()
		left := slices.DeleteFunc(slices.Clone(h.visitors()), func(s *server) bool { return s == at.server })
		h.guests.Store(&left)
		h.inviting.Unlock()
	}
	v.session.WithdrawServer(v.guest.Name, reason)
	for _, at := range stays {
		at.guest.Leave(errors.New(reason))
		at.host.offers.changed(upstream.Tools)
		at.server.up.Close()
	}
}
