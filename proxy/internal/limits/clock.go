// Package limits bounds how long calls take and how much they return. It knows how long hosts wait for calls.
package limits

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrTooLong is the cause of a call's context when the call ran longer than the gate allows.
var ErrTooLong = errors.New("the call's time is over")

// Timed returns err, or an error worded for the model if the call's limit ended it.
func Timed(ctx context.Context, err error, limit time.Duration) error {
	if err != nil && errors.Is(context.Cause(ctx), ErrTooLong) {
		return fmt.Errorf("it ran longer than its limit of %s; the server was told to stop", limit)
	}
	return err
}

// Clock measures time, and stands still while the server waits for the host.
type Clock struct {
	mu      sync.Mutex
	waiting int           // questions that the host has not answered
	since   time.Time     // when waiting became more than 0
	stood   time.Duration // how long it stood still before since
}

// Pause stops the clock until resume is called.
func (c *Clock) Pause() (resume func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting++; c.waiting == 1 {
		c.since = time.Now()
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.waiting--; c.waiting == 0 {
			c.stood += time.Since(c.since)
		}
	}
}

// standing returns how long the clock has stood still in all.
func (c *Clock) standing() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting > 0 {
		return c.stood + time.Since(c.since)
	}
	return c.stood
}

// Bound returns a context that ends with cause once the clock has moved on by limit; 0 means no limit. The caller MUST
// call the function.
func (c *Clock) Bound(ctx context.Context, limit time.Duration, cause error) (context.Context, func()) {
	if limit <= 0 {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	began, before := time.Now(), c.standing()
	go func() {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			}
			left := limit - (time.Since(began) - (c.standing() - before))
			if left <= 0 {
				cancel(cause)
				return
			}
			timer.Reset(max(left, 10*time.Millisecond))
		}
	}()
	return ctx, func() { cancel(nil) }
}
