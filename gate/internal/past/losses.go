package past

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"callgate/gate/tools"
	"callgate/permissions"
)

// MarkLosses is the code of the mark for too many irreversible calls.
const MarkLosses = "burst"

// Losses counts what a session did that cannot be undone. Its zero value is ready.
type Losses struct {
	Shared Tally // counts at other replicas too; nil counts only here

	mu   sync.Mutex
	done []time.Time // one time for each loss, the oldest first
}

// within forgets the losses before the window and returns how many are left. The caller holds mu.
func (b *Losses) within(window time.Duration, now time.Time) int {
	b.done = slices.DeleteFunc(b.done, func(t time.Time) bool { return now.Sub(t) >= window })
	return len(b.done)
}

// InWindow returns how many losses there were in the window.
func (b *Losses) InWindow(window time.Duration, now time.Time) int {
	if b.Shared != nil {
		return b.Shared.Count()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.within(window, now)
}

// Count counts n more losses. Unless a person approved them, it counts none and returns false if they reach the limit.
// So calls that come at the same time do not get past the limit together.
func (b *Losses) Count(limit int, window time.Duration, n int, approved bool, now time.Time) (bool, error) {
	switch {
	case b.Shared != nil && approved:
		b.Shared.Add(min(n, 2*limit))
		return true, nil
	case b.Shared != nil:
		return b.Shared.Take(n, limit-1)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.within(window, now)+n >= limit && !approved {
		return false, nil
	}
	for range min(n, 2*limit) { // more change nothing
		b.done = append(b.done, now)
	}
	if over := len(b.done) - 4*limit; over > 0 {
		b.done = b.done[over:]
	}
	return true, nil
}

// final are the effects of tools that cannot be undone, whatever class the tool was given.
var final = map[string]bool{tools.EffectMoney: true, tools.EffectDeletes: true}

// LostBy returns how many things a call loses that nobody can bring back: 0 for most calls, else at least 1. In a shell
// text it counts the commands that lose something, and for a tool the longest list in its arguments.
func LostBy(call tools.Call, a *tools.Analysis) int {
	if a == nil || !a.Risk.Exceeds(permissions.Unknown) && !final[call.Tool.Labels.Effect] {
		return 0
	}
	if len(a.Commands) > 0 || call.Tool.Kind == tools.KindShell {
		n := 0
		for i, c := range a.Commands {
			loses := func(c tools.CommandView) bool { return c.Risk.Exceeds(permissions.Unknown) }
			if within := i > 0 && len(c.Via) > len(a.Commands[i-1].Via) && loses(a.Commands[i-1]); loses(c) && !within {
				n++
			}
		}
		return max(1, n)
	}
	var arguments any
	if json.Unmarshal(call.Arguments, &arguments) != nil {
		return 1
	}
	return max(1, longest(arguments))
}

// longest returns the length of the longest list in a value.
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

// LossMark marks the call with which a session's losses within the window reach the limit. lost is how much the session
// has lost so far, and n how much the call loses.
func LossMark(lost, n, limit int, window time.Duration) (tools.Mark, bool) {
	if n == 0 || limit <= 0 || lost+n < limit {
		return tools.Mark{}, false
	}
	which := ordinal(lost + 1)
	if n > 1 {
		which += " to " + ordinal(lost+n)
	}
	return tools.Mark{Code: MarkLosses, Text: fmt.Sprintf("%s irreversible call in %s: a person has to look before more of them run.", which, spell(window))}, true
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

// spell writes a duration for people, in seconds or minutes.
func spell(d time.Duration) string {
	if d < 10*time.Minute {
		return fmt.Sprintf("%g s", d.Seconds())
	}
	return fmt.Sprintf("%g min", d.Minutes())
}
