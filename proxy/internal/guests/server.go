// Package guests runs an MCP server for the tools that a client brings into a session.
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

// Server is the MCP server as which the rest of callgate sees a guest.
type Server struct {
	alias   string
	version string // MCP's
	call    func(ctx context.Context, tool string, arguments []byte) ([]byte, error)
	conn    atomic.Pointer[rpc.Conn]

	mu      sync.Mutex
	list    []byte                             // the result of tools/list
	running map[string]context.CancelCauseFunc // by id, as spelled
	left    error                              // why no new call may begin; nil before Leave
	calls   sync.WaitGroup                     // those that are running
}

// New returns a server with that name. It offers the tools, and calls call to run them.
func New(alias, version string, definitions [][]byte, call func(ctx context.Context, tool string, arguments []byte) ([]byte, error)) *Server {
	g := &Server{alias: alias, version: version, call: call}
	g.Offer(definitions)
	return g
}

// Offer replaces the result of tools/list and announces the change.
func (g *Server) Offer(definitions [][]byte) {
	list := append([]byte(`{"tools":[`), bytes.Join(definitions, []byte{','})...)
	g.mu.Lock()
	g.list = append(list, "]}"...)
	g.mu.Unlock()
	if conn := g.conn.Load(); conn != nil {
		_ = conn.Write(rpc.Request(nil, "notifications/tools/list_changed", nil)) // fails if the session has ended
	}
}

// Leave ends all running calls and returns when all are answered.
func (g *Server) Leave(why error) {
	g.mu.Lock()
	g.left = why
	for _, cancel := range g.running {
		cancel(why)
	}
	g.mu.Unlock()
	g.calls.Wait()
}

// Serve implements upstream.Config.Serve.
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

// reply writes a response. The reader may be gone.
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

// begin registers a call before the next message is read, so that its cancellation finds it. The caller MUST call
// finish unless the guest has left.
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

// run has the client run a tool, and returns the response.
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
