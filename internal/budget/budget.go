// Package budget bounds the memory of messages in flight.
//
// It counts requests of hosts and answers of servers, from the first byte read to the last byte written. Small messages
// are free.
package budget

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"
	"unsafe"

	"callgate/internal/textscan"
)

// Key is the configuration key of the limit, for errors.
const Key = "limits.maxInFlightBytes"

// DefaultLimit is the limit in bytes unless another is configured.
const DefaultLimit = 256 << 20

// MinLimit is the lowest useful limit in bytes. Below it, ordinary results would not fit.
const MinLimit = 4 << 20

const (
	// Free is the size in bytes up to which memory is not counted.
	Free = 64 << 10

	// patience is how long a message waits for others to end.
	patience = 20 * time.Second

	// collecting is how often a waiting message makes the garbage collector look for unused memory.
	collecting = 25 * time.Millisecond
)

// Error means that there is no room for a message.
type Error struct {
	Limit int64
	Never bool // it would not fit even alone
}

func (e *Error) Error() string {
	if e.Never {
		return fmt.Sprintf("the message is too large for callgate's bound on messages in flight (%s: %d bytes)", Key, e.Limit)
	}
	return fmt.Sprintf("callgate holds too many large messages already and dropped this one (%s: %d bytes); try again later, or ask for less", Key, e.Limit)
}

// Budget limits the memory of messages. Memory counts until the garbage collector finds it unused, so holders of a
// message need not release it. A nil Budget has no limit.
//
// The final length of a message is unknown while it is read. So the budget reserves the rest that the oldest growing
// message may need. A message of a part gets room in the part and above at the same time, or waits for both. The oldest
// message of all is also the oldest of its part, so it can always end, and messages never wait in a circle.
//
// No part takes the room of the others, see share.
type Budget struct {
	limit int64
	above *Budget // the limit of this part and others together; nil if this is not a part
	*shared

	// Guarded by mu.
	used    int64 // messages count twice: callgate copies each once when it passes it on
	growing []*Charge
	parts   map[*Budget]int64 // of used, by part
}

// shared is the state that a budget and its parts share.
type shared struct {
	mu    sync.Mutex
	queue []*waiter

	collect sync.Mutex // held by the goroutine that runs the garbage collector
}

// Charge is what a message counts in its budget and the one above.
type Charge struct {
	of         *Budget
	cost, most int64
}

// waiter is a message that waits for room.
type waiter struct {
	old, new *Charge
	cost     int64      // in addition to what the message has
	done     chan error // buffered for one result
}

// New returns a budget of limit bytes, or nil if limit is 0, which means no limit.
func New(limit int64) *Budget {
	if limit == 0 {
		return nil
	}
	return &Budget{limit: limit, shared: &shared{}, parts: map[*Budget]int64{}}
}

// Part returns a budget of limit bytes for some of the messages that b limits. If limit is 0, it returns b itself. A
// part has no parts.
func (b *Budget) Part(limit int64) *Budget {
	if limit == 0 {
		return b
	}
	part := New(limit)
	if b != nil {
		part.above, part.shared = b, b.shared
	}
	return part
}

// Adopt counts a message that callgate made from one that it has read. It does not wait, because the original counted
// twice for this.
func (b *Budget) Adopt(message []byte) {
	if b == nil || cap(message) <= Free {
		return
	}
	c := &Charge{of: b, cost: int64(cap(message))}
	b.mu.Lock()
	b.count(c.cost)
	b.mu.Unlock()
	b.watch(message, c)
}

// count adds cost, which may be negative, here and above. The caller holds mu.
func (b *Budget) count(cost int64) {
	b.used += cost
	if b.above == nil {
		return
	}
	b.above.used += cost
	if b.above.parts[b] += cost; b.above.parts[b] <= 0 {
		delete(b.above.parts, b)
	}
}

// Alloc returns memory of capacity size for a message that may reach most bytes. It waits for room, but not after done
// is closed nor longer than patience. The memory replaces that of old, which may be nil: the old memory is not passed
// on, so it counts only once from now on. The caller MUST call Grown when the message is complete.
func Alloc(b *Budget, done <-chan struct{}, size, most int, old *Charge) ([]byte, *Charge, error) {
	if b == nil || size <= Free {
		return textscan.Uninitialized(size), nil, nil
	}
	// While a buffer doubles for the last time, half of the message exists twice.
	w := &waiter{old: old, new: &Charge{of: b, cost: 2 * int64(size), most: int64(2*max(size, most) + most/2)}, done: make(chan error, 1)}
	if w.cost = w.new.cost; old != nil {
		w.cost -= old.cost / 2
	}
	if err := b.ask(w); err != nil {
		return nil, nil, err
	}
	if err := b.wait(done, w); err != nil {
		return nil, nil, err
	}
	buf := textscan.Uninitialized(size)
	b.watch(buf, w.new)
	return buf, w.new, nil
}

