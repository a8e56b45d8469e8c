package upstream

import "time"

const (
	minBackoff = 250 * time.Millisecond
	maxBackoff = 30 * time.Second
	steady     = 30 * time.Second // a server that was up this long has recovered from earlier failures
)

// backoff is how long a server that failed is left alone.
type backoff struct{ failures int }

// next counts a failure after the server was up for a while and returns how long to wait.
func (b *backoff) next(up time.Duration) time.Duration {
	if up >= steady {
		b.failures = 0
	}
	delay := min(minBackoff<<min(b.failures, 16), maxBackoff)
	b.failures++
	return delay
}
