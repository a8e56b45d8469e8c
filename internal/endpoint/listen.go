package endpoint

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// A host that listens holds its connection for hours in which little comes, and there may be a thousand such hosts. For
// a response that is being written, net/http keeps two goroutines and four buffers, which is more than the rest of a
// session. So the server takes the connection over and keeps one goroutine.

// listener is a GET that follows a stream.
type listener struct {
	of        *stream
	from      uint64 // number of the first message
	name      string // of the events; may be ""
	resumable bool   // events carry ids
	done      func() // called once, when it no longer follows
}

// beginListening starts the response to a GET that will listen.
func beginListening(v visit) events {
	if v.r.ProtoMajor == 1 {
		v.w.Header().Set("Connection", "close") // nothing else comes on a connection that was taken over
	}
	return beginEvents(v.w)
}

// listen lets the host read the stream until it ends, another reader takes over, or the host is gone. The response has
// begun. If listen can take the connection over, it returns at once.
func (s *Server) listen(v visit, out events, l listener) {
	line := takeOver(v, out)
	if line == nil || !s.open.begin(func() { defer l.done(); defer s.open.unlisten(v.held); line.follow(l) }, v.held, line) {
		defer l.done()
		if line != nil { // the server is closing, or the host is no longer admitted
			_ = line.conn.Close()
			return
		}
		out.follow(v.r.Context(), l.of, l.from, l.name, l.resumable)
	}
}

// waiting is the connection of a host that waits for messages. The response goes on in chunks, and the connection
// ends with it.
type waiting struct {
	conn net.Conn

	mu    sync.Mutex
	woken bool // something has happened since the last wait
}

// takeOver takes the connection over from net/http. It returns nil if that is impossible, as in HTTP/2 and HTTP/1.0.
func takeOver(v visit, out events) *waiting {
	if !v.r.ProtoAtLeast(1, 1) || out.by.Flush() != nil {
		return nil
	}
	conn, _, err := http.NewResponseController(v.w).Hijack()
	if err != nil {
		return nil
	}
	return &waiting{conn: conn}
}

// follow does the work of events.follow on a connection that was taken over.
func (w *waiting) follow(l listener) {
	defer w.conn.Close()
	out := events{w: w, by: w}
	reader := l.of.attach(l.from, w.wake)
	defer l.of.detach(reader)
	for {
		if _, over := out.writePending(l.of, reader, l.name, l.resumable); over {
			break
		}
		if quiet, gone := w.wait(); gone || quiet && out.comment() != nil {
			return
		}
	}
	if w.SetWriteDeadline(time.Now().Add(stuck)) == nil {
		_, _ = w.conn.Write([]byte("0\r\n\r\n")) // a client that is gone does not miss the end
	}
}

// wake ends a wait. It is safe for concurrent use, and does not block.
func (w *waiting) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.woken = true
	_ = w.conn.SetReadDeadline(time.Unix(1, 0)) // a closed connection waits for nothing
}

// wait waits until it is woken. quiet says that nothing happened for keepAlive. gone says that the host has closed the
// connection, or has sent something on it.
func (w *waiting) wait() (quiet, gone bool) {
	w.mu.Lock()
	if w.woken {
		w.woken = false
		w.mu.Unlock()
		return false, false
	}
	err := w.conn.SetReadDeadline(time.Now().Add(keepAlive))
	w.mu.Unlock()
	var more [1]byte
	if err == nil {
		_, err = w.conn.Read(more[:])
	}
	if !os.IsTimeout(err) {
		return false, true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	quiet = !w.woken
	w.woken = false
	return quiet, false
}

// Write writes one chunk.
func (w *waiting) Write(data []byte) (int, error) {
	chunk := net.Buffers{fmt.Appendf(nil, "%x\r\n", len(data)), data, []byte("\r\n")}
	if _, err := chunk.WriteTo(w.conn); err != nil {
		return 0, err
	}
	return len(data), nil
}

// SetWriteDeadline implements deliverer.
func (w *waiting) SetWriteDeadline(t time.Time) error { return w.conn.SetWriteDeadline(t) }

// Flush implements deliverer. Nothing is buffered.
func (w *waiting) Flush() error { return nil }
