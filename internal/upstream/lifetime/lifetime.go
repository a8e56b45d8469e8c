// Package lifetime implements the context of a host's request, from its arrival to its answer.
package lifetime

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Request is the context of one request. It derives nothing from its parent until somebody waits for its end or derives
// a context from it, because most requests are answered without that.
type Request struct {
	parent context.Context
	cause  any

	mu      sync.Mutex
	over    error                   // why it ended, or nil
	err     error                   // likewise, as Err returns it
	watcher Watcher                 // told when the request ends; may be nil
	child   context.Context         // derived from parent; nil until somebody needs it
	end     context.CancelCauseFunc // of child
}

var _ context.Context = (*Request)(nil)

// Watcher is told that a request has ended.
type Watcher interface{ RequestEnded() }

// New returns the context of a request that is made for cause, see Begin.
func New(parent context.Context, cause any) *Request {
	r := new(Request)
	r.Begin(parent, cause)
	return r
}

// Begin makes r the context of a request that is made for cause. A server's events get the cause of the request that
// they belong to. The caller MUST End it, at the latest soon after parent ends.
func (r *Request) Begin(parent context.Context, cause any) { r.parent, r.cause = parent, cause }

// End ends the request, if it has not ended. context.Cause then returns why, or context.Canceled if why is nil.
func (r *Request) End(why error) {
	r.mu.Lock()
	if r.over != nil {
		r.mu.Unlock()
		return
	}
	r.over, r.err = why, context.Canceled
	if err := r.parent.Err(); err != nil { // the parent has ended before
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

// Watch makes w hear, on a new goroutine, that the request has ended, unless Unwatch comes first. There is one watcher
// at a time.
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

// Unwatch removes the watcher.
func (r *Request) Unwatch() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watcher = nil
}

// Cause returns what context.Cause returns, at a lower cost.
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

// Value implements context.Context. Contexts that are derived from this one find its child.
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
	if r.over != nil && !errors.Is(context.Cause(parent), r.over) { // the parent may have ended since, for another reason
		parent = context.WithoutCancel(parent)
	}
	r.child, r.end = context.WithCancelCause(parent)
	if r.over != nil {
		r.end(r.over)
	}
	return r.child
}

type causeKey struct{}

// CauseOf returns the cause of the request that ctx belongs to, or nil.
func CauseOf(ctx context.Context) any { return ctx.Value(causeKey{}) }
