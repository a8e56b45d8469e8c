package proxy

import (
	"context"
	"slices"

	"callgate/gate"
	"callgate/internal/rpc"
	"callgate/internal/upstream"
	"callgate/proxy/internal/stateless"
)

// StatelessVersion is the first revision of MCP that has neither a handshake nor sessions.
const StatelessVersion = stateless.Version

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

// Farewell ends, in an orderly way, what stateless hosts keep open to hear of changes. Everything else goes on.
func (p *Proxy) Farewell() { p.stateless.Farewell() }

// Close ends the sessions of stateless hosts and the servers that hosts share, and waits until nothing of them
// runs. Hosts that have connections of their own are not the proxy's to end; they MUST have ended.
func (p *Proxy) Close() {
	p.stateless.Close()
	p.closeShared()
}

// SupportedVersions are all revisions that hosts can speak with callgate, the newest first.
func SupportedVersions() []string {
	all := append(Versions(), StatelessVersion)
	slices.Reverse(all)
	return all
}

// newStateless prepares for hosts without sessions.
func (p *Proxy) newStateless() (*stateless.Clients, error) {
	return stateless.New(stateless.Options{
		Open: func(ctx context.Context, c *stateless.Client, from stateless.Sender, o stateless.Opening) (stateless.Host, error) {
			h, err := p.connect(ctx, View(from.View), from.Principal, c, upstream.Modern)
			if err != nil {
				return nil, err
			}
			h.waits = o.WaitsForTasks
			if o.KeepsNoGrants && from.Principal != StdioPrincipal {
				h.session.KeepNoGrants()
			}
			return statelessHost{h}, nil
		},
		Awaits: p.o.Gate.Awaits, AgentOf: agentOf,
		Versions: upstream.Versions, Secret: p.o.Secret, IdleTimeout: p.o.IdleTimeout, Logger: p.o.Logger,
	})
}

// statelessHost is the session behind the requests of a host that has none.
type statelessHost struct{ h *host }

var _ stateless.Host = statelessHost{}

func (s statelessHost) Handle(m rpc.Message)                       { s.h.Handle(m) }
func (s statelessHost) Begin(m rpc.Message, of *stateless.Request) { s.h.begin(m, of) }
func (s statelessHost) TakeBack(id []byte)                         { s.h.takeBack(id) }
func (s statelessHost) ID() string                                 { return s.h.session.ID() }
func (s statelessHost) Context() context.Context                   { return s.h.ctx }
func (s statelessHost) Close()                                     { s.h.Close() }

func (s statelessHost) Definition(ctx context.Context, tool string) []byte {
	if e := s.h.offers.tool(ctx, tool); e != nil {
		return e.Tool.Definition
	}
	return nil
}

func (s statelessHost) LeadsToPage() bool {
	return s.h.capable.Load().elicitationURL && !s.h.p.o.HostApproves && s.h.p.page() != ""
}

// told notes that a message to a host was not sent.
func (p *Proxy) told(err error) {
	if err != nil {
		p.o.Logger.Debug("message to the host not sent", "error", err)
	}
}

// callID is the id of the request's call: a fresh one, or that of the approval which it comes back for.
func (r *inflight) callID(fresh string) string {
	if r.stateless != nil && r.stateless.Resumes() != "" {
		return r.stateless.Resumes()
	}
	return fresh
}

// leadAway is the result that leads the host's person to the page while an approval is pending; nil for other hosts.
func (r *inflight) leadAway(call gate.Call, v gate.Verdict) []byte {
	if r.stateless == nil || v.Decision != gate.DecidedPending {
		return nil
	}
	return r.stateless.LeadAway(call.ID)
}
