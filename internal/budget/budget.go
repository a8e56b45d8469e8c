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
// message may need. That message can always end, and messages never wait in a circle.
//
// Of several parts, none takes the room of the others: see share.
type Budget struct {
	limit int64
	above *Budget // bounds this one and others together; nil for none

	mu      sync.Mutex
	used    int64 // messages count twice: callgate makes one copy of each when it passes it on
	growing []*Charge
	queue   []*waiter
	parts   map[*Budget]int64 // of used, by the part

	collect sync.Mutex // held by the one who runs the garbage collector
}

// Charge is what the memory of a message counts.
type Charge struct {
	cost, most int64
	part       *Budget // whose message it is; nil for the budget's own
	above      *Charge // at the budget above; nil for none
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
	return &Budget{limit: limit, parts: map[*Budget]int64{}}
}

// Part returns a budget of limit bytes for some of the messages that b bounds.
func (b *Budget) Part(limit int64) *Budget {
	return &Budget{limit: limit, above: b, parts: map[*Budget]int64{}}
}

// Adopt counts a message that callgate made itself, out of one that it has read. It does not wait: the original was
// counted twice for it.
func (b *Budget) Adopt(message []byte) { b.adopt(message, nil) }

func (b *Budget) adopt(message []byte, part *Budget) {
	if b == nil || cap(message) <= Free {
		return
	}
	c := &Charge{cost: int64(cap(message)), part: part}
	b.mu.Lock()
	b.count(part, c.cost)
	b.mu.Unlock()
	b.watch(message, c)
	b.above.adopt(message, b)
}

// count counts memory of a part, less if cost is negative. The caller holds mu.
func (b *Budget) count(part *Budget, cost int64) {
	b.used += cost
	if part == nil {
		return
	}
	if b.parts[part] += cost; b.parts[part] <= 0 {
		delete(b.parts, part)
	}
}

// Alloc returns memory of that capacity for a message that may become most bytes long. It waits for room until done is
// closed. It takes the place of the memory that old is the charge of, nil for none: that is not passed on, so it counts
// once from now on. The caller MUST call Grown when the message is whole.
func Alloc(b *Budget, done <-chan struct{}, size, most int, old *Charge) ([]byte, *Charge, error) {
	if b == nil || size <= Free {
		return textscan.Room(size), nil, nil
	}
	c, err := b.charge(done, size, most, old, nil)
	if err != nil {
		return nil, nil, err
	}
	buf := textscan.Room(size)
	for at, its := b, c; its != nil; at, its = at.above, its.above {
		at.watch(buf, its)
	}
	return buf, c, nil
}

// charge waits for room, here and above, for a message of a part, or of its own.
func (b *Budget) charge(done <-chan struct{}, size, most int, old *Charge, part *Budget) (*Charge, error) {
	// While a buffer doubles for the last time, there is half a message beside it.
	w := &waiter{old: old, new: &Charge{cost: 2 * int64(size), most: int64(2*max(size, most) + most/2), part: part}, done: make(chan error, 1)}
	if w.cost = w.new.cost; old != nil {
		w.cost -= old.cost / 2
	}
	b.mu.Lock()
	if w.new.cost+w.new.cost-w.cost > b.most() {
		b.mu.Unlock()
		return nil, &Error{Limit: b.limit, Never: true}
	}
	b.queue = append(b.queue, w)
	b.grant()
	b.mu.Unlock()
	if err := b.wait(done, w); err != nil || b.above == nil {
		return w.new, err
	}
	var before *Charge
	if old != nil {
		before = old.above
	}
	var err error
	if w.new.above, err = b.above.charge(done, size, most, before, b); err != nil {
		b.release(w.new)
		return nil, err
	}
	return w.new, nil
}

// Grown says that the message with that charge is whole. c may be nil.
func Grown(b *Budget, c *Charge) {
	if b == nil || c == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.grown(c)
	b.grant()
	Grown(b.above, c.above)
}

func (b *Budget) grown(c *Charge) {
	if i := slices.Index(b.growing, c); i >= 0 {
		b.growing = slices.Delete(b.growing, i, i+1)
	}
}

// fits is the size of memory that can be had in the place of old, which is the caller's.
func (b *Budget) fits(old *Charge) int {
	switch {
	case b == nil:
		return math.MaxInt
	case old == nil:
		return min(int(b.most()/2), b.above.fits(nil))
	}
	return min(int(b.most()-old.cost/2)/2, b.above.fits(old.above))
}

// watch gives the charge back when nobody uses the memory any more.
func (b *Budget) watch(buf []byte, c *Charge) {
	runtime.AddCleanup(unsafe.SliceData(buf), b.release, c)
}

func (b *Budget) release(c *Charge) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count(c.part, -c.cost)
	b.grown(c)
	b.grant()
}

// most is what large messages can take together. It leaves something to the others.
func (b *Budget) most() int64 { return b.limit - b.limit/8 }

// share is what one part may hold: three quarters, and while others hold something or wait, as much as each of them.
// So there is room for who comes next. The caller holds mu.
func (b *Budget) share() int64 {
	n := len(b.parts)
	for i, w := range b.queue {
		part := w.new.part
		_, holds := b.parts[part]
		if part != nil && !holds && !slices.ContainsFunc(b.queue[:i], func(o *waiter) bool { return o.new.part == part }) {
			n++
		}
	}
	return min(b.most()*3/4, b.most()/int64(max(1, n)))
}

// grant lets every message go on that has room, in the order in which they came. Those that ask for little may pass the
// others, and those of parts that hold more than their share are passed. A message that a part has alone may take more.
// The caller holds mu.
func (b *Budget) grant() {
	waits, share := false, b.share()
	b.queue = slices.DeleteFunc(b.queue, func(w *waiter) bool {
		most, aside := b.most(), int64(0)
		little, oldest := w.cost <= b.limit/64, w.old != nil && len(b.growing) > 0 && b.growing[0] == w.old
		if little || oldest { // which has left this to those that ask for little
			most = b.limit
		}
		if len(b.growing) > 0 && !oldest {
			aside = max(0, min(b.growing[0].most, b.most())-b.growing[0].cost)
		}
		if held := b.parts[w.new.part]; w.new.part != nil && !oldest && held > 0 && held+w.cost > share {
			return false
		}
		if waits && !little && !oldest || b.used+w.cost+aside > most {
			waits = true
			return false
		}
		b.count(w.new.part, w.cost)
		if i := slices.Index(b.growing, w.old); i >= 0 {
			b.growing[i] = w.new
		} else {
			b.growing = append(b.growing, w.new)
		}
		if w.old != nil {
			w.old.cost -= w.old.cost / 2
		}
		w.done <- nil
		return true
	})
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
