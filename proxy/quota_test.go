package proxy

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

// However many come at the same time, no principal has more sessions than the limit, and nobody pays for another's.
func TestQuota(t *testing.T) {
	q := quota{limit: 3, of: map[string]int{}}
	var all sync.WaitGroup
	var inside, refused atomic.Int32
	for range 50 {
		all.Go(func() {
			err := q.enter("one")
			var quota *QuotaError
			switch {
			case errors.As(err, &quota) && quota.Principal == "one" && quota.Limit == 3:
				refused.Add(1)
				return
			case err != nil:
				t.Error(err)
				return
			}
			if inside.Add(1) > 3 {
				t.Error("more sessions than the limit")
			}
			if err := q.enter("another"); err == nil {
				q.leave("another")
			}
			inside.Add(-1)
			q.leave("one")
		})
	}
	all.Wait()
	if len(q.of) != 0 {
		t.Errorf("sessions are left: %v", q.of)
	}
	for range 3 {
		if err := q.enter("one"); err != nil {
			t.Error(err)
		}
	}
	if err := q.enter("one"); err == nil {
		t.Error("a fourth session")
	}
	if err := q.enter("another"); err != nil {
		t.Error(err)
	}
	none := quota{of: map[string]int{}}
	for range 5 {
		if err := none.enter("one"); err != nil {
			t.Error(err)
		}
	}
}
