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

// Key is the configuration key of the bound, for errors.
const Key = "limits.maxInFlightBytes"

// DefaultLimit is the bound unless it is configured.
const DefaultLimit = 256 << 20

// MinLimit is the lowest useful bound. Below it, ordinary results would not fit.
const MinLimit = 4 << 20

const (
	// Free is the size up to which memory is not counted.
	Free = 64 << 10

	// patience is how long a message waits for others to end.
	patience = 20 * time.Second

	// collecting is how often somebody who waits looks for memory that nobody uses any more.
	collecting = 25 * time.Millisecond
)

// Error says that a message found no room.
type Error struct {
	Limit int64
	Never bool // it would not fit if it were alone
}

func (e *Error) Error() string {
	if e.Never {
		return fmt.Sprintf("the message is too large for callgate's bound on messages in flight (%s: %d bytes)", Key, e.Limit)
	}
	return fmt.Sprintf("callgate holds too many large messages already and dropped this one (%s: %d bytes); try again later, or ask for less", Key, e.Limit)
}

// Budget is the bound. Memory counts until the garbage collector finds that nobody uses it, so holders of a message
// need not release it. A nil Budget has no bound.
//
// While a message is read, its final length is not known. So the budget reserves the rest that the oldest growing
// message may need. A message of a part gets room in the part and above at once, or waits for both: the oldest of all is
// the oldest of its part, and can always end. Messages never wait in a circle.
//
// Of several parts, none takes the room of the others: see share.
type Budget struct {
	limit int64
	above *Budget // bounds this part and others together; nil for none
	*shared

	// Guarded by mu.
	used    int64 // messages count twice: callgate makes one copy of each when it passes it on
	growing []*Charge
	parts   map[*Budget]int64 // of used, by the part
}

// shared is what a budget and its parts have together.
type shared struct {
	mu    sync.Mutex
	queue []*waiter

	collect sync.Mutex // held by the one who runs the garbage collector
}

// Charge is what the memory of a message counts, in its budget and the one above.
type Charge struct {
	of         *Budget
	cost, most int64
}

// waiter is a message that waits for room.
type waiter struct {
	old, new *Charge
	cost     int64      // beside what the message has
	done     chan error // has room for one
}

// New returns a budget of limit bytes; nil for 0, which is not a bound.
func New(limit int64) *Budget {
	if limit == 0 {
		return nil
	}
	return &Budget{limit: limit, shared: &shared{}, parts: map[*Budget]int64{}}
}

// Part returns a budget of limit bytes for some of the messages that b bounds; b itself for 0, which is no bound of its
// own. A part has no parts.
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

// Adopt counts a message that callgate made itself, out of one that it has read. It does not wait: the original was
// counted twice for it.
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

// count counts memory here and above, less if cost is negative. The caller holds mu.
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

// Alloc returns memory of that capacity for a message that may become most bytes long. It waits for room until done is
// closed. It takes the place of the memory that old is the charge of, nil for none: that is not passed on, so it counts
// once from now on. The caller MUST call Grown when the message is whole.
func Alloc(b *Budget, done <-chan struct{}, size, most int, old *Charge) ([]byte, *Charge, error) {
	if b == nil || size <= Free {
		return textscan.Room(size), nil, nil
	}
	// While a buffer doubles for the last time, there is half a message beside it.
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
	buf := textscan.Room(size)
	b.watch(buf, w.new)
	return buf, w.new, nil
}

// ask puts a message among those that wait, unless it would never fit.
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

// Grown says that the message with that charge is whole. c may be nil.
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

// fits is the size of memory that can be had in the place of old, which is the caller's.
func (b *Budget) fits(old *Charge) int {
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

// watch gives the charge back when nobody uses the memory any more.
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

// most is what large messages can take together. It leaves something to the others.
func (b *Budget) most() int64 { return b.limit - b.limit/8 }

// share is what one part may hold: three quarters, and while others hold something or wait, as much as each of them.
// So there is room for who comes next. The caller holds mu.
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

// grant lets every message go on that has room, in the order in which they came. Those that ask for little may pass the
// others, and those of parts that hold more than their share are passed. A message that a part has alone may take more.
// The caller holds mu.
func (b *Budget) grant() {
	if len(b.queue) == 0 {
		return
	}
	top := b
	if b.above != nil {
		top = b.above
	}
	share := top.share()
	var full []*Budget // where a message waits for room, and those behind it, too
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

// isOldest reports whether a message is the one that room is reserved for.
func (b *Budget) isOldest(w *waiter) bool {
	return w.old != nil && len(b.growing) > 0 && b.growing[0] == w.old
}

// hasRoom reports whether there is room for a message here; full says that another waits for room before it.
func (b *Budget) hasRoom(w *waiter, full bool) bool {
	most, aside := b.most(), int64(0)
	little, oldest := w.cost <= b.limit/64, b.isOldest(w)
	if little || oldest { // which has left this to those that ask for little
		most = b.limit
	}
	if len(b.growing) > 0 && !oldest {
		aside = max(0, min(b.growing[0].most, b.most())-b.growing[0].cost)
	}
	return (little || oldest || !full) && b.used+w.cost+aside <= most
}

// wait waits for the word of grant.
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
			b.tidy()
		case <-limit.C:
			b.dismiss(w)
			return <-w.done
		case <-done:
			b.dismiss(w)
			return <-w.done
		}
	}
}

// tidy finds memory that nobody uses.
func (b *Budget) tidy() {
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
