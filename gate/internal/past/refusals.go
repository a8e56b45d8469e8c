package past

import (
	"fmt"
	"sync"
	"time"
)

// What happens if a model repeats a call that people refused. Asking again and again wears people down until they click
// yes. So callgate first tells the model to stop, and then does not ask about the call for a while.
const (
	refusedOften  = 2                // refusals of the very same call after which the model is told to stop
	refusedEnough = 3                // refusals after which nobody is asked about the call
	CoolDown      = 10 * time.Minute // since the last refusal
	maxRefused    = 256              // calls that a session remembers
)

// Refusals counts what people refused in a session. Its zero value is ready.
type Refusals struct {
	mu sync.Mutex
	of map[refusedCall]refused
}

// refusedCall identifies a call: the digest covers its arguments and agent.
type refusedCall struct{ tool, digest string }

type refused struct {
	times int
	last  time.Time
}

// Note counts a person's refusal of the call. It returns what to tell the model besides the person's words, or "".
func (r *Refusals) Note(tool, digest string, now time.Time) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil || len(r.of) >= maxRefused {
		r.of = map[refusedCall]refused{} // a person who refused so much will see it again
	}
	key := refusedCall{tool, digest}
	before := r.of[key]
	if now.Sub(before.last) >= CoolDown {
		before.times = 0
	}
	r.of[key] = refused{before.times + 1, now}
	if before.times+1 < refusedOften {
		return ""
	}
	return fmt.Sprintf(" (callgate adds: this very call was refused %d times. Do not repeat it: tell the user what you want to achieve, and ask how to go on.)", before.times+1)
}

// Forget starts the count anew, because somebody wanted the call after all.
func (r *Refusals) Forget(tool, digest string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.of, refusedCall{tool, digest})
}

// CoolingDown returns why nobody is asked about the call now, or "" if people can be asked.
func (r *Refusals) CoolingDown(tool, digest string, now time.Time) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.of[refusedCall{tool, digest}]
	if wait := CoolDown - now.Sub(before.last); before.times >= refusedEnough && wait > 0 {
		return fmt.Sprintf("People refused this very call %d times, so nobody is asked about it for another %s. Stop repeating it: tell the user what you want to achieve, and ask how to go on.",
			before.times, wait.Round(time.Second))
	}
	return ""
}
