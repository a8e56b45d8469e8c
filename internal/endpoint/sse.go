package endpoint

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// keepAlive is how often a silent event stream gets a comment, so that nobody on the way takes it for dead.
const keepAlive = 15 * time.Second

// retry is how long a reader that lost its connection is asked to wait before it comes back.
const retry = time.Second

// piece is how much of a message is written under one deadline.
const piece = 64 << 10

// events writes a stream of server-sent events. It is used by one goroutine.
type events struct {
	w  io.Writer
	by deliverer
}

// deliverer is what a response is delivered by.
type deliverer interface {
	SetWriteDeadline(time.Time) error
	Flush() error
}

// beginEvents starts the response, which may take as long as it likes.
func beginEvents(w http.ResponseWriter) events {
	expect(w, 0)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	return events{w: w, by: http.NewResponseController(w)}
}

// write sends one event: name and id may be "".
func (e events) write(name, id string, data []byte) error {
	var head []byte
	if name != "" {
		head = append(append(append(head, "event: "...), name...), '\n')
	}
	if id != "" {
		head = append(append(append(head, "id: "...), id...), '\n')
	}
	head = append(head, "data: "...)
	data, _ = oneLine(data)
	if len(data) < piece {
		return e.send(append(append(head, data...), "\n\n"...))
	}
	if err := e.send(head); err != nil {
		return err
	}
	for len(data) > 0 {
		n := min(len(data), piece)
		if err := e.send(data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return e.send([]byte("\n\n"))
}

// comment sends what every reader skips.
func (e events) comment() error { return e.send([]byte(": callgate is here\n\n")) }

func (e events) send(data []byte) error {
	if err := e.by.SetWriteDeadline(time.Now().Add(stuck)); err != nil {
		return err
	}
	if _, err := e.w.Write(data); err != nil {
		return err
	}
	return e.by.Flush()
}

// rest writes what the stream has for the reader by now. over says that there will be no more for it; changed is closed
// when there is.
func (e events) rest(s *stream, reader uint64, name string, resumable bool) (changed <-chan struct{}, over bool) {
	for {
		next, ok, over, changed := s.take(reader)
		if !ok {
			return changed, over
		}
		id := ""
		if resumable {
			id = s.eventID(next.number)
		}
		if e.write(name, id, next.message) != nil {
			return nil, true
		}
		s.gave(reader, next)
	}
}

// prime tells the reader where it is in the stream before there is a message, so that it can come back. Revisions
// before 2025-11-25 know no event without data: their hosts get one of another name than "message", which they skip.
func (e events) prime(s *stream, from uint64, knows bool) error {
	name := "event: resume\n"
	if knows {
		name = ""
	}
	return e.send(fmt.Appendf(nil, "%sid: %s\nretry: %d\ndata: \n\n", name, s.eventID(from-1), retry.Milliseconds()))
}

// follow writes what the stream has from the message with that number on, until it ends, another reader
// takes over, or ctx ends. Events are called name; with resumable each carries its id.
func (e events) follow(ctx context.Context, s *stream, from uint64, name string, resumable bool) {
	reader := s.attach(from, nil)
	defer s.detach(reader)
	quiet := time.NewTicker(keepAlive)
	defer quiet.Stop()
	for {
		changed, over := e.rest(s, reader, name, resumable)
		if over {
			return
		}
		quiet.Reset(keepAlive)
		select {
		case <-changed:
		case <-quiet.C:
			if e.comment() != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}
