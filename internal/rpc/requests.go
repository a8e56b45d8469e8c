package rpc

import (
	"bytes"
	"context"
	"strconv"
	"sync"
	"time"

	"callgate/internal/jsonx"
)

// Requests holds the requests that one side of a connection sent and the other has not answered. The zero value is
// ready. All methods are safe for concurrent use.
type Requests struct {
	mu      sync.Mutex
	pending map[uint64]*Pending // by the number in the id
	lastID  uint64
	closed  bool
}

// answer is how a request ended: with a response or an error.
type answer struct {
	message Message
	err     error
}

// Our ids are strings of a prefix and a number.
const (
	ownID    = `"cg-`
	maxOwnID = len(ownID + `18446744073709551615"`)
)

// numberOf returns the number in one of our ids, or 0 for any other.
func numberOf(id []byte) uint64 {
	digits, ok := bytes.CutPrefix(id, []byte(ownID))
	if n := len(digits) - 1; ok && n > 0 && digits[n] == '"' && digits[0] != '0' {
		if number, err := strconv.ParseUint(string(digits[:n]), 10, 64); err == nil {
			return number
		}
	}
	return 0
}

// Pending is a request without an answer.
type Pending struct {
	ID     []byte // as spelled on the wire
	number uint64 // the number in ID
	of     *Requests
	answer chan answer
	posted Posted // gets the answer if no goroutine waits; otherwise nil
	late   late   // see Late

	exchange func(context.Context) // sends the request; nil if that was done
	spelled  [maxOwnID]byte        // memory for ID
}

// Posted is a request that nobody waits for.
type Posted interface {
	// Compose returns the request. It MUST have the given id.
	Compose(id []byte) []byte
	// Answered gets what Wait would return, once, unless Forget comes first. An answer comes on the goroutine that
	// reads it, which continues when Answered returns. An error comes on a new goroutine.
	Answered(m Message, err error)
}

// Send gives a request one of our ids, has write send it, and returns the Pending for its answer. The caller MUST call
// Wait or Forget.
func (r *Requests) Send(write func(id []byte) error) (*Pending, error) {
	p := &Pending{answer: make(chan answer, 1)}
	if err := r.begin(p); err != nil {
		return nil, err
	}
	if err := write(p.ID); err != nil {
		p.Forget()
		return nil, err
	}
	return p, nil
}

// begin gives a request its id and registers it.
func (r *Requests) begin(p *Pending) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ErrClosed
	}
	if r.pending == nil {
		r.pending = map[uint64]*Pending{}
	}
	r.lastID++
	p.of, p.number = r, r.lastID
	p.ID = append(strconv.AppendUint(append(p.spelled[:0], ownID...), p.number, 10), '"')
	r.pending[p.number] = p
	return nil
}

// Answer hands a response to its caller. It returns false if nobody waits. The id may be spelled differently from ours,
// because a peer decodes and encodes it again.
func (r *Requests) Answer(m Message) bool { return r.end(m.ID, answer{message: m}) != nil }

// end ends the request with that id and returns it, or nil if there is none.
func (r *Requests) end(id []byte, a answer) *Pending {
	if bytes.IndexByte(id, '\\') >= 0 {
		if decoded, ok := jsonx.String(id); ok {
			id = jsonx.Quote(decoded)
		}
	}
	number := numberOf(id)
	r.mu.Lock()
	p := r.pending[number]
	delete(r.pending, number)
	r.mu.Unlock()
	if p != nil {
		p.end(a)
	}
	return p
}

func (p *Pending) end(a answer) {
	switch {
	case p.posted == nil:
		p.answer <- a // buffered: an id is taken only once
	case a.err != nil:
		go p.posted.Answered(Message{}, a.err)
	default:
		p.posted.Answered(a.message, nil)
	}
}

// waiting reports whether somebody waits for the answer to the request with our id.
func (r *Requests) waiting(id []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pending[numberOf(id)] != nil
}

// Abandon tells all current and future callers that no answer will come.
func (r *Requests) Abandon() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for number, p := range r.pending {
		delete(r.pending, number)
		p.end(answer{err: ErrClosed})
	}
}

// lateness is how long after the end of Wait an answer still counts as late. After that it is lost.
const lateness = time.Minute

// Late sets the function that gets an answer that comes after Wait was cut short. It runs on the goroutine that reads
// the answer, which continues when then returns. Late MUST be called before Wait.
func (p *Pending) Late(then func(Message)) { p.late = then }

// late gets the answer to a request that nobody waits for any more.
type late func(Message)

func (late) Compose([]byte) []byte { return nil } // the request was sent long ago

func (l late) Answered(m Message, err error) {
	if err == nil {
		l(m)
	}
}

// Wait returns the response, or an *UnreadableError for one that cannot be read. If ctx ends first, the request is
// forgotten: a later answer is dropped, or goes to Late's function.
func (p *Pending) Wait(ctx context.Context) (Message, error) {
	if p.exchange != nil {
		p.exchange(ctx)
	}
	select {
	case a := <-p.answer:
		return a.message, a.err
	case <-ctx.Done():
	}
	if p.late == nil {
		p.Forget()
	} else if !p.leave() {
		a := <-p.answer // the answer came together with the end of ctx
		return a.message, a.err
	}
	return Message{}, ctx.Err()
}

// leave stops waiting, except for a late answer. It returns false if the request has ended already.
func (p *Pending) leave() bool {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	if p.of.pending[p.number] == nil {
		return false
	}
	p.posted = p.late
	time.AfterFunc(lateness, func() { p.Forget() })
	return true
}

// Forget stops waiting for the answer. It returns false if the request has ended already.
func (p *Pending) Forget() bool {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	_, waiting := p.of.pending[p.number]
	delete(p.of.pending, p.number)
	return waiting
}
