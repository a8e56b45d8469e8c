package gate

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"callgate/gate/tools"
	"callgate/permissions"
)

// markBurst is the code of the mark for one irreversible call too many.
const markBurst = "burst"

// burst counts what a session did that nobody can take back. Its zero value is ready.
type burst struct {
	mu   sync.Mutex
	done []time.Time // one for each thing that was lost, the oldest first
}

// within returns how many there were in the window, and forgets older ones. The caller holds mu.
func (b *burst) within(window time.Duration, now time.Time) int {
	b.done = slices.DeleteFunc(b.done, func(t time.Time) bool { return now.Sub(t) >= window })
	return len(b.done)
}

func (b *burst) count(window time.Duration, now time.Time) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.within(window, now)
}

// take counts n more. Unless a person said so, it refuses what reaches the limit: calls that come at the same time do not
// get past it together.
func (b *burst) take(l *Limits, n int, approved bool, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.within(l.IrreversibleWithin, now)+n >= l.Irreversible && !approved {
		return false
	}
	for range min(n, 2*l.Irreversible) { // more tell nothing
		b.done = append(b.done, now)
	}
	if over := len(b.done) - 4*l.Irreversible; over > 0 {
		b.done = b.done[over:]
	}
	return true
}

// final are the effects of tools that nobody takes back, whatever class the tool was given.
var final = map[string]bool{tools.EffectMoney: true, tools.EffectDeletes: true}

// lostBy is how many things a call loses that nobody can bring back: 0 for most calls, 1 for a command, and for tools as
// many as their longest list has.
func lostBy(call Call, a *tools.Analysis) int {
	if a == nil || !a.Risk.Exceeds(permissions.Unknown) && !final[call.Tool.Labels.Effect] {
		return 0
	}
	if len(a.Commands) > 0 || call.Tool.Kind == tools.KindShell {
		return 1
	}
	var arguments any
	if json.Unmarshal(call.Arguments, &arguments) != nil {
		return 1
	}
	return max(1, longest(arguments))
}

// longest is the length of the longest list in a value.
func longest(value any) (n int) {
	switch value := value.(type) {
	case []any:
		n = len(value)
		for _, v := range value {
			n = max(n, longest(v))
		}
	case map[string]any:
		for _, v := range value {
			n = max(n, longest(v))
		}
	}
	return n
}

// burstMark marks the call with which the session's losses within the window reach the limit.
func (j *Judge) burstMark(call Call, a *tools.Analysis) (tools.Mark, bool) {
	n := lostBy(call, a)
	if n == 0 || j.Burst.Irreversible <= 0 || j.Lost+n < j.Burst.Irreversible {
		return tools.Mark{}, false
	}
	which := ordinal(j.Lost + 1)
	if n > 1 {
		which += " to " + ordinal(j.Lost+n)
	}
	return tools.Mark{Code: markBurst, Text: fmt.Sprintf("%s irreversible call in %s: whoever goes on like this has to be looked at.", which, spell(j.Burst.IrreversibleWithin))}, true
}

func ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}

// spell writes a duration in seconds, as people say it.
func spell(d time.Duration) string {
	if d < 10*time.Minute {
		return fmt.Sprintf("%g s", d.Seconds())
	}
	return fmt.Sprintf("%g min", d.Minutes())
}
