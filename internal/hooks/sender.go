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

// pace holds intervals and limits. Tests shorten them.
type pace struct {
	look     time.Duration // interval of checks for events of other processes, and for the lock
	backoff  time.Duration // pause after the first failure; doubles up to maxBackoff
	deciding time.Duration // bound on how long all hooks together delay one call
}

// maxBackoff bounds the time between two attempts.
const maxBackoff = 5 * time.Minute

var defaultPace = pace{look: time.Second, backoff: time.Second, deciding: maxDeciding}

// store puts an event into the queue. If store returns nil, the event is there.
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
	default: // the sender has not looked since the last one
	}
	return nil
}

// send posts waiting events while this process is the one that posts, until ctx ends. Once nothing more will be stored,
// it ends when the queue is empty or at the first failure: the next callgate goes on.
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

// drain is send's part for the process that holds the lock.
func (w *webhook) drain(ctx context.Context, r *Runner, h *hook) {
	taken := map[string]bool{} // what the receiver has, but could not be removed
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

// pause waits for d, or until wake is ready, nothing more will be stored, or ctx ends.
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

// deliver makes one attempt at an event. It reports whether the event is finished: taken, or never to be.
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
	if a.status == http.StatusGone { // switch it off before anybody is told so
		stays = r.state.set(h.name, false)
	}
	r.failed(h, event, a.err())
	if stays != nil {
		r.failed(h, event, fmt.Errorf("the hook could not be switched off: %w", stays))
	}
	return a, a.final
}

// backoff returns how long to wait after that many failures in a row. It is partly random, so that many machines do not
// come back at the same time.
func backoff(first time.Duration, failures int) time.Duration {
	wait := min(first<<min(failures-1, 20), maxBackoff)
	return wait*3/4 + rand.N(wait/2+1)
}
