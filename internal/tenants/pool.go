package tenants

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// Pool holds the open tenants: each from its first request until nobody has used it for Idle. For each tenant, only one
// goroutine at a time calls Open, Busy and Close.
type Pool[T any] struct {
	Open  func(name string) (T, error)
	Busy  func(T) bool // it stays open although nobody holds it
	Close func(T)
	Idle  time.Duration

	once    sync.Once
	opening chan struct{} // a slot for each tenant that is being opened
	look    chan struct{} // makes Sweep look at once
	mu      sync.Mutex
	of      map[string]*entry[T]
	ended   bool
}

// entry is one tenant, from the start of its opening to the end of its closing.
type entry[T any] struct {
	ready chan struct{} // closed when the tenant is open or could not be opened
	value T
	err   error

	retired bool // it closes as soon as nobody holds it
	holds   int
	since   time.Time     // when the last holder left
	closing chan struct{} // nil until it starts to close; closed when it has
}

// atOnce bounds how many tenants are opened at once, so that the calls of the others go on.
const atOnce = 2

// errPanicked is what waiting callers get if opening a tenant panics.
var errPanicked = errors.New("it could not be opened")

// errLeft is what waiting callers get if the one that was to open a tenant has left: they try themselves.
var errLeft = errors.New("its first client left")

// errEnded is what callers get once the pool has ended.
var errEnded = errors.New("callgate ends")

func (p *Pool[T]) begin() {
	p.once.Do(func() {
		p.of, p.opening, p.look = map[string]*entry[T]{}, make(chan struct{}, atOnce), make(chan struct{}, 1)
	})
}

// Hold opens the tenant if it is not open, and keeps it open until leave is called. leave may be called more than once.
func (p *Pool[T]) Hold(ctx context.Context, name string) (value T, leave func(), err error) {
	p.begin()
	for {
		p.mu.Lock()
		e := p.of[name]
		switch {
		case p.ended:
			p.mu.Unlock()
			return value, nil, errEnded
		case e == nil:
			e = &entry[T]{ready: make(chan struct{}), holds: 1}
			p.of[name] = e
			p.mu.Unlock()
			p.open(ctx, name, e)
		case e.closing != nil:
			p.mu.Unlock()
			select {
			case <-e.closing:
				continue
			case <-ctx.Done():
				return value, nil, ctx.Err()
			}
		default:
			e.holds++
			p.mu.Unlock()
		}
		leave = sync.OnceFunc(func() { p.leave(e) })
		select {
		case <-e.ready:
		case <-ctx.Done():
			leave()
			return value, nil, ctx.Err()
		}
		if e.err == nil {
			return e.value, leave, nil
		}
		leave()
		if !errors.Is(e.err, errLeft) {
			return value, nil, e.err
		}
		if ctx.Err() != nil {
			return value, nil, ctx.Err()
		}
	}
}

// open opens a tenant, unless ctx ends before its turn comes. If that fails, the next caller tries again.
func (p *Pool[T]) open(ctx context.Context, name string, e *entry[T]) {
	e.err = errPanicked // unless Open returns
	defer func() {
		if e.err != nil {
			p.mu.Lock()
			delete(p.of, name)
			p.mu.Unlock()
		}
		close(e.ready)
	}()
	select {
	case p.opening <- struct{}{}:
	case <-ctx.Done():
		e.err = errLeft
		return
	}
	defer func() { <-p.opening }()
	e.value, e.err = p.Open(name)
}

func (p *Pool[T]) leave(e *entry[T]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.holds--; e.holds == 0 {
		if e.since = time.Now(); e.retired {
			p.sweepNow()
		}
	}
}

// sweepNow makes Sweep look at once.
func (p *Pool[T]) sweepNow() {
	select {
	case p.look <- struct{}{}:
	default: // it is about to look
	}
}

// Retire closes the tenants that are not known as soon as nobody holds them, busy or not.
func (p *Pool[T]) Retire(known func(name string) bool) {
	p.begin()
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, e := range p.of {
		e.retired = !known(name)
	}
	p.sweepNow()
}

// All lists the tenants that are open now, by name. A tenant that nobody holds may close meanwhile.
func (p *Pool[T]) All() (names []string, values []T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(p.of)) {
		e := p.of[name]
		select {
		case <-e.ready:
		default:
			continue
		}
		if e.err == nil && e.closing == nil {
			names, values = append(names, name), append(values, e.value)
		}
	}
	return names, values
}

// HoldAll lists the tenants that are open now, by name. It waits for those that are being opened. All stay open until
// leave is called.
func (p *Pool[T]) HoldAll() (names []string, values []T, leave func()) {
	p.mu.Lock()
	all := maps.Clone(p.of)
	maps.DeleteFunc(all, func(_ string, e *entry[T]) bool { return e.closing != nil })
	for _, e := range all {
		e.holds++
	}
	p.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		e := all[name]
		if <-e.ready; e.err == nil {
			names, values = append(names, name), append(values, e.value)
		}
	}
	return names, values, sync.OnceFunc(func() {
		for _, e := range all {
			p.leave(e)
		}
	})
}

// Sweep closes the tenants that nobody has used for Idle, until ctx ends.
func (p *Pool[T]) Sweep(ctx context.Context) {
	p.begin()
	ticker := time.NewTicker(max(min(p.Idle/4, time.Minute), 10*time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-p.look:
		}
		for name, e := range p.idle() {
			p.close(name, e)
		}
	}
}

// idle returns the tenants that are to be closed, and marks them.
func (p *Pool[T]) idle() map[string]*entry[T] {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := map[string]*entry[T]{}
	for name, e := range p.of {
		if e.holds > 0 || e.closing != nil || !e.retired && (time.Since(e.since) < p.Idle || p.Busy(e.value)) {
			continue
		}
		e.closing = make(chan struct{})
		found[name] = e
	}
	return found
}

func (p *Pool[T]) close(name string, e *entry[T]) {
	p.Close(e.value)
	p.mu.Lock()
	delete(p.of, name)
	p.mu.Unlock()
	close(e.closing)
}

// End closes all tenants, held or not, and waits until they are closed.
func (p *Pool[T]) End() {
	p.begin()
	p.mu.Lock()
	p.ended = true
	left := maps.Clone(p.of)
	p.mu.Unlock()
	var closing sync.WaitGroup
	for name, e := range left {
		closing.Go(func() {
			<-e.ready
			p.mu.Lock()
			other := e.closing
			mine := other == nil && e.err == nil
			if mine {
				e.closing = make(chan struct{})
			}
			p.mu.Unlock()
			switch {
			case mine:
				p.close(name, e)
			case other != nil:
				<-other
			}
		})
	}
	closing.Wait()
}
