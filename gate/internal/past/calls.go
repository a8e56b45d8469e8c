// Package past keeps what a session remembers of its calls: what ran, what was irreversible, what people refused, which
// build files changed, and how many calls came in a turn.
package past

import (
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/gate/tools"
	"callgate/permissions"
)

// Limits of what a session remembers of its past calls, for rule conditions.
const (
	MaxCalls = 512 // subjects, without the slack
	Slack    = 64  // how many more are kept until the oldest are forgotten, all at once
	MaxValue = 4 << 10
)

// Calls holds the last subjects that the session was allowed to run, the oldest first.
type Calls struct {
	mu    sync.Mutex
	calls []pastCall
	whole time.Time // nothing that ended after it was forgotten; zero if nothing was forgotten
}

type pastCall struct {
	id string
	permissions.PastCall
}

// Begin notes that a call was allowed to run.
func (p *Calls) Begin(id string, a *tools.Analysis, now time.Time) {
	if a == nil {
		return
	}
	shell := slices.ContainsFunc(a.Subjects, func(s permissions.Subject) bool { return s.Kind == tools.KindShell })
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range a.Subjects {
		s := &a.Subjects[i]
		if s.DeniesOnly {
			continue
		}
		c := permissions.PastCall{At: now, Tool: s.Tool, Kind: s.Kind, Bound: s.KindBound, Sure: s.Concludes || !shell}
		for _, value := range s.Decides {
			if len(value) > MaxValue {
				c.Values, c.Long = nil, true
				break
			}
			c.Values = append(c.Values, strings.Clone(value)) // so that not all of the arguments are kept
		}
		p.calls = append(p.calls, pastCall{id, c})
	}
	if n := len(p.calls) - MaxCalls; n > Slack {
		for _, c := range p.calls[:n] {
			if c.Ended.IsZero() {
				c.Ended = now
			}
			if c.Ended.After(p.whole) {
				p.whole = c.Ended
			}
		}
		p.calls = slices.Delete(p.calls, 0, n)
	}
}

// End notes that a call ended; done says that it succeeded.
func (p *Calls) End(id string, done bool, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := false // the subjects of a call stand together, and a call that ends is mostly near the end of the list
	for i := len(p.calls) - 1; i >= 0; i-- {
		c := &p.calls[i]
		if c.id != id || !c.Ended.IsZero() {
			if found {
				return
			}
			continue
		}
		c.Ended, c.Done, found = now, done, true
	}
}

// Each implements permissions.Circumstances.Past, the newest first. yield MUST NOT call p.
func (p *Calls) Each(yield func(*permissions.PastCall) bool) (whole time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.calls) - 1; i >= 0; i-- {
		if !yield(&p.calls[i].PastCall) {
			break
		}
	}
	return p.whole
}
