package tenants

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// QuotaError says that a tenant already uses as much as it may.
type QuotaError struct {
	Text  string
	After time.Duration // how long to wait before trying again
}

func (e *QuotaError) Error() string { return e.Text }

// Quota counts what one tenant uses.
type Quota struct {
	mu       sync.Mutex
	limits   Limits
	running  int
	sessions int
	pace     *rate.Limiter // nil without a bound
}

// NewQuota returns the quota of a tenant that uses nothing yet.
func NewQuota(l Limits) *Quota {
	q := &Quota{}
	q.Set(l)
	return q
}

// Set replaces the limits. A tenant keeps what it has beyond them until that ends.
func (q *Quota) Set(l Limits) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l.CallsPerMinute != q.limits.CallsPerMinute {
		q.pace = nil
		if n := l.CallsPerMinute; n > 0 {
			q.pace = rate.NewLimiter(rate.Limit(float64(n)/60), n)
		}
	}
	q.limits = l
}

// Call counts a call until end is called, which may happen more than once. The error is a *QuotaError.
func (q *Quota) Call() (end func(), err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := q.limits.InFlight; q.running >= n {
		return nil, &QuotaError{fmt.Sprintf("this tenant has %d calls in flight, which is as many as it may have: wait until one has ended", n), time.Second}
	}
	if q.pace != nil {
		now := time.Now()
		if taken := q.pace.ReserveN(now, 1); taken.DelayFrom(now) > 0 {
			after := taken.DelayFrom(now)
			taken.CancelAt(now)
			return nil, &QuotaError{fmt.Sprintf("this tenant has made the %d calls a minute that it may make", q.limits.CallsPerMinute), after}
		}
	}
	q.running++
	return sync.OnceFunc(func() { q.give(&q.running) }), nil
}

// Session counts a session until end is called, which may happen more than once. The error is a *QuotaError.
func (q *Quota) Session() (end func(), err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := q.limits.Sessions; q.sessions >= n {
		return nil, &QuotaError{fmt.Sprintf("this tenant has %d sessions open, which is as many as it may have: end one", n), 10 * time.Second}
	}
	q.sessions++
	return sync.OnceFunc(func() { q.give(&q.sessions) }), nil
}

// Sessions returns how many sessions are open.
func (q *Quota) Sessions() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.sessions
}

func (q *Quota) weight() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.limits.Weight
}

func (q *Quota) give(count *int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	*count--
}
