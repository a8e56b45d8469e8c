package rpc

import (
	"bytes"
	"context"
	"strconv"
	"sync"
	"time"

	"callgate/internal/jsonx"
)

// Requests are those that one side of a connection sent and the other has not answered yet. The zero value
// is ready; it may be used by many goroutines at once.
type Requests struct {
	mu      sync.Mutex
	pending map[uint64]*Pending // by the number in their ids
	lastID  uint64
	closed  bool
}

// answer is how a request ended: with a response, or with one that cannot be read.
type answer struct {
	message Message
	err     error
}

// Ids of ours are strings of a prefix and a number.
const (
	ownID    = `"cg-`
	maxOwnID = len(ownID + `18446744073709551615"`)
)

// numberOf returns the number in an id of ours; 0 for any other.
func numberOf(id []byte) uint64 {
	digits, ok := bytes.CutPrefix(id, []byte(ownID))
	if n := len(digits) - 1; ok && n > 0 && digits[n] == '"' && digits[0] != '0' {
		if number, err := strconv.ParseUint(string(digits[:n]), 10, 64); err == nil {
			return number
		}
	}
	return 0
}

// Pending is a request that was sent and not answered yet.
type Pending struct {
	ID     []byte // as spelled on the wire
	number uint64 // in it
	of     *Requests
	answer chan answer
	posted Posted // gets the answer in the place of who waits; nil where somebody does
	late   late   // see Late

	exchange func(context.Context) // sends it; nil when it was sent
	spelled  [maxOwnID]byte        // has room for the ID
}

// Posted is a request that nobody waits for.
type Posted interface {
	// Compose makes the request, given the id that it MUST have.
	Compose(id []byte) []byte
	// Answered gets what Wait would return, once, unless Forget comes first: an answer on the goroutine that reads it,
	// which goes on when Answered returns, and an error on a goroutine of its own.
	Answered(m Message, err error)
}

// Send gives a request an id of ours, lets write send it, and returns what waits for its answer. The caller
// MUST call Wait or Forget.
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

// begin gives a request its id.
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

// Answer hands a response to its waiting caller; it is false if there is none. An id may be spelled differently from
// ours, because a peer decodes and encodes it again.
func (r *Requests) Answer(m Message) bool { return r.end(m.ID, answer{message: m}) != nil }

// end ends the request with that id and returns it; nil when there is none.
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
		p.answer <- a // has room: an id is taken once
	case a.err != nil:
		go p.posted.Answered(Message{}, a.err)
	default:
		p.posted.Answered(a.message, nil)
	}
}

// waiting reports whether somebody waits for the answer to the request that has our id.
func (r *Requests) waiting(id []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pending[numberOf(id)] != nil
}

// Abandon tells everybody who waits, and who will, that no answer comes any more.
func (r *Requests) Abandon() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for number, p := range r.pending {
		delete(r.pending, number)
		p.end(answer{err: ErrClosed})
	}
}

// lateness is how long after the end of Wait an answer is late and not lost.
const lateness = time.Minute

// Late has then told of an answer that comes after Wait was cut short, on the goroutine that reads it, which goes on
// when then returns. It MUST be called before Wait.
func (p *Pending) Late(then func(Message)) { p.late = then }

// late gets the answer to a request that nobody waits for any more.
type late func(Message)

func (late) Compose([]byte) []byte { return nil } // it was sent long ago

func (l late) Answered(m Message, err error) {
	if err == nil {
		l(m)
	}
}

// Wait returns the response; for one that cannot be read, an *UnreadableError. When ctx ends first, the request is
// forgotten: its answer, if one comes, is dropped, or late.
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
		a := <-p.answer // it came with the end
		return a.message, a.err
	}
	return Message{}, ctx.Err()
}

// leave stops waiting for the answer, but for one that is late; false when the request has ended already.
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

// Forget stops waiting for the answer; false when the request has ended already.
func (p *Pending) Forget() bool {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	_, waiting := p.of.pending[p.number]
	delete(p.of.pending, p.number)
	return waiting
}
