package past

import (
	"fmt"
	"sync"
	"time"
)

// Turn counts a session's calls.
type Turn struct {
	mu    sync.Mutex
	calls int
	last  time.Time
}

// Take counts one more call and says why it is one too many; "" when it is not. What is refused counts as a
// call that came: a loop that is refused does not get on by repeating itself.
func (t *Turn) Take(limit int, idle time.Duration, now time.Time) string {
	if limit <= 0 {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Sub(t.last) >= idle {
		t.calls = 0
	}
	t.last = now
	if t.calls++; t.calls > limit {
		return fmt.Sprintf("This turn's budget of %d calls is used up. It frees after %s without a call: stop, and tell the user what is done and what is left.", limit, idle)
	}
	return ""
}

// Begin starts the count anew.
func (t *Turn) Begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls = 0
}
