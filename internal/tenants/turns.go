package tenants

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Turns shares the processor out among tenants. A request takes a turn before it is judged. One tenant's requests have
// at most half of the turns, so that others find one free. While more requests wait than there are turns, tenants take
// turns in rotation, each with as many requests in a row as its weight. So a tenant with a thousand waiting requests
// delays another's next request by one round.
//
// Nobody holds a turn for long: it ends with the request or after longest. A request that takes longer waits for a
// server or a person, and needs no processor.
type Turns struct {
	mu     sync.Mutex
	free   int
	most   int      // of one tenant at once
	queues []*queue // of tenants with waiting requests, in the order of their turns
	of     map[string]*queue
}

// queue holds the requests of one tenant that wait, and counts those that have a turn.
type queue struct {
	tenant string
	has    int // turns that it has now
	left   int // requests before it is the next tenant's turn
	weight int
	waits  []*waiter
}

// waiter is a request that waits for its turn.
type waiter struct{ turn chan struct{} }

// longest bounds how long a turn lasts. So it bounds how many requests begin in a second if servers are slow.
const longest = 2 * time.Millisecond

// NewTurns makes n turns. 0 means two for each processor, so that one tenant alone keeps all processors busy. With
// more, a request that finds a turn free still waits behind the others for the processor.
func NewTurns(n int) *Turns {
	if n <= 0 {
		n = 2 * runtime.GOMAXPROCS(0)
	}
	return &Turns{free: n, most: max(1, n/2), of: map[string]*queue{}}
}

// Take waits for a turn. The error is that of ctx. end gives the turn back, and may be called more than once.
func (t *Turns) Take(ctx context.Context, tenant string, weight int) (end func(), err error) {
	t.mu.Lock()
	q := t.of[tenant]
	if q == nil {
		q = &queue{tenant: tenant, left: weight}
		t.of[tenant] = q
	}
	q.weight = weight
	if t.free > 0 && q.has < t.most {
		t.free--
		q.has++
		t.mu.Unlock()
		return t.begin(q), nil
	}
	w := &waiter{turn: make(chan struct{}, 1)}
	if len(q.waits) == 0 {
		t.queues = append(t.queues, q)
	}
	q.waits = append(q.waits, w)
	t.mu.Unlock()
	select {
	case <-w.turn:
		return t.begin(q), nil
	case <-ctx.Done():
	}
	if !t.withdraw(q, w) { // the turn has come meanwhile
		t.give(q)
	}
	return nil, ctx.Err()
}

// begin returns a function that ends a turn that was taken.
func (t *Turns) begin(q *queue) func() {
	give := sync.OnceFunc(func() { t.give(q) })
	over := time.AfterFunc(longest, give)
	return func() {
		over.Stop()
		give()
	}
}

// give takes a turn back, and hands it to the next request.
func (t *Turns) give(from *queue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.free++
	from.has--
	t.forget(from)
	i := slices.IndexFunc(t.queues, func(q *queue) bool { return q.has < t.most })
	if i < 0 {
		return
	}
	q := t.queues[i]
	w := q.waits[0]
	q.waits[0] = nil
	q.waits = q.waits[1:]
	q.left--
	if q.left <= 0 || len(q.waits) == 0 {
		q.left = q.weight
		t.queues = slices.Delete(t.queues, i, i+1)
		if len(q.waits) > 0 {
			t.queues = append(t.queues, q)
		}
	}
	t.free--
	q.has++
	w.turn <- struct{}{}
}

// withdraw removes a request. It returns false if the request already has its turn.
func (t *Turns) withdraw(q *queue, w *waiter) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(q.waits, w)
	if i < 0 {
		return false
	}
	if q.waits = slices.Delete(q.waits, i, i+1); len(q.waits) == 0 {
		t.queues = slices.DeleteFunc(t.queues, func(o *queue) bool { return o == q })
		t.forget(q)
	}
	return true
}

// forget drops a queue that has neither waiting requests nor a turn. The caller holds mu.
func (t *Turns) forget(q *queue) {
	if q.has == 0 && len(q.waits) == 0 {
		delete(t.of, q.tenant)
	}
}
