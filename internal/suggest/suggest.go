// Package suggest suggests changes of the rules from the audit trail: the fewest grants that would have saved people
// questions, and rules and grants that nobody needs.
//
// It judges recorded calls with the code of the live gate. It changes nothing by itself.
package suggest

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callgate/audit"
	"callgate/gate"
	"callgate/internal/rulebook"
	"callgate/permissions"
)

// MaxPatterns limits the grants proposed for one project.
const MaxPatterns = 12

// Options select which approvals count. The zero value of a field selects all. Every rejection counts against
// proposals, selected or not.
type Options struct {
	Since   time.Time
	Tool    string // a glob over the qualified name
	Project string // the host's folder, or one above it
	Host    string // the host's own name
	Newest  int    // only this many of the newest decisions

	Remembered *Memory // nil reads the whole trail
}

// Report has the proposals and the figures behind them.
type Report struct {
	Decisions int `json:"decisions"` // recorded decisions that were examined
	Days      int `json:"days"`      // days with a decision
	Questions int `json:"questions"` // questions that people approved or rejected
	Rejected  int `json:"rejected"`
	Saved     int `json:"saved"` // questions that all proposals together would have answered
	// Gap is how many more questions, after costs, the best set could save. 0 means that this is the best set.
	Gap       float64        `json:"gap"`
	Proposals []*Proposal    `json:"proposals"`
	Left      map[string]int `json:"left"` // approved questions without a proposal, by reason
}

// Proposal is one grant.
type Proposal struct {
	Tool      string         `json:"tool"`
	Pattern   string         `json:"pattern"`
	Ceiling   string         `json:"ceiling"` // at most the highest risk that people approved
	Server    string         `json:"server,omitzero"`
	Workspace string         `json:"workspace,omitzero"`
	Saves     int            `json:"saves"` // approved questions that it helps to answer
	ByDay     map[string]int `json:"byDay"`
	Calls     int            `json:"calls"` // different calls among them
	Examples  []string       `json:"examples"`
	Opens     Surface        `json:"opens"`
	Against   Evidence       `json:"against"`

	grant permissions.Grant
}

// Evidence counts the calls that a proposal was tested against. None of them would run.
type Evidence struct {
	Rejected int `json:"rejected"` // rejected calls in its scope
	Bypasses int `json:"bypasses"` // bypass cases that ask
}

// Grants returns the proposed grants, made by this person at this time.
func (r *Report) Grants(by string, at time.Time) []permissions.Grant {
	grants := make([]permissions.Grant, len(r.Proposals))
	for i, p := range r.Proposals {
		grants[i] = p.grant
		grants[i].By, grants[i].At = by, at.UTC().Truncate(time.Second)
	}
	return grants
}

// Suggest looks for proposals in the trail of the checker's worker. It can return a report and an error, which names
// unreadable records.
func Suggest(ch *rulebook.Checker, o Options) (*Report, error) {
	if _, err := path.Match(o.Tool, ""); err != nil {
		return nil, fmt.Errorf("tool filter %q: %w", o.Tool, err)
	}
	ch = unadvised(ch)
	policy, err := ch.Policy()
	if err != nil {
		return nil, err
	}
	t, err := newTrail(ch, policy)
	if err != nil {
		return nil, err
	}
	damaged := t.load(o)
	corpus, err := newCorpus(ch, policy)
	if err != nil {
		return nil, err
	}
	r := &t.report
	for _, name := range slices.Sorted(maps.Keys(t.projects)) {
		if err := t.propose(t.projects[name], corpus); err != nil {
			return nil, err
		}
	}
	r.Gap /= units
	return r, damaged
}

// unadvised returns the checker without other policy engines. They never allow anything, and a remote engine would be
// asked thousands of times.
func unadvised(ch *rulebook.Checker) *rulebook.Checker {
	own := *ch
	own.Judge.Advisors = nil
	return &own
}

// selects reports whether a decision counts. newer is the number of newer decisions that count.
func (o *Options) selects(r *audit.Record, newer int) bool {
	if r.Trial() || o.Host != "" && o.Host != r.Host || r.Time.Before(o.Since) || o.Newest > 0 && newer >= o.Newest {
		return false
	}
	if matched, err := path.Match(o.Tool, r.Tool); o.Tool != "" && (!matched || err != nil) {
		return false
	}
	if o.Project == "" {
		return true
	}
	rel, err := filepath.Rel(o.Project, r.Project)
	return r.Project != "" && err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// day formats a day.
func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// sum adds up the counts of all days.
func sum(byDay map[string]int) (n int) {
	for _, c := range byDay {
		n += c
	}
	return n
}

// decidedByPeople reports whether a person answered the question.
func decidedByPeople(r *audit.Record) bool {
	return r.Event == audit.Decision && gate.ByPerson(r.Decision, r.By)
}

// propose adds the best grants for one project to the report.
func (t *trail) propose(p *project, corpus *corpus) error {
	list, err := t.candidates(p, corpus)
	if err != nil {
		return err
	}
	for {
		chosen, gap := t.choose(p, list)
		grants := make([]permissions.Grant, len(chosen))
		for i, c := range chosen {
			grants[i] = c.grant
		}
		with, err := t.policy.With(nil, grants)
		if err != nil {
			return fmt.Errorf("a proposal is not a valid grant: %w", err)
		}
		// The gate's own code finds what the model of the choice overlooks. Such candidates are not proposed.
		guilty, err := t.wrong(corpus, with, chosen)
		if err != nil {
			return err
		}
		if len(guilty) > 0 {
			list = slices.DeleteFunc(list, func(c *candidate) bool { return slices.Contains(guilty, c) })
			continue
		}
		t.report.Gap += float64(gap)
		return t.accept(p, corpus, with, chosen)
	}
}
