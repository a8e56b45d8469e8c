package proxy

import (
	"context"

	"callgate/internal/rpc"
	"callgate/proxy/internal/stateless"
)

// Exchange is one stateless request, and the way back for what belongs to it.
type Exchange = stateless.Exchange

// Sender is whoever sends stateless requests: those of one sender that say the same of their host share a session.
type Sender struct {
	View      View
	Principal string
	Session   string // by which one principal tells its sessions apart; "" is one like others
}

// IsStateless reports whether a message is of a stateless revision. It is decided for each message anew.
func IsStateless(m rpc.Message) bool { return stateless.Is(m) }

// Exchange serves one stateless request. It returns at once; the request is taken back when ctx ends before
// it is answered.
func (p *Proxy) Exchange(ctx context.Context, from Sender, x Exchange, m rpc.Message) {
	p.stateless.Serve(ctx, stateless.Sender{View: stateless.View(from.View), Principal: from.Principal, Session: from.Session}, x, m)
}

// Places are the names (see Options.Place) of what a request of a stateless host continues: a call that asked its host
// something, or tasks.
func Places(m rpc.Message) []string { return stateless.PlacesOf(m) }

// Farewell ends the subscriptions of stateless hosts in an orderly way. Everything else goes on.
func (p *Proxy) Farewell() { p.stateless.Farewell() }

// statelessHost is the session behind the requests of a host without sessions.
type statelessHost struct{ h *host }

var _ stateless.Host = statelessHost{}

func (s statelessHost) Handle(m rpc.Message)                       { s.h.Handle(m) }
func (s statelessHost) Begin(m rpc.Message, of *stateless.Request) { s.h.begin(m, of) }
func (s statelessHost) TakeBack(id []byte)                         { s.h.takeBack(id) }
func (s statelessHost) Context() context.Context                   { return s.h.ctx }
func (s statelessHost) Expelled()                                  { s.h.Expelled() }
func (s statelessHost) Close()                                     { s.h.Close() }

// Welcome has waited for no server: the handshake has.
func (s statelessHost) Welcome(version string) []byte { return handshake{s.h}.welcome(version) }

func (s statelessHost) Definition(ctx context.Context, tool string) []byte {
	if e := s.h.offers.tool(ctx, nil, tool); e != nil {
		return e.Tool.Definition
	}
	return nil
}

func (s statelessHost) LeadsToPage() bool {
	return s.h.capable.Load().elicitationURL && !s.h.p.o.HostApproves && s.h.p.page() != ""
}
