package hooks

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"callgate/internal/durable"
)

// pace has the intervals and limits of tries. Tests shorten them.
type pace struct {
	look     time.Duration // for events of other processes, and for the lock
	backoff  time.Duration // after the first failure; doubles up to maxBackoff
	deciding time.Duration // bounds how long all hooks together hold up one call
}

// maxBackoff bounds the time between two attempts.
const maxBackoff = 5 * time.Minute

var defaultPace = pace{look: time.Second, backoff: time.Second, deciding: maxDeciding}

// store puts an event into the queue. It is there when store returns nil.
func (w *webhook) store(h *hook, e *Event) error {
	body, err := e.message(h)
	if err != nil {
		return err
	}
	if err := w.queue.put(body); err != nil {
		return err
	}
	select {
	case w.stored <- struct{}{}:
	default: // the sender has not looked since
	}
	return nil
}

// send posts what waits, as long as this process is the one that does, until ctx ends. Once nothing more will be
// stored it ends with the queue, or at the first failure: the next callgate goes on.
func (w *webhook) send(ctx context.Context, r *Runner, h *hook) {
	for {
		last := w.done()
		unlock, err := w.queue.lock()
		if err == nil {
			w.drain(ctx, r, h)
			if err := unlock(); err != nil {
				r.failed(h, &Event{}, fmt.Errorf("the queue cannot be unlocked: %w", err))
			}
			return
		}
		if !errors.Is(err, durable.ErrHeld) {
			r.failed(h, &Event{}, fmt.Errorf("the queue cannot be locked: %w", err))
		}
		if last || ctx.Err() != nil {
			return
		}
		w.pause(ctx, r.pace.look, nil)
	}
}

// drain is send for the process that has the lock.
func (w *webhook) drain(ctx context.Context, r *Runner, h *hook) {
	taken := map[string]bool{} // what the receiver has, although it could not be removed
	for failures := 0; ; {
		last := w.done()
		waiting, err := w.queue.list()
		if err != nil {
			r.failed(h, &Event{}, fmt.Errorf("the queue cannot be read: %w", err))
		}
		wait, wake := r.pace.look, w.stored
		for _, e := range waiting {
			if taken[e.file] || !r.enabled(h) {
				continue
			}
			a, done := w.deliver(ctx, r, h, e)
			if !done {
				failures++
				wait, wake = max(a.wait, backoff(r.pace.backoff, failures)), nil
				break
			}
			failures = 0
			if err := w.queue.remove(e); err != nil {
				taken[e.file] = true
				r.failed(h, &Event{}, fmt.Errorf("an event that needs no more work stays in the queue: %w", err))
			}
		}
		if last || ctx.Err() != nil {
			return
		}
		w.pause(ctx, wait, wake)
	}
}

// done reports whether nothing more will be stored.
func (w *webhook) done() bool {
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}

// pause waits until the time is over, wake says so, nothing more will be stored, or ctx ends.
func (w *webhook) pause(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	case <-w.ended:
	case <-ctx.Done():
	}
}

// deliver makes one attempt at an event and reports whether it is done with: taken, or never to be.
func (w *webhook) deliver(ctx context.Context, r *Runner, h *hook, e entry) (answer, bool) {
	event := &Event{Name: "delivery of " + e.id}
	body, err := w.queue.read(e)
	if err != nil || len(body) == 0 {
		r.failed(h, event, errors.Join(errors.New("the queued event cannot be read and is lost"), err))
		return answer{}, true
	}
	if time.Since(e.at) > maxAge {
		r.failed(h, event, fmt.Errorf("the event is older than %s and is given up", maxAge))
		return answer{}, true
	}
	attempt, cancel := context.WithTimeoutCause(ctx, h.timeout, fmt.Errorf("no answer within %s", h.timeout))
	defer cancel()
	h.stats.ran()
	a := w.post(attempt, e.id, body)
	if a.taken() {
		return a, true
	}
	if ctx.Err() != nil { // callgate ends
		return a, false
	}
	var stays error
	if a.status == http.StatusGone { // it is off before anybody is told so
		stays = r.state.set(h.name, false)
	}
	r.failed(h, event, a.err())
	if stays != nil {
		r.failed(h, event, fmt.Errorf("the hook could not be switched off: %w", stays))
	}
	return a, a.final
}

// backoff is how long to wait after that many failures in a row, with some chance in it, so that processes on
// many machines do not come back at once.
func backoff(first time.Duration, failures int) time.Duration {
	wait := min(first<<min(failures-1, 20), maxBackoff)
	return wait*3/4 + rand.N(wait/2+1)
}
