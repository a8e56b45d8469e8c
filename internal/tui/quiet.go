package tui

import "time"

// quietTime is how long the keyboard has to rest after a question appeared before keys count: who is typing
// into something else when it pops up must not answer it.
const quietTime = 400 * time.Millisecond

// quiet swallows keys from the moment that a question appears until typing has rested.
type quiet struct {
	muted  bool
	last   time.Time // when the question appeared, or the last swallowed key came
	waking bool      // the screen is to be drawn when the silence may be over
}

// arm begins a new silence: a question appeared that nobody called for.
func (q *quiet) arm(now time.Time) { q.muted, q.last = true, now }

// swallows reports whether a key that comes now does not count.
func (q *quiet) swallows(now time.Time) bool {
	if q.muted && now.Sub(q.last) < quietTime {
		q.last = now
		return true
	}
	q.muted = false
	return false
}

// silent reports whether a key pressed now would be swallowed.
func (q *quiet) silent(now time.Time) bool { return q.muted && now.Sub(q.last) < quietTime }
