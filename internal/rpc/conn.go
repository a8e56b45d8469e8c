package rpc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"unicode/utf8"

	"callgate/internal/budget"
)

// Options of a connection. The zero value is usable.
type Options struct {
	// MaxMessage bounds one message in bytes; a longer one ends the connection. 0 means 64 MiB.
	MaxMessage int
	// Noise gets what is not a message, and why. The line is only valid during the call. May be nil.
	Noise func(line []byte, err error)

	Budget *budget.Budget  // of messages in flight; nil has no bound
	Done   <-chan struct{} // ends waits for room in it; may be nil
}

func (o *Options) noise(line []byte, err error) {
	if o.Noise != nil {
		o.Noise(line, err)
	}
}

const defaultMaxMessage = 64 << 20

// ErrClosed says that the other side ended the connection before it answered.
var ErrClosed = errors.New("the connection is closed")

// UnreadableError says that the other side answered, with what is no message or could be read in two ways.
type UnreadableError struct{ Err error }

func (e *UnreadableError) Error() string { return "the answer cannot be read: " + e.Err.Error() }

func (e *UnreadableError) Unwrap() error { return e.Err }

var errNotUTF8 = errors.New("it is not valid UTF-8")

// Conn is one JSON-RPC connection over a reader and a writer, a message a line. Run owns the reader;
// every other method may be called by many goroutines at once.
type Conn struct {
	r io.Reader
	o Options

	writing sync.Mutex
	w       io.Writer
	scratch []byte

	asked Requests
}

// NewConn returns a connection that nobody reads until Run is called.
func NewConn(r io.Reader, w io.Writer, o Options) *Conn {
	if o.MaxMessage <= 0 {
		o.MaxMessage = defaultMaxMessage
	}
	return &Conn{r: r, w: w, o: o}
}

// Run reads messages until the reader ends. Responses to requests made here go to their callers; every
// other message goes to handle, in the order of arrival, on this goroutine: handle MUST NOT wait for
// another message of this connection. Run returns nil at a clean end of the stream.
func (c *Conn) Run(handle func(Message)) error {
	defer c.asked.Abandon()
	r := newLines(c.r, c.o)
	defer r.end()
	for {
		line, err := r.next()
		if full := (*budget.Error)(nil); errors.As(err, &full) {
			c.dropped(line, full)
			continue
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			c.dispatch(line, err == nil, handle)
			if r.buffered() == 0 {
				runtime.Gosched() // who got the message goes first; to ask for the next one is a system call
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// dispatch hands on what a line says. One that the end of the stream cut off answers nothing: the caller that waits hears
// of that end.
func (c *Conn) dispatch(line []byte, whole bool, handle func(Message)) {
	m, err := Parse(line)
	if err == nil && m.IsResponse() && !utf8.Valid(line) {
		err = errNotUTF8
	}
	if err != nil {
		c.o.noise(line, err)
		if id, ok := answered(line); ok && whole {
			c.asked.end(id, answer{err: &UnreadableError{err}})
		}
		return
	}
	if m.IsResponse() && c.asked.Answer(m) {
		return
	}
	handle(m)
}

// dropped tells the caller that waits for it that there was no room for a message, of which text is the beginning and the end.
func (c *Conn) dropped(text []byte, err error) {
	head, tail, _ := bytes.Cut(text, []byte{'\n'})
	id, ok := endsWithID(tail)
	if !ok {
		id, ok = answered(head)
	}
	if !ok || !c.asked.end(id, answer{err: err}) {
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

// Exchanger is a writer that sends a request and reads its answer on the goroutine that waits for it, which saves two
// hand-overs a request.
type Exchanger interface {
	// Exchange returns what sends the request, of which there is no other copy. It delivers the answer, or has it
	// delivered later, and returns at once when ctx ends.
	Exchange(request []byte) (func(ctx context.Context), error)
}

// Request sends a request and waits for the response, an error response included. It sends nothing when
// ctx ends: to cancel at the other side is the caller's business, with Send and the pending's ID.
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
