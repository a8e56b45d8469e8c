// Package periodic provides loops and pauses that end with a context.
package periodic

import (
	"context"
	"iter"
	"time"
)

// Every yields after each period until ctx ends.
func Every(ctx context.Context, period time.Duration) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		ticker := time.NewTicker(period)
		defer ticker.Stop()
		for {
			select {
			case now := <-ticker.C:
				if !yield(now) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// Sleep waits for that long. It returns false if ctx ends first.
func Sleep(ctx context.Context, long time.Duration) bool {
	select {
	case <-time.After(long):
		return true
	case <-ctx.Done():
		return false
	}
}
