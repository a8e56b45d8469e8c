package rpc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"time"
	"unicode/utf8"

	"callgate/internal/budget"
	"callgate/internal/jsonx"
)

// Options configures a connection. The zero value is usable.
type Options struct {
	// MaxMessage bounds one message, in bytes. A longer one ends the connection. 0 means 64 MiB.
	MaxMessage int
	// Noise, if not nil, is called for each line that is not a message, with the reason. It must not keep the line.
	Noise func(line []byte, err error)

	Budget *budget.Budget  // of messages in flight; nil means no bound
	Done   <-chan struct{} // ends waits for room in Budget; may be nil

	Jobs bool // handle may call Here
}

func (o *Options) noise(line []byte, err error) {
	if o.Noise != nil {
		o.Noise(line, err)
	}
}

const defaultMaxMessage = 64 << 20

// ErrClosed is returned if the other side ended the connection before it answered.
var ErrClosed = errors.New("the connection is closed")

// UnreadableError is returned if the other side's answer is not a message, or could be read in two ways.
type UnreadableError struct{ Err error }

func (e *UnreadableError) Error() string { return "the answer cannot be read: " + e.Err.Error() }

func (e *UnreadableError) Unwrap() error { return e.Err }

var errNotUTF8 = errors.New("it is not valid UTF-8")

// Conn is a JSON-RPC connection over a reader and a writer, with one message per line. Run owns the reader. All other
// methods are safe for concurrent use.
type Conn struct {
	r io.Reader
	o Options

	writing sync.Mutex
	w       io.Writer
	scratch []byte

	asked   Requests
	reading *reading // set while Run runs
}

// NewConn returns a connection that nobody reads until Run is called.
func NewConn(r io.Reader, w io.Writer, o Options) *Conn {
	if o.MaxMessage <= 0 {
		o.MaxMessage = defaultMaxMessage
	}
	return &Conn{r: r, w: w, o: o}
}

// Run reads messages until the reader ends. Responses to requests made here go to their callers. All other messages go
// to handle, in the order of arrival, on the goroutine that reads. handle MUST NOT wait for another message of this
// connection, except in a job (see Here). Run returns nil at a clean end of the stream.
func (c *Conn) Run(handle func(Message)) error {
	defer c.asked.Abandon()
	c.reading = &reading{lines: newLines(c.r, c.o), handle: handle, ended: make(chan error, 1)}
	defer c.reading.lines.end()
	if !c.o.Jobs {
		c.read()
		return <-c.reading.ended
	}
	c.reading.watching.Store(true) // the timer fires once
	c.reading.watch = time.AfterFunc(patience, c.look)
	defer c.reading.watch.Stop()
	go c.read() // so that a job left behind on this goroutine does not keep Run from returning
	return <-c.reading.ended
}

// read reads until the end, or until another goroutine takes over.
func (c *Conn) read() {
	r := c.reading.lines
	for {
		line, err := r.next()
		if full, ok := errors.AsType[*budget.Error](err); ok {
			c.dropped(line, full)
			continue
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			before := c.reading.turn.Load()
			handed := c.dispatch(line, err == nil, c.reading.handle)
			after := c.reading.turn.Load()
			if after > before+oneJob {
				return // the job took long, and another goroutine reads
			}
			if handed && after == before && r.buffered() == 0 {
				runtime.Gosched() // the message's receiver goes first; asking for the next message is a system call
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			c.reading.ended <- nil
			return
		case err != nil:
			c.reading.ended <- err
			return
		}
	}
}

// dispatch passes on the message of a line, and reports whether another goroutine may have it. A line that the end of
// the stream cut off answers nothing: its caller hears of that end.
func (c *Conn) dispatch(line []byte, whole bool, handle func(Message)) (handed bool) {
	m, err := Parse(line)
	if err == nil && m.IsResponse() && m.known == jsonx.Loose && !utf8.Valid(line) {
		err = errNotUTF8
	}
	if err != nil {
		c.o.noise(line, err)
		if id, ok := answered(line); ok && whole {
			c.asked.end(id, answer{err: &UnreadableError{err}})
		}
		return true
	}
	if m.IsResponse() {
		if p := c.asked.end(m.ID, answer{message: m}); p != nil {
			return p.posted == nil
		}
	}
	handle(m)
	return true
}

// dropped tells the waiting caller that there was no room for its answer. text is the beginning and the end of the
// message, in two lines.
func (c *Conn) dropped(text []byte, err error) {
	head, tail, _ := bytes.Cut(text, []byte{'\n'})
	id, ok := endsWithID(tail)
	if !ok {
		id, ok = answered(head)
	}
	if !ok || c.asked.end(id, answer{err: err}) == nil {
		c.o.noise(head, err)
	}
}

// Send sends the request that compose returns for the given id, and returns the Pending for its answer. The caller MUST
// call Wait or Forget.
func (c *Conn) Send(compose func(id []byte) []byte) (*Pending, error) {
	exchanger, ok := c.w.(Exchanger)
	if !ok {
		return c.asked.Send(func(id []byte) error { return c.Write(compose(id)) })
	}
	var exchange func(context.Context)
	p, err := c.asked.Send(func(id []byte) (err error) {
		exchange, err = exchanger.Exchange(compose(id))
		return err
	})
	if err == nil {
		p.exchange = exchange
	}
	return p, err
}

// Post sends a request that no goroutine waits for. The caller has made p, and nobody else uses it. The connection MUST
// have a reader.
func (c *Conn) Post(p *Pending, request Posted) error {
	p.posted = request
	if err := c.asked.begin(p); err != nil {
		return err
	}
	if err := c.Write(request.Compose(p.ID)); err != nil && p.Forget() {
		return err // otherwise the request has been told
	}
	return nil
}

// Exchanger is a writer that sends a request and reads its answer on the goroutine that waits for it. That saves two
// hand-overs per request.
type Exchanger interface {
	// Exchange returns a function that sends the request, of which there is no other copy. The function delivers the
	// answer, or has it delivered later, and returns at once when ctx ends.
	Exchange(request []byte) (func(ctx context.Context), error)
}

// Request sends a request and waits for the response. An error response counts as one. When ctx ends, Request tells the
// other side nothing. To cancel there, use Send and the ID of its Pending.
func (c *Conn) Request(ctx context.Context, method string, params []byte) (Message, error) {
	p, err := c.Send(func(id []byte) []byte { return Request(id, method, params) })
	if err != nil {
		return Message{}, err
	}
	return p.Wait(ctx)
}

// Write sends one message, whole, with its line end. The message MUST NOT contain a line feed.
func (c *Conn) Write(message []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if len(message) > maxScratch && c.r != nil { // a connection without a reader takes a message in one write
		_, err := c.w.Write(message)
		if err == nil {
			_, err = c.w.Write([]byte{'\n'})
		}
		return err
	}
	c.scratch = append(append(c.scratch[:0], message...), '\n')
	_, err := c.w.Write(c.scratch)
	if cap(c.scratch) > maxScratch {
		c.scratch = nil
	}
	return err
}

// maxScratch bounds the bytes that a connection keeps for the next message.
const maxScratch = 1 << 20
