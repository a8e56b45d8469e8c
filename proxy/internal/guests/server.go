// Package guests serves the tools that a client brings into a session, as an MCP server of its own.
package guests

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/proxy/internal/raw"
)

// Server is the MCP server that a guest is to the rest of callgate.
type Server struct {
	alias   string
	version string // of MCP
	call    func(ctx context.Context, tool string, arguments []byte) ([]byte, error)
	conn    atomic.Pointer[rpc.Conn]

	mu      sync.Mutex
	list    []byte                             // the result of tools/list
	running map[string]context.CancelCauseFunc // by id as spelled
	left    error                              // why nothing begins any more
	calls   sync.WaitGroup                     // those that run
}

// New returns the server of that name, which offers the tools and has call run them.
func New(alias, version string, definitions [][]byte, call func(ctx context.Context, tool string, arguments []byte) ([]byte, error)) *Server {
	g := &Server{alias: alias, version: version, call: call}
	g.Offer(definitions)
	return g
}

// Offer replaces what tools/list says.
func (g *Server) Offer(definitions [][]byte) {
	list := append([]byte(`{"tools":[`), bytes.Join(definitions, []byte{','})...)
	g.mu.Lock()
	g.list = append(list, "]}"...)
	g.mu.Unlock()
	if conn := g.conn.Load(); conn != nil {
		_ = conn.Write(rpc.Request(nil, "notifications/tools/list_changed", nil)) // fails when the session has ended
	}
}

// Leave ends what runs and returns when all of it is answered.
func (g *Server) Leave(why error) {
	g.mu.Lock()
	g.left = why
	for _, cancel := range g.running {
		cancel(why)
	}
	g.mu.Unlock()
	g.calls.Wait()
}

// Serve is what upstream.Config.Serve wants.
func (g *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
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
				g.reply(conn, rpc.Result(m.ID, raw.ErrorResult(why.Error())))
			} else {
				go g.finish(ctx, conn, m)
			}
		default:
			g.reply(conn, g.answer(m))
		}
	})
}

// reply writes a response. Its reader may be gone.
func (g *Server) reply(conn *rpc.Conn, response []byte) { _ = conn.Write(response) }

func (g *Server) answer(m rpc.Message) []byte {
	switch m.Method {
	case "initialize":
		return rpc.Result(m.ID, fmt.Appendf(nil, `{"protocolVersion":%s,"capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":%s,"version":"0"}}`,
			jsonx.Quote(g.version), jsonx.Quote(g.alias)))
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
func (g *Server) begin(ctx context.Context, m rpc.Message) (_ context.Context, left error) {
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
func (g *Server) finish(ctx context.Context, conn *rpc.Conn, m rpc.Message) {
	defer g.calls.Done()
	response := g.run(ctx, m)
	g.mu.Lock()
	cancel := g.running[string(m.ID)]
	delete(g.running, string(m.ID))
	g.mu.Unlock()
	cancel(nil)
	g.reply(conn, response)
}

func (g *Server) cancelled(m rpc.Message) {
	g.mu.Lock()
	cancel := g.running[string(jsonx.At(m.Params, "requestId"))]
	g.mu.Unlock()
	if cancel != nil {
		cancel(errors.New("the call was cancelled"))
	}
}

// run has the client run a tool.
func (g *Server) run(ctx context.Context, m rpc.Message) []byte {
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
	return rpc.Result(m.ID, raw.ErrorResult(err.Error()))
}
