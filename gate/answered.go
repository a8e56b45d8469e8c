package gate

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/gate/tools"
	"callgate/permissions"
)

// Answered is one subject that asked, in a call that a person approved or rejected.
type Answered struct {
	CallID   string
	At       time.Time
	Project  string
	Server   string
	Tool     string
	Kind     string
	Value    string
	Risk     permissions.Risk
	Rejected bool
	Several  bool // other subjects of the call asked too
}

// answeredBook holds earlier answers. From it the gate counts how many questions an offer would have saved.
type answeredBook struct {
	once sync.Once
	mu   sync.Mutex
	list []Answered // oldest first
}

const (
	maxAnswered  = 4096
	answeredBack = 30 * 24 * time.Hour
)

// ByPerson reports whether a person looked at the call before this decision. An "always" for another call does not
// count, because nobody looked at this one.
func ByPerson(decision, by string) bool {
	return (decision == DecidedApproved || decision == DecidedRejected) && by != "risk" && !strings.HasPrefix(by, cascaded)
}

// note keeps a person's answer about an unmarked call.
func (g questions) note(s *Session, call Call, v *Verdict) {
	if len(v.Marks) > 0 || !ByPerson(v.Decision, v.By) {
		return
	}
	var found []Answered
	for i := range v.Findings {
		f := &v.Findings[i]
		if f.Action == permissions.Ask && f.Grant == nil && !f.Subject.DeniesOnly {
			found = append(found, Answered{
				CallID: call.ID, At: time.Now(), Project: s.Origin().Folder, Server: call.Tool.Server, Tool: f.Subject.Tool, Kind: f.Subject.Kind,
				Value: f.Subject.Value, Risk: f.Subject.Risk, Rejected: v.Decision == DecidedRejected,
			})
		}
	}
	for i := range found {
		found[i].Several = len(found) > 1
	}
	g.gate.answers.load(context.Background(), g.gate)
	g.gate.answers.mu.Lock()
	defer g.gate.answers.mu.Unlock()
	g.gate.answers.list = append(g.gate.answers.list, found...)
	if n := len(g.gate.answers.list) - maxAnswered; n > 0 {
		g.gate.answers.list = slices.Delete(g.gate.answers.list, 0, n)
	}
}

func (b *answeredBook) load(ctx context.Context, g *Gate) {
	b.once.Do(func() {
		if g.journal.o.Answered == nil {
			return
		}
		list := g.journal.o.Answered(ctx, time.Now().Add(-answeredBack))
		b.mu.Lock()
		defer b.mu.Unlock()
		b.list = slices.Concat(list[max(0, len(list)-maxAnswered):], b.list)
	})
}

// approvedBefore counts, for every offer, the approved calls of the project that it would have answered. The count
// stays 0 for an offer that would have answered a rejected call, whose risk is UNKNOWN or worse, or that is for a
// folder or a script.
func (g questions) approvedBefore(s *Session, call Call, a *tools.Analysis, offers []tools.Offer) {
	if len(offers) == 0 {
		return
	}
	g.gate.answers.load(context.Background(), g.gate)
	project := s.Origin().Folder
	g.gate.answers.mu.Lock()
	defer g.gate.answers.mu.Unlock()
	for i := range offers {
		o := &offers[i]
		if o.Folder != "" || !permissions.Unknown.Exceeds(o.Risk) || len(a.Subjects[o.Subject].Runs) > 0 {
			continue
		}
		glob, err := permissions.CompileGlob(o.Pattern)
		if err != nil {
			continue
		}
		calls := 0
		for k := range g.gate.answers.list {
			b := &g.gate.answers.list[k]
			if b.Server != call.Tool.Server || o.Tool != b.Tool && o.Tool != b.Kind || b.Value == "" && o.Pattern != "*" || b.Value != "" && !glob.Match(b.Value) {
				continue
			}
			if b.Rejected {
				calls = 0
				break
			}
			if b.Project == project && !b.Several && !b.Risk.Exceeds(o.Risk) {
				calls++
			}
		}
		o.Approved = calls
	}
}
