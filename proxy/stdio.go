package proxy

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"callgate/gate"
	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/internal/upstream"
)

// stdio is a Line over a pair of byte streams. They keep everything in one order, so it does not matter what a message
// is about.
type stdio struct {
	conn *rpc.Conn
	out  io.Writer // what conn writes to
	log  *slog.Logger
}

var _ Line = stdio{}

// Run serves one host until in or ctx ends. It returns when nothing of the connection is running.
func (p *Proxy) Run(ctx context.Context, v View, in io.ReadCloser, out io.Writer) error {
	if err := p.Knows(v); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &connection{p: p, view: v, ctx: ctx, running: map[string]context.CancelFunc{}, name: rand.Text()}
	noise := func(line []byte, err error) { c.noise(line, err) }
	c.line = stdio{conn: rpc.NewConn(in, out, rpc.Options{Noise: noise, Budget: p.o.Budget, Done: ctx.Done(), Jobs: true}), out: out, log: p.o.Logger}
	c.hangUp = func() { in.Close() }
	stop := context.AfterFunc(ctx, c.hangUp)
	defer stop()
	err := c.line.conn.Run(c.handle)
	ended := ctx.Err() != nil
	cancel(gate.ErrSessionEnded)
	c.close()
	switch {
	case c.failed != nil:
		return c.failed
	case err != nil && !ended:
		return fmt.Errorf("read from the host: %w", err)
	}
	return nil
}

// connection is one host over stdio. It decides the era for each message, because a host may try one and then the
// other.
type connection struct {
	p      *Proxy
	view   View
	name   string // tells the stateless sessions of connections apart
	ctx    context.Context
	line   stdio
	hangUp func()

	// Only the reading goroutine uses these.
	legacy *host // nil until a message needs it
	failed error

	mu      sync.Mutex
	running map[string]context.CancelFunc // cancels the stateless requests, by id as spelled
}

// handle takes every message of the host on the reading goroutine, except answers to our requests.
func (c *connection) handle(m rpc.Message) {
	switch {
	case m.IsRequest() && (IsStateless(m) || m.Method == "server/discover"):
		c.exchange(m)
	case m.Method == "notifications/cancelled" && c.cancelled(m):
	default:
		if h := c.host(); h != nil {
			h.Handle(m)
		}
	}
}

// host returns the session of the eras with a handshake. If it cannot open, host returns nil and ends the connection.
func (c *connection) host() *host {
	if c.legacy == nil && c.failed == nil {
		if c.legacy, c.failed = c.p.connect(c.ctx, c.view, StdioPrincipal, c.line, upstream.Legacy, nil); c.failed != nil {
			c.hangUp()
		}
	}
	return c.legacy
}

func (c *connection) noise(line []byte, err error) {
	id := bytes.Clone(rpc.Asked(line))
	if h := c.host(); h != nil {
		h.noise(id, err)
	}
}

// exchange serves a stateless request.
func (c *connection) exchange(m rpc.Message) {
	id := string(m.ID)
	c.mu.Lock()
	_, twice := c.running[id]
	if twice {
		c.mu.Unlock()
		c.p.logUnsent(c.line.conn.Write(rpc.Error(m.ID, rpc.CodeInvalidRequest, "a request with this id is still running")))
		return
	}
	ctx, cancel := context.WithCancel(c.ctx)
	c.running[id] = cancel
	c.mu.Unlock()
	c.p.Exchange(ctx, Sender{View: c.view, Principal: StdioPrincipal, Session: c.name}, stdioExchange{c: c, id: id}, m)
}

// cancelled takes back the stateless request that the host names. It returns false if there is none.
func (c *connection) cancelled(m rpc.Message) bool {
	cancel := c.forget(string(jsonx.At(m.Params, "requestId")))
	if cancel == nil {
		return false
	}
	cancel()
	return true
}

// forget removes a running request and returns its cancel function, or nil if it is not running.
func (c *connection) forget(id string) context.CancelFunc {
	c.mu.Lock()
	defer c.mu.Unlock()
	cancel := c.running[id]
	delete(c.running, id)
	return cancel
}

// close ends the sessions of both eras and waits for them.
func (c *connection) close() {
	c.line.Hurry()
	if c.legacy != nil {
		c.legacy.Close()
	}
	c.p.stateless.CloseSession(c.name)
}

// stdioExchange is one stateless request over stdio.
type stdioExchange struct {
	c  *connection
	id string
}

var _ Exchange = stdioExchange{}

func (x stdioExchange) Respond(response []byte) error {
	if cancel := x.c.forget(x.id); cancel != nil {
		defer cancel()
	}
	if response == nil {
		return nil
	}
	return x.c.line.conn.Write(response)
}

func (x stdioExchange) Reject(response []byte) error { return x.Respond(response) }

func (x stdioExchange) Waits() {}

func (x stdioExchange) Notify(message []byte) error { return x.c.line.conn.Write(message) }

func (s stdio) Respond(_, response []byte) error {
	if response == nil {
		return nil
	}
	return s.conn.Write(response)
}

func (s stdio) Notify(_, message []byte) error { return s.conn.Write(message) }

func (s stdio) Ask(_ []byte, _ string, compose func(id []byte) []byte) (*rpc.Pending, error) {
	return s.conn.Send(compose)
}

// lastWords is how long a host that has ended may take to read the last messages.
const lastWords = time.Second

// Waits does nothing, because a pipe is not lost.
func (s stdio) Waits([]byte) {}

// Hurry bounds the remaining writes. Otherwise a host that closed its side and reads nothing would hold up the end of
// the session for ever.
func (s stdio) Hurry() {
	out, ok := s.out.(interface{ SetWriteDeadline(time.Time) error })
	if !ok {
		return
	}
	if err := out.SetWriteDeadline(time.Now().Add(lastWords)); err != nil && !errors.Is(err, os.ErrNoDeadline) { // files never block
		s.log.Debug("writes to the host are not bounded", "error", err)
	}
}
