package companion

import (
	"bufio"
	"net"
	"net/http"
	"sync"
)

// batching is a connection whose writes can be gathered into one. At a thousand events a second each client gets one
// system call for all frames that wait for it, and not one for each.
type batching struct {
	net.Conn

	mu   sync.Mutex
	hold bool
	held []byte
}

// maxHeld bounds what is gathered.
const maxHeld = 64 << 10

// Write implements net.Conn. Of what is held, release returns the error.
func (g *batching) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.hold && len(g.held)+len(p) <= maxHeld {
		g.held = append(g.held, p...)
		return len(p), nil
	}
	if err := g.flush(); err != nil {
		return 0, err
	}
	return g.Conn.Write(p)
}

// gather holds what is written until release, but not more than maxHeld.
func (g *batching) gather() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hold = true
}

func (g *batching) release() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hold = false
	return g.flush()
}

// flush writes what is held; the caller holds mu.
func (g *batching) flush() error {
	if len(g.held) == 0 {
		return nil
	}
	_, err := g.Conn.Write(g.held)
	if g.held = g.held[:0]; cap(g.held) > 8<<10 { // most clients are idle most of the time
		g.held = nil
	}
	return err
}

// gathers is a response whose connection, once it is taken over, is a batching one.
type gathers struct {
	http.ResponseWriter
	conn *batching // once it was taken over
}

// Hijack implements http.Hijacker.
func (g *gathers) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(g.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	g.conn = &batching{Conn: conn}
	return g.conn, buffered, nil
}
