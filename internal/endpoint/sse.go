package endpoint

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// keepAlive is how often a silent event stream gets a comment, so that no proxy takes it for dead.
const keepAlive = 15 * time.Second

// retry is how long a reader that lost its connection should wait before it comes back.
const retry = time.Second

// piece is how many bytes of a message are written under one deadline.
const piece = 64 << 10

// events writes a stream of server-sent events. It is not safe for concurrent use.
type events struct {
	w  io.Writer
	by deliverer
}

// deliverer flushes a response, and bounds how long its writes may take.
type deliverer interface {
	SetWriteDeadline(time.Time) error
	Flush() error
}

// beginEvents starts the response, whose request no longer has a read deadline.
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

// comment sends a line that every reader skips.
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

// writePending writes what the stream has for the reader now. over says that nothing more will come for it. Otherwise,
// changed is closed when there may be more.
func (e events) writePending(s *stream, reader uint64, name string, resumable bool) (changed <-chan struct{}, over bool) {
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

// prime tells the reader its position in the stream before there is a message, so that it can come back. Hosts of
// revisions before 2025-11-25 do not know events without data. They get an event with another name than "message",
// which they skip.
func (e events) prime(s *stream, from uint64, knows bool) error {
	name := "event: resume\n"
	if knows {
		name = ""
	}
	return e.send(fmt.Appendf(nil, "%sid: %s\nretry: %d\ndata: \n\n", name, s.eventID(from-1), retry.Milliseconds()))
}

// follow writes what the stream has from message number from on, until the stream ends, another reader takes over, or
// ctx ends. name is the events' name; if resumable is set, each carries its id.
func (e events) follow(ctx context.Context, s *stream, from uint64, name string, resumable bool) {
	reader := s.attach(from, nil)
	defer s.detach(reader)
	quiet := time.NewTicker(keepAlive)
	defer quiet.Stop()
	for {
		changed, over := e.writePending(s, reader, name, resumable)
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
