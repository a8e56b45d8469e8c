package endpoint

import (
	"log/slog"
	"sync"
	"time"
)

// refusals logs the requests that the endpoint refuses. Strangers can cause refusals as often as they like. So after
// the first few, each reason is logged only once in a while, with a count, and strangers' text is cut.
type refusals struct {
	log *slog.Logger

	mu sync.Mutex
	by map[string]*refusal // by reason
}

// refusal is the state of one reason.
type refusal struct {
	since   time.Time // of the window
	written int       // lines in it
	left    int       // not logged since the last line
}

const (
	refusalWindow = 10 * time.Second
	refusalLines  = 5   // for one reason in one window
	maxQuoted     = 200 // bytes of a stranger's text
)

// write logs one refusal; said is what the stranger wrote.
func (r *refusals) write(reason, name, said, remote string) {
	left, ok := r.count(reason)
	if !ok {
		return
	}
	args := []any{name, said[:min(len(said), maxQuoted)], "remote", remote}
	if left > 0 {
		args = append(args, "notLogged", left)
	}
	r.log.Warn(reason, args...)
}

// count counts a refusal. ok says whether to log it, and left is how many before it were not logged.
func (r *refusals) count(reason string) (left int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.by[reason]
	if one == nil {
		one = &refusal{}
		r.by[reason] = one
	}
	if now := time.Now(); now.Sub(one.since) >= refusalWindow {
		one.since, one.written = now, 0
	}
	if one.written++; one.written > refusalLines {
		one.left++
		return 0, false
	}
	left, one.left = one.left, 0
	return left, true
}
