package proxy

import (
	"fmt"
	"sync"
)

// quota bounds the sessions that one principal has at once, of either era: what a session holds is paid for by
// everybody, and hosts that never end theirs must not keep others out.
type quota struct {
	limit int // 0 is none

	mu sync.Mutex
	of map[string]int // by principal; those with none are not in it
}

// QuotaError says that a principal has as many sessions as one may have.
type QuotaError struct {
	Principal string
	Limit     int
}

func (e *QuotaError) Error() string {
	return fmt.Sprintf("the client %q has %d sessions open, and no more are let in (maxSessions): "+
		"a session ends with DELETE, or when nobody has used it for idleTimeout", e.Principal, e.Limit)
}

// enter counts a session in; the error is a *QuotaError. Who has entered MUST leave.
func (q *quota) enter(principal string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.limit > 0 && q.of[principal] >= q.limit {
		return &QuotaError{Principal: principal, Limit: q.limit}
	}
	q.of[principal]++
	return nil
}

func (q *quota) leave(principal string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.of[principal]--; q.of[principal] == 0 {
		delete(q.of, principal)
	}
}
