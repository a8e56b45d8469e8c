package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// pipe is a stream of bytes between two processes over NATS. NATS may lose messages, so each has a number, and a gap
// ends the pipe with an error. The user of a pipe sends keepalives, and so notices an end that was not announced.
type pipe struct {
	conn *nats.Conn
	sub  *nats.Subscription
	peer string // subject on which the other side listens

	writing sync.Mutex
	sent    uint64

	mu       sync.Mutex
	changed  *sync.Cond
	rest     []byte // to be read next
	queue    [][]byte
	queued   int
	behind   int // most bytes that may wait to be read
	heard    uint64
	err      error
	deadline time.Time
	timer    *time.Timer
}

const (
	pipePiece    = 256 << 10 // most bytes in one message
	pipeBehind   = 64 << 20  // most bytes that may wait to be read
	pipeUnproven = 1 << 20   // the same, until the other side has shown the cluster's key
)

// Kinds of messages.
const (
	pipeData = iota
	pipeEnd
)

func newPipe(conn *nats.Conn, peer string) (*pipe, error) {
	p := &pipe{conn: conn, peer: peer, behind: pipeUnproven}
	p.changed = sync.NewCond(&p.mu)
	sub, err := conn.Subscribe(nats.NewInbox(), p.hear)
	if err != nil {
		return nil, err
	}
	p.sub = sub
	return p, sub.SetPendingLimits(-1, pipeUnproven)
}

// proven lets more bytes wait, because the other side has shown the cluster's key.
func (p *pipe) proven() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.behind = pipeBehind
	return p.sub.SetPendingLimits(-1, pipeBehind)
}

// dialPipe opens a pipe to the listener on a subject.
func dialPipe(ctx context.Context, conn *nats.Conn, subject string) (*pipe, error) {
	p, err := newPipe(conn, "")
	if err != nil {
		return nil, err
	}
	m, err := conn.RequestWithContext(ctx, subject, []byte(p.sub.Subject))
	if err != nil {
		p.Close()
		return nil, err
	}
	if p.peer, err = inbox(m.Data); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// inbox returns the subject on which the other side says that it listens. Anyone on NATS can name any subject, and this
// process may be allowed to write where they may not. So it accepts only inboxes.
func inbox(said []byte) (string, error) {
	subject := string(said)
	if !strings.HasPrefix(subject, nats.InboxPrefix) || len(subject) > 128 || strings.ContainsAny(subject, " \t\r\n*>") {
		return "", errors.New("the other side of a link names no inbox")
	}
	return subject, nil
}

// acceptPipe accepts the pipe that the other side opens with m.
func acceptPipe(conn *nats.Conn, m *nats.Msg) (*pipe, error) {
	peer, err := inbox(m.Data)
	if err != nil {
		return nil, err
	}
	p, err := newPipe(conn, peer)
	if err != nil {
		return nil, err
	}
	if err := m.Respond([]byte(p.sub.Subject)); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (p *pipe) hear(m *nats.Msg) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.changed.Broadcast()
	if p.err != nil {
		return
	}
	if len(m.Data) < 9 {
		p.err = errors.New("a message of a link is too short")
		return
	}
	number := binary.BigEndian.Uint64(m.Data[1:])
	p.heard++
	switch {
	case number != p.heard:
		p.err = fmt.Errorf("messages of a link were lost: %d came after %d", number, p.heard-1)
	case m.Data[0] == pipeEnd:
		p.err = io.EOF
	case p.queued+len(m.Data) > p.behind:
		p.err = errors.New("the other side does not read the link")
	default:
		p.queue = append(p.queue, m.Data[9:])
		p.queued += len(m.Data)
	}
}

// Read implements net.Conn.
func (p *pipe) Read(into []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.rest) == 0 {
		switch {
		case len(p.queue) > 0:
			p.rest = p.queue[0]
			p.queue[0] = nil
			p.queue = p.queue[1:]
			p.queued -= len(p.rest) + 9
			continue
		case p.err != nil:
			return 0, p.err
		case !p.deadline.IsZero() && !time.Now().Before(p.deadline):
			return 0, os.ErrDeadlineExceeded
		}
		p.changed.Wait()
	}
	n := copy(into, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// Write implements net.Conn.
func (p *pipe) Write(data []byte) (n int, err error) {
	p.writing.Lock()
	defer p.writing.Unlock()
	for len(data) > 0 {
		piece := data[:min(len(data), pipePiece)]
		if err := p.failed(); err != nil {
			return n, err
		}
		if err := p.send(pipeData, piece); err != nil {
			return n, err
		}
		n += len(piece)
		data = data[len(piece):]
	}
	return n, nil
}

func (p *pipe) send(kind byte, piece []byte) error {
	p.sent++
	m := make([]byte, 9, 9+len(piece))
	m[0] = kind
	binary.BigEndian.PutUint64(m[1:], p.sent)
	return p.conn.Publish(p.peer, append(m, piece...))
}

func (p *pipe) failed() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if errors.Is(p.err, io.EOF) {
		return net.ErrClosed
	}
	return p.err
}

// Close implements net.Conn.
func (p *pipe) Close() error {
	p.mu.Lock()
	first := p.err == nil
	if first {
		p.err = net.ErrClosed
	}
	p.mu.Unlock()
	p.changed.Broadcast()
	if first && p.peer != "" {
		p.writing.Lock()
		_ = p.send(pipeEnd, nil) // otherwise the other side notices by itself
		p.writing.Unlock()
	}
	return p.sub.Unsubscribe()
}

// SetReadDeadline implements net.Conn.
func (p *pipe) SetReadDeadline(t time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deadline = t
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	if !t.IsZero() {
		p.timer = time.AfterFunc(time.Until(t), p.changed.Broadcast)
	}
	p.changed.Broadcast()
	return nil
}

// SetDeadline implements net.Conn. It only affects reads, because writes do not block.
func (p *pipe) SetDeadline(t time.Time) error { return p.SetReadDeadline(t) }

// SetWriteDeadline implements net.Conn.
func (p *pipe) SetWriteDeadline(time.Time) error { return nil }

// LocalAddr implements net.Conn.
func (p *pipe) LocalAddr() net.Addr { return address(p.sub.Subject) }

// RemoteAddr implements net.Conn.
func (p *pipe) RemoteAddr() net.Addr { return address(p.peer) }

var _ net.Conn = (*pipe)(nil)
