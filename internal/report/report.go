// Package report explains from the audit trail what people were asked, and why so often.
//
// It only reads the trail. Secrets were redacted when the records were written.
package report

import (
	"cmp"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callgate/audit"
	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/suggest"
)

// Options select records. Empty fields select all.
type Options struct {
	Since   time.Time
	Worker  string
	Project string // the folder, or a folder above it
	Host    string
}

// Report is what happened in a period.
type Report struct {
	Since     time.Time `json:"since,omitzero"`
	Until     time.Time `json:"until"`
	Sessions  int       `json:"sessions"`
	Calls     int       `json:"calls"`
	Unasked   int       `json:"unasked"` // ran without a question
	Denied    int       `json:"denied"`  // without a question
	Marked    int       `json:"marked"`  // questions about marked calls
	Questions int       `json:"questions"`
	Approved  int       `json:"approved"`
	Rejected  int       `json:"rejected"`
	Missed    int       `json:"missed"`    // nobody answered in time
	Withdrawn int       `json:"withdrawn"` // the call was cancelled, or could no longer run
	Failed    int       `json:"failed"`    // of the calls that ran
	Answer    float64   `json:"answer"`    // median seconds from a question to a person's answer
	Slowest   float64   `json:"slowest"`   // 90th percentile of Answer
	Days      []Day     `json:"days"`      // in order, without gaps
	Chart     []Bar     `json:"chart"`     // of Days
	ByProject []Share   `json:"byProject"` // the largest first
	ByHost    []Share   `json:"byHost"`
	ByRule    []Share   `json:"byRule"`
	ByFamily  []Share   `json:"byFamily"`
	Constant  []Share   `json:"constant"` // families with the same answer every time
	Denials   []Share   `json:"denials"`  // by what denied the call

	// Suggested are grants that would end most questions; nil if the caller did not ask for them.
	Suggested *suggest.Report `json:"suggested,omitzero"`
}

// Day counts what happened on one day.
type Day struct {
	Day       string `json:"day"`
	Calls     int    `json:"calls"`
	Questions int    `json:"questions"`
	Denied    int    `json:"denied"`
	Marked    int    `json:"marked"`
}

// Share counts questions that have something in common.
type Share struct {
	Name     string  `json:"name"`
	Asked    int     `json:"asked"`
	Approved int     `json:"approved"`
	Rejected int     `json:"rejected"`
	Answer   float64 `json:"answer"` // median seconds

	waits []float64
}

// question is a call that a person was asked about.
type question struct {
	record  audit.Record // of the question
	project string
	host    string
	decided *audit.Record
}

// maxShares limits a list.
const maxShares = 20

// Make reads the trail of a data directory. It can return a report and an error, which names unreadable records.
func Make(dataDir string, o Options) (*Report, error) {
	var damaged []error
	var records []audit.Record
	for r, err := range audit.Read(audit.Dir(dataDir), audit.Filter{Since: o.Since}) {
		if err != nil {
			damaged = append(damaged, err)
			continue
		}
		if o.Worker != "" && r.Worker != o.Worker {
			continue
		}
		records = append(records, r)
	}
	slices.SortStableFunc(records, func(a, b audit.Record) int { return a.Time.Compare(b.Time) })
	return summed(records, o), errors.Join(damaged...)
}

func (o *Options) selects(r *audit.Record) bool {
	if r.Trial() || o.Host != "" && r.Host != o.Host {
		return false
	}
	rel, err := filepath.Rel(o.Project, r.Project)
	return o.Project == "" || r.Project != "" && err == nil && filepath.IsLocal(rel)
}

// summed counts records, which MUST be ordered by time.
func summed(records []audit.Record, o Options) *Report {
	r := &Report{Since: o.Since, Until: time.Now(), Days: []Day{}, Constant: []Share{}}
	days, sessions, denials := map[string]*Day{}, map[string]bool{}, map[string]*Share{}
	questions, decided := map[string]*question{}, map[string]bool{}
	day := func(t time.Time) *Day {
		name := t.Local().Format(time.DateOnly)
		if days[name] == nil {
			days[name] = &Day{Day: name}
		}
		return days[name]
	}
	for i := range records {
		rec := &records[i]
		if failed(rec) && decided[rec.CallID] { // an outcome names no host, so selects would drop it
			r.Failed++
		}
		if !o.selects(rec) {
			continue
		}
		switch rec.Event {
		case audit.Asked:
			if questions[rec.CallID] == nil {
				questions[rec.CallID] = &question{record: *rec, project: rec.Project, host: rec.Host}
				r.Questions++
				day(rec.Time).Questions++
				if rec.By == "mark" {
					r.Marked++
					day(rec.Time).Marked++
				}
			}
		case audit.Decision:
			if rec.Decision == gate.DecidedPending || decided[rec.CallID] && rec.CallID != "" {
				continue // a hand-over, or the claim of a decision
			}
			decided[rec.CallID] = true
			sessions[rec.SessionID] = true
			r.Calls++
			day(rec.Time).Calls++
			q := questions[rec.CallID]
			if q != nil {
				q.decided = rec
			}
			switch {
			case q != nil:
				r.answered(rec)
			case rec.Decision == gate.DecidedAutoApproved || rec.Decision == gate.DecidedTrusted:
				r.Unasked++
			case slices.Contains(denying, rec.Decision):
				r.Denied++
				day(rec.Time).Denied++
				name := cmp.Or(rec.Rule, rec.By)
				if denials[name] == nil {
					denials[name] = &Share{Name: name}
				}
				denials[name].Asked++
			}
		}
	}
	r.Sessions = len(sessions)
	r.Denials = ranked(denials)
	r.group(questions)
	r.fill(days)
	r.Chart = chart(r.Days)
	return r
}

