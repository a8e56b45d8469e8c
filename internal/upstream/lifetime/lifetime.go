// Package lifetime is the context of a host's request, from when it comes until it is answered.
package lifetime

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Request is the context of one request. Nothing is derived from its parent before somebody waits for its end, or
// derives a context in turn: most requests are answered without.
type Request struct {
	parent context.Context
	cause  any

	mu      sync.Mutex
	over    error                   // why it ended; nil while it lasts
	err     error                   // likewise, as Err says it
	watcher Watcher                 // hears that; nil for nobody
	child   context.Context         // derived from the parent; nil before anybody needs it
	end     context.CancelCauseFunc // of child
}

var _ context.Context = (*Request)(nil)

// Watcher hears that a request has ended.
type Watcher interface{ RequestEnded() }

// New returns the context of a request, for the sake of cause; see Begin.
func New(parent context.Context, cause any) *Request {
	r := new(Request)
	r.Begin(parent, cause)
	return r
}

// Begin makes r the context of a request, for the sake of cause: the events of a server get it with what the server
// says about what was sent for the request. The caller MUST End it, soon after the end of parent at the latest.
func (r *Request) Begin(parent context.Context, cause any) { r.parent, r.cause = parent, cause }

// End ends the request, if it lasts. why is what context.Cause returns then; nil is context.Canceled.
func (r *Request) End(why error) {
	r.mu.Lock()
	if r.over != nil {
		r.mu.Unlock()
		return
	}
	r.over, r.err = why, context.Canceled
	if err := r.parent.Err(); err != nil { // it has ended already
		r.over, r.err = context.Cause(r.parent), err
	} else if why == nil {
		r.over = context.Canceled
	}
	why = r.over
	end, watcher := r.end, r.watcher
	r.watcher = nil
	r.mu.Unlock()
	if end != nil {
		end(why)
	}
	if watcher != nil {
		go watcher.RequestEnded()
	}
}

// Watch has one watcher hear, on a goroutine of its own, that the request has ended, unless Unwatch comes first.
func (r *Request) Watch(w Watcher) {
	r.mu.Lock()
	over := r.over != nil
	if !over {
		r.watcher = w
	}
	r.mu.Unlock()
	if over {
		go w.RequestEnded()
	}
}

// Unwatch has nobody hear that the request has ended.
func (r *Request) Unwatch() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watcher = nil
}

// Cause is what context.Cause returns, for less.
func (r *Request) Cause() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over != nil {
		return r.over
	}
	return context.Cause(r.parent)
}

// Deadline implements context.Context.
func (r *Request) Deadline() (time.Time, bool) { return r.parent.Deadline() }

// Err implements context.Context.
func (r *Request) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over != nil {
		return r.err
	}
	return r.parent.Err()
}

// Done implements context.Context.
func (r *Request) Done() <-chan struct{} { return r.derived().Done() }

// Value implements context.Context. Contexts that are derived from this one find the one that it derives.
func (r *Request) Value(key any) any {
	if key == (causeKey{}) {
		return r.cause
	}
	return r.derived().Value(key)
}

func (r *Request) derived() context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.child != nil {
		return r.child
	}
	parent := r.parent
	if r.over != nil && !errors.Is(context.Cause(parent), r.over) { // it may have ended since, for another reason
		parent = context.WithoutCancel(parent)
	}
	r.child, r.end = context.WithCancelCause(parent)
	if r.over != nil {
		r.end(r.over)
	}
	return r.child
}

type causeKey struct{}

// CauseOf returns what the request that ctx belongs to was begun for; nil for none.
func CauseOf(ctx context.Context) any { return ctx.Value(causeKey{}) }
