package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/internal/upstream"
	"callgate/proxy/internal/catalogue"
)

// Guest is a server that a client of the companion brings into one session. The client runs its tools itself. Its calls
// are judged, pinned and recorded like all others. Nothing that it says about itself is trusted: its annotations can
// raise a risk and never lower one.
type Guest struct {
	Name  string   // alias; no configured server's, nor one that could be mistaken for it
	By    string   // the client, for people; definitions are pinned under it
	Tools [][]byte // definitions as MCP has them

	// Call runs a tool and returns the raw result of tools/call. ctx ends when nobody wants it any more. An
	// error becomes the tool's error result, and is what the model reads.
	Call func(ctx context.Context, tool string, arguments []byte) (result []byte, err error)
}

// Bounds of what is brought into one session.
const (
	maxGuests    = 16
	maxGuestName = 32
)

// Visit is a guest's stay in a session. Leave MUST be called.
type Visit struct {
	host   *host
	server *server
	guest  *guestServer
}

// Bring lets the guest's tools in; the host hears that its list changed. Errors are gate.ErrSession when no
// host of this process has the session, and gate.ErrAnswer when the guest cannot be let in.
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
	present := h.visitors()
	if err := p.welcomes(g.Name, present); err != nil {
		return nil, fmt.Errorf("%w: %w", gate.ErrAnswer, err)
	}
	served := &guestServer{alias: g.Name, call: g.Call}
	served.offer(g.Tools)
	s := h.newServer(Server{
		Upstream: upstream.Config{Name: g.Name, Serve: served.serve},
		Tools:    tools.Server{Name: g.Name, Identity: fmt.Sprintf("client %q server %q", g.By, g.Name)},
	})
	s.guest = true
	all := append(slices.Clone(present), s)
	h.guests.Store(&all)
	if h.ctx.Err() != nil { // the host ended at this moment, and may not have seen the guest
		s.up.Close()
		return nil, fmt.Errorf("%w: %q", gate.ErrSession, sessionID)
	}
	s.up.Start(upstream.Hello{ProtocolVersion: latestVersion})
	return &Visit{h, s, served}, nil
}

