package upstream

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"time"

	"callgate/internal/periodic"
)

// usage records whether an incarnation is in use, and since when it is not.
type usage struct {
	requests atomic.Int64 // running requests; far below 0 once the incarnation is retired
	last     atomic.Int64 // when a request last began or ended, in Unix nanoseconds
}

const retired = math.MinInt64 / 2

// errIdle ends an incarnation that nobody has used for long.
var errIdle = errors.New("it was stopped because nobody used it")

// breath is how long an incarnation must be unused before it can be stopped early.
const breath = 5 * time.Millisecond

// begin counts a request. It returns false if the incarnation takes no more.
func (u *usage) begin() bool {
	u.last.Store(time.Now().UnixNano())
	return u.requests.Add(1) > 0
}

func (u *usage) end() {
	u.last.Store(time.Now().UnixNano())
	u.requests.Add(-1)
}

// idle waits until nobody has used the incarnation for limit and it is not wanted, and retires it. It returns false if
// ctx ends first. If wanted is nil, the incarnation is not wanted.
func (u *usage) idle(ctx context.Context, limit time.Duration, wanted func() bool) bool {
	u.last.CompareAndSwap(0, time.Now().UnixNano())
	for {
		left := limit - time.Since(time.Unix(0, u.last.Load()))
		if left <= 0 {
			if (wanted == nil || !wanted()) && u.requests.CompareAndSwap(0, retired) {
				return true
			}
			left = limit
		}
		if !periodic.Sleep(ctx, left) {
			return false
		}
	}
}