// ask queues a message, unless it would never fit.
func (b *Budget) ask(w *waiter) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for at := b; at != nil; at = at.above {
		if w.new.cost+w.new.cost-w.cost > at.most() {
			return &Error{Limit: at.limit, Never: true}
		}
	}
	b.queue = append(b.queue, w)
	b.grant()
	return nil
}

// Grown marks the message with that charge as complete. b and c may be nil.
func Grown(b *Budget, c *Charge) {
	if b == nil || c == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	c.grown()
	b.grant()
}

func (c *Charge) grown() {
	for at := c.of; at != nil; at = at.above {
		if i := slices.Index(at.growing, c); i >= 0 {
			at.growing = slices.Delete(at.growing, i, i+1)
		}
	}
}

// largestFor returns the largest size that can replace old, which belongs to the caller and may be nil.
func (b *Budget) largestFor(old *Charge) int {
	fits := math.MaxInt
	for at := b; at != nil; at = at.above {
		if old == nil {
			fits = min(fits, int(at.most()/2))
		} else {
			fits = min(fits, int(at.most()-old.cost/2)/2)
		}
	}
	return fits
}

// watch releases the charge when nobody uses the memory any more.
func (b *Budget) watch(buf []byte, c *Charge) {
	runtime.AddCleanup(unsafe.SliceData(buf), b.release, c)
}

func (b *Budget) release(c *Charge) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count(-c.cost)
	c.grown()
	b.grant()
}

// most returns what large messages can take together. It leaves some room for small ones.
func (b *Budget) most() int64 { return b.limit - b.limit/8 }

// share returns how much one part may hold. That is three quarters or, while other parts hold something or wait, an
// equal share. So the next one finds room. The caller holds mu.
func (b *Budget) share() int64 {
	n := len(b.parts)
	for i, w := range b.queue {
		part := w.new.of
		_, holds := b.parts[part]
		if part != b && !holds && !slices.ContainsFunc(b.queue[:i], func(o *waiter) bool { return o.new.of == part }) {
			n++
		}
	}
	return min(b.most()*3/4, b.most()/int64(max(1, n)))
}

// grant lets every message with room proceed, in order of arrival. Small messages may pass others, and messages of
// parts beyond their share are passed. A message of a part that holds nothing else may take more. The caller holds mu.
func (b *Budget) grant() {
	if len(b.queue) == 0 {
		return
	}
	top := b
	if b.above != nil {
		top = b.above
	}
	share := top.share()
	var full []*Budget // budgets where a message waits for room: later ones wait too
	b.queue = slices.DeleteFunc(b.queue, func(w *waiter) bool {
		for at := w.new.of; at != nil; at = at.above {
			if held := at.parts[w.new.of]; held > 0 && !at.isOldest(w) && held+w.cost > share {
				return false
			}
			if !at.hasRoom(w, slices.Contains(full, at)) {
				full = append(full, at)
				return false
			}
		}
		w.new.of.count(w.cost)
		for at := w.new.of; at != nil; at = at.above {
			if i := slices.Index(at.growing, w.old); i >= 0 {
				at.growing[i] = w.new
			} else {
				at.growing = append(at.growing, w.new)
			}
		}
		if w.old != nil {
			w.old.cost -= w.old.cost / 2
		}
		w.done <- nil
		return true
	})
}

// isOldest reports whether w is the message that room is reserved for.
func (b *Budget) isOldest(w *waiter) bool {
	return w.old != nil && len(b.growing) > 0 && b.growing[0] == w.old
}

// hasRoom reports whether there is room for a message here. full means that an earlier one waits for room.
func (b *Budget) hasRoom(w *waiter, full bool) bool {
	most, aside := b.most(), int64(0)
	little, oldest := w.cost <= b.limit/64, b.isOldest(w)
	if little || oldest { // it has left this for small messages
		most = b.limit
	}
	if len(b.growing) > 0 && !oldest {
		aside = max(0, min(b.growing[0].most, b.most())-b.growing[0].cost)
	}
	return (little || oldest || !full) && b.used+w.cost+aside <= most
}

// wait waits for grant, patience or done.
func (b *Budget) wait(done <-chan struct{}, w *waiter) error {
	select {
	case err := <-w.done:
		return err
	default:
	}
	limit := time.NewTimer(patience)
	defer limit.Stop()
	tick := time.NewTicker(collecting)
	defer tick.Stop()
	for {
		select {
		case err := <-w.done:
			return err
		case <-tick.C:
			b.collectGarbage()
		case <-limit.C:
			b.dismiss(w)
			return <-w.done
		case <-done:
			b.dismiss(w)
			return <-w.done
		}
	}
}

// collectGarbage runs the garbage collector to find unused memory, unless that is running already.
func (b *Budget) collectGarbage() {
	if b.collect.TryLock() {
		defer b.collect.Unlock()
		runtime.GC()
	}
}

// dismiss ends the wait of w with an error, unless it has room by now.
func (b *Budget) dismiss(w *waiter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.queue, w); i >= 0 {
		b.queue = slices.Delete(b.queue, i, i+1)
		w.done <- &Error{Limit: b.limit}
		b.grant()
	}
}
