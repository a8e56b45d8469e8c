package tenants

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Turns hands the processor out among tenants. A request takes a turn before it is judged. While there are more
// requests than turns, tenants come one after the other, each with as many requests in a row as its weight: who has a
// thousand waiting delays the next request of another by one round.
//
// Nobody holds a turn for long: it ends with the request, or after slice, because what takes longer waits for a server
// or a person and needs no processor.
type Turns struct {
	mu     sync.Mutex
	free   int
	queues []*queue // of tenants with requests that wait, in the order of their turns
	of     map[string]*queue
}

// queue is what waits of one tenant.
type queue struct {
	tenant string
	left   int // requests before it is the next tenant's turn
	weight int
	waits  []*waiter
}

// waiter is a request that waits for its turn.
type waiter struct{ turn chan struct{} }

// slice is how long a turn lasts at most.
const slice = 5 * time.Millisecond

// NewTurns has so many turns at once; 0 is two for each processor: one runs while the other waits for the disk.
func NewTurns(n int) *Turns {
	if n <= 0 {
		n = 2 * runtime.GOMAXPROCS(0)
	}
	return &Turns{free: n, of: map[string]*queue{}}
}

// Take waits for a turn. The error is ctx's. end gives the turn back, and may be called more than once.
func (t *Turns) Take(ctx context.Context, tenant string, weight int) (end func(), err error) {
	t.mu.Lock()
	if t.free > 0 {
		t.free--
		t.mu.Unlock()
		return t.begin(), nil
	}
	w := &waiter{turn: make(chan struct{}, 1)}
	q := t.of[tenant]
	if q == nil {
		q = &queue{tenant: tenant, left: weight}
		t.of[tenant] = q
		t.queues = append(t.queues, q)
	}
	q.weight = weight
	q.waits = append(q.waits, w)
	t.mu.Unlock()
	select {
	case <-w.turn:
		return t.begin(), nil
	case <-ctx.Done():
	}
	if !t.withdraw(q, w) { // the turn came meanwhile
		t.give()
	}
	return nil, ctx.Err()
}

// begin makes what ends a turn that was taken.
func (t *Turns) begin() func() {
	give := sync.OnceFunc(t.give)
	over := time.AfterFunc(slice, give)
	return func() {
		over.Stop()
		give()
	}
}

// give hands a turn to the request that is next.
func (t *Turns) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queues) == 0 {
		t.free++
		return
	}
	q := t.queues[0]
	w := q.waits[0]
	q.waits[0] = nil
	q.waits = q.waits[1:]
	q.left--
	switch {
	case len(q.waits) == 0:
		t.drop(q)
	case q.left <= 0:
		q.left = q.weight
		t.queues = append(t.queues[1:], q)
	}
	w.turn <- struct{}{}
}

// withdraw takes a request out; it is false when it has its turn.
func (t *Turns) withdraw(q *queue, w *waiter) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(q.waits, w)
	if i < 0 {
		return false
	}
	if q.waits = slices.Delete(q.waits, i, i+1); len(q.waits) == 0 {
		t.drop(q)
	}
	return true
}

// drop forgets a queue that is empty. The caller holds mu.
func (t *Turns) drop(q *queue) {
	t.queues = slices.DeleteFunc(t.queues, func(o *queue) bool { return o == q })
	delete(t.of, q.tenant)
}
