package upstream

import "time"

const (
	minBackoff = 250 * time.Millisecond
	maxBackoff = 30 * time.Second
	steady     = 30 * time.Second // a server that stayed up this long has recovered from earlier failures

	// After this many failures in a row, the circuit is open: callgate leaves the server alone for longer. The next try
	// closes the circuit if the server stays up, or opens it again.
	openAfter   = 6
	minOpen     = time.Minute
	maxOpen     = 5 * time.Minute
	authBackoff = 2 * time.Second // a person has to act, so waiting longer does not help
)

// backoff decides how long to leave a failed server alone.
type backoff struct{ failures int }

// next counts a failure and returns how long to wait before the next try.
func (b *backoff) next() time.Duration {
	b.failures++
	if b.open() {
		return min(minOpen<<min(b.failures-openAfter, 16), maxOpen)
	}
	return min(minBackoff<<min(b.failures-1, 16), maxBackoff)
}

// open reports whether the circuit is open.
func (b *backoff) open() bool { return b.failures >= openAfter }
