package gate

import (
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/gate/tools"
	"callgate/permissions"
)

// What a session remembers of the calls that it was let run, for conditions of rules.
const (
	maxPastCalls   = 512 // subjects
	pastCallsSlack = 64  // how many more there may be before the oldest are forgotten, all at once
	maxPastValue   = 4 << 10
)

// pastCalls are the last subjects that the session was let run, the oldest first.
type pastCalls struct {
	mu    sync.Mutex
	calls []pastCall
	whole time.Time // nothing that ended after it was forgotten; zero when nothing was
}

type pastCall struct {
	id string
	permissions.PastCall
}

// begin notes that a call was let run.
func (p *pastCalls) begin(call Call, a *tools.Analysis, now time.Time) {
	if a == nil {
		return
	}
	commands := 0
	for i := range a.Subjects {
		if s := &a.Subjects[i]; !s.DeniesOnly && s.Kind == tools.KindShell {
			commands++
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range a.Subjects {
		s := &a.Subjects[i]
		if s.DeniesOnly {
			continue
		}
		c := permissions.PastCall{At: now, Tool: s.Tool, Kind: s.Kind, Bound: s.KindBound, Alone: s.Kind != tools.KindShell || commands == 1}
		for _, value := range s.Decides {
			if len(value) > maxPastValue {
				c.Values, c.Long = nil, true
				break
			}
			c.Values = append(c.Values, strings.Clone(value)) // not the whole of the arguments
		}
		p.calls = append(p.calls, pastCall{call.ID, c})
	}
	if n := len(p.calls) - maxPastCalls; n > pastCallsSlack {
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

// end notes how a call ended.
func (p *pastCalls) end(id string, done bool, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := false // the subjects of a call stand together, and those of one that ends mostly at the end
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

// each is permissions.Circumstances.Past.
func (p *pastCalls) each(yield func(*permissions.PastCall) bool) (whole time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.calls) - 1; i >= 0; i-- {
		if !yield(&p.calls[i].PastCall) {
			break
		}
	}
	return p.whole
}

// circumstances are what conditions of the rules look at for a call of the session under an agent.
func (g *Gate) circumstances(s *Session, agent string) *permissions.Circumstances {
	c := &permissions.Circumstances{Host: s.Client().Name, Agent: agent, Known: true, Past: s.past.each}
	if at := g.answeredAt.Load(); at != 0 {
		c.Answered = time.Unix(0, at)
	}
	return c
}

// someoneIsThere notes that a person did something at the gate.
func (g *Gate) someoneIsThere(by string) {
	if by != "" && !strings.HasPrefix(by, "host") {
		g.answeredAt.Store(time.Now().UnixNano())
	}
}
