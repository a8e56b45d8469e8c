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

// Options of a connection. The zero value is usable.
type Options struct {
	// MaxMessage bounds one message in bytes; a longer one ends the connection. 0 means 64 MiB.
	MaxMessage int
	// Noise gets what is not a message, and why. The line is only valid during the call. May be nil.
	Noise func(line []byte, err error)

	Budget *budget.Budget  // of messages in flight; nil has no bound
	Done   <-chan struct{} // ends waits for room in it; may be nil

	Jobs bool // handle may run jobs with Here
}

func (o *Options) noise(line []byte, err error) {
	if o.Noise != nil {
		o.Noise(line, err)
	}
}

const defaultMaxMessage = 64 << 20

// ErrClosed says that the other side ended the connection before it answered.
var ErrClosed = errors.New("the connection is closed")

// UnreadableError says that the other side's answer is not a message, or could be read in two ways.
type UnreadableError struct{ Err error }

func (e *UnreadableError) Error() string { return "the answer cannot be read: " + e.Err.Error() }

func (e *UnreadableError) Unwrap() error { return e.Err }

var errNotUTF8 = errors.New("it is not valid UTF-8")

// Conn is one JSON-RPC connection over a reader and a writer, with one message on each line. Run owns the reader. Every
// other method may be called by many goroutines at once.
type Conn struct {
	r io.Reader
	o Options

	writing sync.Mutex
	w       io.Writer
	scratch []byte

	asked   Requests
	reading *reading // while Run runs
}

// NewConn returns a connection that nobody reads until Run is called.
func NewConn(r io.Reader, w io.Writer, o Options) *Conn {
	if o.MaxMessage <= 0 {
		o.MaxMessage = defaultMaxMessage
	}
	return &Conn{r: r, w: w, o: o}
}

// Run reads messages until the reader ends. Responses to requests made here go to their callers; every
// other message goes to handle, in the order of arrival, on the goroutine that reads: handle MUST NOT wait for
// another message of this connection, but in a job (see Here). Run returns nil at a clean end of the stream.
func (c *Conn) Run(handle func(Message)) error {
	defer c.asked.Abandon()
	c.reading = &reading{lines: newLines(c.r, c.o), handle: handle, ended: make(chan error, 1)}
	defer c.reading.lines.end()
	if !c.o.Jobs {
		c.read()
		return <-c.reading.ended
	}
	c.reading.watching.Store(true) // the timer looks once
	c.reading.watch = time.AfterFunc(patience, c.look)
	defer c.reading.watch.Stop()
	go c.read() // a job that was left behind on this goroutine would keep Run from returning
	return <-c.reading.ended
}

// read reads until the end, or until another goroutine does.
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
				return // the job took long
			}
			if handed && after == before && r.buffered() == 0 {
				runtime.Gosched() // who got the message goes first; to ask for the next one is a system call
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

// dispatch hands on what a line says, and reports whether another goroutine may have got it. A line that the end of the
// stream cut off answers nothing: the caller that waits hears of that end.
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

// dropped tells the waiting caller that there was no room for its message. text is the beginning and the end of the
// message.
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

// Send sends a request that compose makes for the id it is given, and returns what waits for its answer.
// The caller MUST call Wait or Forget.
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

// Post is Send for a request that nobody waits for, in p, which the caller has made and nobody else uses. It is for
// connections with a reader.
func (c *Conn) Post(p *Pending, request Posted) error {
	p.posted = request
	if err := c.asked.begin(p); err != nil {
		return err
	}
	if err := c.Write(request.Compose(p.ID)); err != nil && p.Forget() {
		return err // else the request has been told
	}
	return nil
}

// Exchanger is a writer that sends a request and reads its answer on the goroutine that waits for it, which saves two
// hand-overs a request.
type Exchanger interface {
	// Exchange returns what sends the request, of which there is no other copy. It delivers the answer, or has it
	// delivered later, and returns at once when ctx ends.
	Exchange(request []byte) (func(ctx context.Context), error)
}

// Request sends a request and waits for the response, an error response included. It sends nothing when ctx ends. To
// cancel at the other side, a caller uses Send and the pending's ID.
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
	if len(message) > maxScratch && c.r != nil { // a connection without a reader takes a message at once
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

// maxScratch bounds the memory that a connection keeps for the next message.
const maxScratch = 1 << 20
