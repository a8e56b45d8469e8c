package rpc

import (
	"bytes"
	"context"
	"strconv"
	"sync"

	"callgate/internal/jsonx"
)

// Requests are those that one side of a connection sent and the other has not answered yet. The zero value
// is ready; it may be used by many goroutines at once.
type Requests struct {
	mu      sync.Mutex
	pending map[string]*Pending
	lastID  uint64
	closed  bool
}

// answer is how a request ended: with a response, or with one that cannot be read.
type answer struct {
	message Message
	err     error
}

// maxOwnID is the length of the longest id of ours.
const maxOwnID = len(`"cg-18446744073709551615"`)

// Pending is a request that was sent and not answered yet.
type Pending struct {
	ID     []byte // as spelled on the wire
	of     *Requests
	answer chan answer
	then   func(Message, error) // gets the answer in the place of who waits; nil where somebody does

	exchange func(context.Context) // sends it; nil when it was sent
}

// Send gives a request an id of ours, lets write send it, and returns what waits for its answer. The caller
// MUST call Wait or Forget.
func (r *Requests) Send(write func(id []byte) error) (*Pending, error) {
	return r.send(&Pending{of: r, answer: make(chan answer, 1)}, write)
}

// Post is Send for a request that nobody waits for. then gets what Wait would return, once, unless Forget comes first: an
// answer on the goroutine that reads it, which goes on when then returns, and an error on a goroutine of its own.
func (r *Requests) Post(write func(id []byte) error, then func(Message, error)) (*Pending, error) {
	return r.send(&Pending{of: r, then: then}, write)
}

func (r *Requests) send(p *Pending, write func(id []byte) error) (*Pending, error) {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil, ErrClosed
	}
	if r.pending == nil {
		r.pending = map[string]*Pending{}
	}
	r.lastID++
	p.ID = append(strconv.AppendUint(append(make([]byte, 0, maxOwnID), `"cg-`...), r.lastID, 10), '"')
	r.pending[string(p.ID)] = p
	r.mu.Unlock()
	if err := write(p.ID); err != nil {
		if !p.Forget() && p.then != nil { // then has been told already
			return p, nil
		}
		return nil, err
	}
	return p, nil
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
	r.mu.Lock()
	p := r.pending[string(id)]
	delete(r.pending, string(id))
	r.mu.Unlock()
	if p != nil {
		p.end(a)
	}
	return p
}

func (p *Pending) end(a answer) {
	switch {
	case p.then == nil:
		p.answer <- a // has room: an id is taken once
	case a.err != nil:
		go p.then(Message{}, a.err)
	default:
		p.then(a.message, nil)
	}
}

// waiting reports whether somebody waits for the answer to the request that has our id.
func (r *Requests) waiting(id []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pending[string(id)] != nil
}

// Abandon tells everybody who waits, and who will, that no answer comes any more.
func (r *Requests) Abandon() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for id, p := range r.pending {
		delete(r.pending, id)
		p.end(answer{err: ErrClosed})
	}
}

// Wait returns the response; for one that cannot be read, an *UnreadableError. When ctx ends first, the request is forgotten: its answer, if one comes, is dropped.
func (p *Pending) Wait(ctx context.Context) (Message, error) {
	if p.exchange != nil {
		p.exchange(ctx)
	}
	select {
	case a := <-p.answer:
		return a.message, a.err
	case <-ctx.Done():
		p.Forget()
		return Message{}, ctx.Err()
	}
}

// Forget stops waiting for the answer; false when the request has ended already.
func (p *Pending) Forget() bool {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	_, waiting := p.of.pending[string(p.ID)]
	delete(p.of.pending, string(p.ID))
	return waiting
}