// denying lists the decisions that refuse a call without a question.
var denying = []string{gate.DecidedDenied, gate.DecidedRejected, gate.DecidedLimited}

// failed reports whether the record is the outcome of a call that failed.
func failed(r *audit.Record) bool { return r.Event == audit.Outcome && (r.IsError || r.Error != "") }

func (r *Report) answered(rec *audit.Record) {
	switch rec.Decision {
	case gate.DecidedApproved:
		r.Approved++
	case gate.DecidedRejected:
		r.Rejected++
	case gate.DecidedTimeout:
		r.Missed++
	default:
		r.Withdrawn++
	}
}

// group counts the questions by project, host, rule and family.
func (r *Report) group(questions map[string]*question) {
	groups := [4]map[string]*Share{{}, {}, {}, {}}
	var waits []float64
	for _, id := range slices.Sorted(maps.Keys(questions)) {
		q := questions[id]
		wait := -1.0
		if q.decided != nil && (q.decided.Decision == gate.DecidedApproved || q.decided.Decision == gate.DecidedRejected) {
			wait = q.decided.Time.Sub(q.record.Time).Seconds()
			waits = append(waits, wait)
		}
		for i, name := range [4]string{cmp.Or(q.project, "no project"), cmp.Or(q.host, "unknown host"), cmp.Or(q.record.Rule, q.record.By), family(&q.record)} {
			s := groups[i][name]
			if s == nil {
				s = &Share{Name: name}
				groups[i][name] = s
			}
			s.Asked++
			if wait >= 0 {
				s.waits = append(s.waits, wait)
				if q.decided.Decision == gate.DecidedApproved {
					s.Approved++
				} else {
					s.Rejected++
				}
			}
		}
	}
	r.Answer, r.Slowest = percentile(waits, 50), percentile(waits, 90)
	r.ByProject, r.ByHost, r.ByRule, r.ByFamily = ranked(groups[0]), ranked(groups[1]), ranked(groups[2]), ranked(groups[3])
	for _, s := range r.ByFamily {
		if s.Asked >= 3 && (s.Approved == s.Asked || s.Rejected == s.Asked) {
			r.Constant = append(r.Constant, s)
		}
	}
}

// family returns the operation of a command, or the kind or name of a tool.
func family(r *audit.Record) string {
	for _, s := range r.Subjects {
		if s.Kind == tools.KindShell && s.Value != "" {
			subjects := tools.CommandSubjects([]string{s.Value})
			if len(subjects) > 0 && subjects[0].Operation > 0 && subjects[0].Operation <= len(subjects[0].Decides[0]) {
				return subjects[0].Decides[0][:subjects[0].Operation]
			}
			word, _, _ := strings.Cut(s.Value, " ")
			return word
		}
	}
	return cmp.Or(r.Kind, r.Tool)
}

func ranked(groups map[string]*Share) []Share {
	list := make([]Share, 0, len(groups))
	for _, s := range groups {
		s.Answer = percentile(s.waits, 50)
		list = append(list, *s)
	}
	slices.SortFunc(list, func(a, b Share) int { return cmp.Or(cmp.Compare(b.Asked, a.Asked), cmp.Compare(a.Name, b.Name)) })
	return list[:min(len(list), maxShares)]
}

// percentile returns the smallest value that percent of the values do not exceed. It returns 0 for no values.
func percentile(values []float64, percent int) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(percent*len(sorted)+99)/100-1]
}

// maxDays limits the listed days.
const maxDays = 366

// fill lists all days from the first to the last, or only the last of them.
func (r *Report) fill(days map[string]*Day) {
	if len(days) == 0 {
		return
	}
	names := slices.Sorted(maps.Keys(days))
	at, err := time.Parse(time.DateOnly, names[0]) // in UTC, every day has a midnight
	if err != nil {
		return
	}
	last, err := time.Parse(time.DateOnly, names[len(names)-1])
	if err != nil {
		return
	}
	if earliest := last.AddDate(0, 0, 1-maxDays); at.Before(earliest) {
		at = earliest
	}
	for ; !at.After(last); at = at.AddDate(0, 0, 1) {
		name := at.Format(time.DateOnly)
		d := days[name]
		if d == nil {
			d = &Day{Day: name}
		}
		r.Days = append(r.Days, *d)
	}
}
