package proxy

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"callgate/internal/rpc"
)

// Bounds are those of every request to one server; 0 is none. The time in which the server waits for a person or the host's model
// does not count.
type Bounds struct {
	Timeout   time.Duration
	MaxResult int // bytes of a result
}

// bounded sends a request to the server and ends it when the time for it is over.
func (s *server) bounded(ctx context.Context, compose func(id []byte) []byte) (rpc.Message, error) {
	ctx, stop := s.clock.bound(ctx, s.bounds.Timeout, errTooSlow)
	defer stop()
	answer, err := s.send(ctx, compose)
	if err != nil && errors.Is(context.Cause(ctx), errTooSlow) {
		return rpc.Message{}, fmt.Errorf("server %q did not answer within %s (its timeout); it was told to stop", s.alias, s.bounds.Timeout)
	}
	return answer, err
}

var errTooSlow = errors.New("the server's timeout has passed")

// errTooLong is the cause of contexts of calls that ran longer than the limits of the gate let them.
var errTooLong = errors.New("the call's time has passed")

// timed returns err, in the words for the model when the limit of the call ended it.
func timed(ctx context.Context, err error, limit time.Duration) error {
	if err != nil && errors.Is(context.Cause(ctx), errTooLong) {
		return fmt.Errorf("it ran longer than the %s it may; the server was told to stop", limit)
	}
	return err
}

// clock stands still while the server waits for the host.
type clock struct {
	mu      sync.Mutex
	waiting int           // questions that the host has not answered
	since   time.Time     // when waiting became more than 0
	stood   time.Duration // how long it has stood still before
}

// pause stops the clock until resume is called.
func (c *clock) pause() (resume func()) {
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

// standing is how long the clock has stood still in all.
func (c *clock) standing() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting > 0 {
		return c.stood + time.Since(c.since)
	}
	return c.stood
}

// bound ends ctx with cause once the clock has moved on by limit; 0 is no limit.
func (c *clock) bound(ctx context.Context, limit time.Duration, cause error) (context.Context, func()) {
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
