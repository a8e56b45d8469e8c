package upstream

import (
	"bytes"
	"strconv"
	"sync"
	"sync/atomic"

	"callgate/internal/rpc"
)

// maxAsks bounds one server's requests without an answer.
const maxAsks = 256

// asks holds a server's requests that wait for an answer. Each gets an id from callgate, because two processes of one
// server use the same ids. An answer to a question of the first process must never reach the second.
type asks struct {
	mu     sync.Mutex
	ours   map[string]ask // by callgate's id, as spelled
	theirs map[askKey]string
}

type ask struct {
	in     *incarnation
	id     []byte           // the server's id, as spelled; nil for a question that did not come as a message
	answer chan rpc.Message // for such a question; buffered
}

type askKey struct {
	in *incarnation
	id string
}

var lastAsk atomic.Uint64

// add registers a request and returns its new id. ok is false if the server must not ask now.
func (a *asks) add(in *incarnation, id []byte) (own []byte, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := askKey{in, string(id)}
	if _, again := a.theirs[key]; again || len(a.ours) >= maxAsks {
		return nil, false
	}
	own = a.keep(ask{in: in, id: bytes.Clone(id)})
	a.theirs[key] = string(own)
	return own, true
}

// keep registers a request under a new id and returns the id. The caller holds mu.
func (a *asks) keep(q ask) (own []byte) {
	if a.ours == nil {
		a.ours, a.theirs = map[string]ask{}, map[askKey]string{}
	}
	own = append(strconv.AppendUint([]byte(`"cg-ask-`), lastAsk.Add(1), 10), '"')
	a.ours[string(own)] = q
	return own
}

// put registers a question that a server asks in a result, and returns its id and the channel for its answer. ok is
// false if too many wait.
func (a *asks) put(in *incarnation) (own []byte, answer <-chan rpc.Message, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.ours) >= maxAsks {
		return nil, nil, false
	}
	q := ask{in: in, answer: make(chan rpc.Message, 1)}
	return a.keep(q), q.answer, true
}

// take removes and returns the request with our id.
func (a *asks) take(own []byte) (ask, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q, ok := a.ours[string(own)]
	if ok {
		delete(a.ours, string(own))
		delete(a.theirs, askKey{q.in, string(q.id)})
	}
	return q, ok
}

// find returns our id for a request that the server sent.
func (a *asks) find(in *incarnation, id []byte) (own string, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	own, ok = a.theirs[askKey{in, string(id)}]
	return own, ok
}

// drop forgets the requests of an incarnation that has ended.
func (a *asks) drop(in *incarnation) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for own, q := range a.ours {
		if q.in == in {
			delete(a.ours, own)
			delete(a.theirs, askKey{in, string(q.id)})
		}
	}
}

// Reply sends the answer to a request that Events.Request got: a response message with that request's id. It never
// blocks. It drops an answer to a question that no longer waits.
func (u *Upstream) Reply(response []byte) {
	m, err := rpc.Parse(oneLine(response))
	if err != nil || !m.IsResponse() {
		u.log.Error("reply dropped: it is not a response", "error", err)
		return
	}
	q, ok := u.asks.take(m.ID)
	if !ok {
		u.log.Debug("reply dropped: nobody waits for it", "id", string(m.ID))
		return
	}
	if q.answer != nil {
		q.answer <- m // buffered: an ask is taken only once
		return
	}
	if err := q.in.conn.Write(m.WithID(q.id)); err != nil {
		u.log.Warn("reply dropped", "error", err)
	}
}
