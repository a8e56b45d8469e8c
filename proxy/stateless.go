package proxy

import (
	"context"

	"callgate/internal/rpc"
	"callgate/proxy/internal/stateless"
)

// Exchange is one stateless request, and the way back for everything that belongs to it.
type Exchange = stateless.Exchange

// Sender identifies who sends stateless requests. Requests of one sender that say the same of their host share a
// session.
type Sender struct {
	View      View
	Principal string
	Session   string // tells the sessions of one principal apart; "" is a value like others
}

// IsStateless reports whether a message belongs to a stateless revision. callgate decides that for each message.
func IsStateless(m rpc.Message) bool { return stateless.Is(m) }

// Exchange serves one stateless request. It returns at once. If ctx ends before the answer, callgate takes the request
// back.
func (p *Proxy) Exchange(ctx context.Context, from Sender, x Exchange, m rpc.Message) {
	p.stateless.Serve(ctx, stateless.Sender{View: stateless.View(from.View), Principal: from.Principal, Session: from.Session}, x, m)
}

// Places returns the names (see Options.Place) of what a stateless request continues: a call that asked its host
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

// Welcome waits for no server, unlike the handshake.
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
