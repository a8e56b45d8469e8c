package tenants

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// Pool has the tenants that are open: each from its first request until nobody used it for long. Its functions are
// called by one goroutine at once for each tenant.
type Pool[T any] struct {
	Open  func(name string) (T, error)
	Busy  func(T) bool // it stays open though nobody holds it
	Close func(T)
	Idle  time.Duration

	once    sync.Once
	opening chan struct{} // a place for each tenant that is being opened
	look    chan struct{} // has Sweep look at once
	mu      sync.Mutex
	of      map[string]*entry[T]
	ended   bool
}

// entry is one tenant from the beginning of its opening to the end of its closing.
type entry[T any] struct {
	ready chan struct{} // closed when it is open, or could not be
	value T
	err   error

	retired bool // it closes as soon as nobody holds it
	holds   int
	since   time.Time     // nobody holds it since
	closing chan struct{} // nil until it closes; closed when it has
}

// atOnce bounds the tenants that are opened at once: the others' calls go on.
const atOnce = 2

// errPanicked is for those who wait for a tenant whose opening panics.
var errPanicked = errors.New("it could not be opened")

// errEnded is for who comes when all tenants are closed.
var errEnded = errors.New("callgate ends")

func (p *Pool[T]) begin() {
	p.once.Do(func() {
		p.of, p.opening, p.look = map[string]*entry[T]{}, make(chan struct{}, atOnce), make(chan struct{}, 1)
	})
}

// Hold opens the tenant unless it is open, and keeps it so until leave, which may be called more than once.
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
			p.open(name, e)
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
		if e.err != nil {
			leave()
			return value, nil, e.err
		}
		return e.value, leave, nil
	}
}

// open opens a tenant. One that cannot be opened is tried again by who comes next.
func (p *Pool[T]) open(name string, e *entry[T]) {
	p.opening <- struct{}{}
	e.err = errPanicked // unless it returns
	defer func() {
		<-p.opening
		if e.err != nil {
			p.mu.Lock()
			delete(p.of, name)
			p.mu.Unlock()
		}
		close(e.ready)
	}()
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

// sweepNow has Sweep look at once.
func (p *Pool[T]) sweepNow() {
	select {
	case p.look <- struct{}{}:
	default: // it will
	}
}

// Retire has those that are not known close as soon as nobody holds them, busy or not.
func (p *Pool[T]) Retire(known func(name string) bool) {
	p.begin()
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, e := range p.of {
		e.retired = !known(name)
	}
	p.sweepNow()
}

// All lists the tenants that are open now, by name. Those that are not held may close meanwhile.
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

// HoldAll lists the tenants that are open now, by name, and those that are being opened once they are. All stay open
// until leave.
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

// Sweep closes the tenants that nobody used for long, until ctx ends.
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

// idle marks and returns the tenants that are to be closed.
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

// End closes all tenants, held or not, and waits for it.
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