// welcomes says why a guest of that name cannot be let in.
func (p *Proxy) welcomes(name string, present []*server) error {
	aliases := []string{name, OwnName}
	for _, s := range p.o.Servers {
		if s.Own == nil {
			aliases = append(aliases, s.Tools.Name)
		}
	}
	for _, s := range present {
		aliases = append(aliases, s.alias)
	}
	reserved := func(other string) bool {
		return strings.EqualFold(other, name) || strings.HasPrefix(other, name+"_") || strings.HasPrefix(name, other+"_")
	}
	switch {
	case slices.ContainsFunc(p.o.Reserved, reserved):
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

// visitors are the guests of the session.
func (h *host) visitors() []*server {
	if guests := h.guests.Load(); guests != nil {
		return *guests
	}
	return nil
}

// everyone is the configured servers of the view and the guests.
func (h *host) everyone() []*server {
	return append(h.servers[:len(h.servers):len(h.servers)], h.visitors()...)
}

// Offer replaces the guest's tools; the host hears that its list changed.
func (v *Visit) Offer(definitions [][]byte) { v.guest.offer(definitions) }

// Over reports whether the session has ended.
func (v *Visit) Over() bool { return v.host.ctx.Err() != nil }

// Leave takes the tools away. Waiting calls are withdrawn, and running calls fail; reason says why.
func (v *Visit) Leave(reason string) {
	h := v.host
	h.inviting.Lock()
	left := slices.DeleteFunc(slices.Clone(h.visitors()), func(s *server) bool { return s == v.server })
	h.guests.Store(&left)
	h.inviting.Unlock()
	h.session.WithdrawServer(v.server.alias, reason)
	v.guest.leave(errors.New(reason))
	h.offers.changed(upstream.Tools)
	v.server.up.Close()
}

// guestServer is the MCP server that a guest is to the rest of callgate.
type guestServer struct {
	alias string
	call  func(ctx context.Context, tool string, arguments []byte) ([]byte, error)
	conn  atomic.Pointer[rpc.Conn]

	mu      sync.Mutex
	list    []byte                             // the result of tools/list
	running map[string]context.CancelCauseFunc // by id as spelled
	left    error                              // why nothing begins any more
	calls   sync.WaitGroup                     // those that run
}

// offer replaces what tools/list says.
func (g *guestServer) offer(definitions [][]byte) {
	list := append([]byte(`{"tools":[`), bytes.Join(definitions, []byte{','})...)
	g.mu.Lock()
	g.list = append(list, "]}"...)
	g.mu.Unlock()
	if conn := g.conn.Load(); conn != nil {
		_ = conn.Write(rpc.Request(nil, "notifications/tools/list_changed", nil)) // fails when the session has ended
	}
}

// leave ends what runs and returns when all of it is answered.
func (g *guestServer) leave(why error) {
	g.mu.Lock()
	g.left = why
	for _, cancel := range g.running {
		cancel(why)
	}
	g.mu.Unlock()
	g.calls.Wait()
}

// serve is what upstream.Config.Serve wants.
func (g *guestServer) serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer g.calls.Wait()
	defer cancel()
	conn := rpc.NewConn(in, out, rpc.Options{})
	g.conn.Store(conn)
	return conn.Run(func(m rpc.Message) {
		switch {
		case m.Method == "notifications/cancelled":
			g.cancelled(m)
		case !m.IsRequest():
		case m.Method == "tools/call":
			if ctx, why := g.begin(ctx, m); why != nil {
				g.reply(conn, rpc.Result(m.ID, errorResult(why.Error())))
			} else {
				go g.finish(ctx, conn, m)
			}
		default:
			g.reply(conn, g.answer(m))
		}
	})
}

// reply writes a response. Its reader may be gone.
func (g *guestServer) reply(conn *rpc.Conn, response []byte) { _ = conn.Write(response) }

func (g *guestServer) answer(m rpc.Message) []byte {
	switch m.Method {
	case "initialize":
		return rpc.Result(m.ID, fmt.Appendf(nil, `{"protocolVersion":%s,"capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":%s,"version":"0"}}`,
			jsonx.Quote(latestVersion), jsonx.Quote(g.alias)))
	case "ping":
		return rpc.Result(m.ID, []byte("{}"))
	case "tools/list":
		g.mu.Lock()
		defer g.mu.Unlock()
		return rpc.Result(m.ID, g.list)
	}
	return rpc.Error(m.ID, rpc.CodeMethodNotFound, "method not found: "+m.Method)
}

// begin registers a call before the next message is read, so that its cancellation finds it. finish MUST follow
// unless the guest has left.
func (g *guestServer) begin(ctx context.Context, m rpc.Message) (_ context.Context, left error) {
	ctx, cancel := context.WithCancelCause(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.left != nil {
		cancel(g.left)
		return nil, g.left
	}
	if g.running == nil {
		g.running = map[string]context.CancelCauseFunc{}
	}
	g.running[string(m.ID)] = cancel
	g.calls.Add(1)
	return ctx, nil
}

// finish runs a call to its end and answers it.
func (g *guestServer) finish(ctx context.Context, conn *rpc.Conn, m rpc.Message) {
	defer g.calls.Done()
	response := g.run(ctx, m)
	g.mu.Lock()
	cancel := g.running[string(m.ID)]
	delete(g.running, string(m.ID))
	g.mu.Unlock()
	cancel(nil)
	g.reply(conn, response)
}

func (g *guestServer) cancelled(m rpc.Message) {
	var id [1]jsonx.Member
	if m.Params == nil || jsonx.Members(m.Params, []string{"requestId"}, id[:]) != nil {
		return
	}
	g.mu.Lock()
	cancel := g.running[string(id[0].Value)]
	g.mu.Unlock()
	if cancel != nil {
		cancel(errors.New("the call was cancelled"))
	}
}

// run has the client run a tool.
func (g *guestServer) run(ctx context.Context, m rpc.Message) []byte {
	var p [2]jsonx.Member
	if err := jsonx.Members(m.Params, []string{"name", "arguments"}, p[:]); err != nil {
		return rpc.Error(m.ID, rpc.CodeInvalidParams, err.Error())
	}
	name, _ := jsonx.String(p[0].Value)
	result, err := g.call(ctx, name, p[1].Value)
	if err == nil {
		return rpc.Result(m.ID, result)
	}
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, context.Canceled) {
		err = cause
	}
	return rpc.Result(m.ID, errorResult(err.Error()))
}
