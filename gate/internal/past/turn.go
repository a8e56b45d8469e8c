package past

import (
	"fmt"
	"sync"
	"time"
)

// Turn counts a session's calls.
type Turn struct {
	Shared Tally // counts at other replicas too; nil counts only here

	mu    sync.Mutex
	calls int
	last  time.Time
}

// Take counts one more call. It returns why the call is one too many, or "". A refused call counts too, so that a loop
// gets nowhere by repeating itself.
func (t *Turn) Take(limit int, idle time.Duration, now time.Time) string {
	if limit <= 0 {
		return ""
	}
	if t.Shared != nil {
		switch may, err := t.Shared.Take(1, limit); {
		case err != nil:
			return Uncounted(err)
		case !may:
			return spent(limit, idle)
		}
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Sub(t.last) >= idle {
		t.calls = 0
	}
	t.last = now
	if t.calls++; t.calls > limit {
		return spent(limit, idle)
	}
	return ""
}

func spent(limit int, idle time.Duration) string {
	return fmt.Sprintf("This turn's budget of %d calls is used up. It frees after %s without a call: stop, and tell the user what is done and what is left.", limit, idle)
}

// Uncounted formats the refusal of a call if nobody knows how much of a limit is left.
func Uncounted(err error) string {
	return fmt.Sprintf("How much of the limit the other replicas have left cannot be found out (%v), so the call does not run. Try again in a moment.", err)
}

// Begin starts the count anew.
func (t *Turn) Begin() {
	if t.Shared != nil {
		t.Shared.Begin()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls = 0
}
