package suggest

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
	"callgate/internal/rulebook"
	"callgate/permissions"
)

// Reasons why approved questions lead to no proposal.
const (
	leftMarked      = "they are marked, so only a person can release them"
	leftGuess       = "the kind of their tool is a guess: map it (callgate tools shows which)"
	leftRisk        = "DESTRUCTIVE, ESCALATION, or code that nobody can read (UNKNOWN)"
	leftCredentials = "they touch credentials"
	leftRejected    = "the same call was also rejected"
	leftAgent       = "they ran under an agent profile"
	leftArguments   = "the record does not have all their arguments"
	leftScripts     = "they run a script, whose content may change"
	leftSettled     = "the current rules do not ask about them"
	leftUnknown     = "their server is not configured, so callgate cannot judge them"
	leftChanged     = "what they touch may have changed: a link leads to it, it is different, or another server has the tool"
	leftRare        = "they are too few or too different for a pattern"
)

// trail is the audit trail, sorted by project.
type trail struct {
	ch       *rulebook.Checker
	policy   *permissions.Policy
	shipped  *permissions.Policy // the shipped rules, which know credential stores
	projects map[string]*project
	rejected []*question // from all projects, because a grant can hold in several
	report   Report
}

// project has the questions of one folder; "" stands for calls without one.
type project struct {
	folder    string
	questions map[string]*question
	examined  []*question // the approved questions that are fit for proposals
}

// question is a call that people answered at least once.
type question struct {
	record             audit.Record // the newest record
	folder             string       // the folder of its project
	approved, rejected map[string]int
	marked             bool

	call    gate.Call
	verdict gate.Verdict
	needs   []need
	whole   bool // judged by its arguments, not by its recorded subjects
}

// need is a subject that asks.
type need struct {
	subject *permissions.Subject
	from    permissions.Context
	// anywhere means that the subject belongs to no project, so the scope of a grant does not matter.
	anywhere bool
}

func newTrail(ch *rulebook.Checker, policy *permissions.Policy) (*trail, error) {
	shipped, err := shippedPolicy(ch.Home)
	if err != nil {
		return nil, err
	}
	return &trail{ch: ch, policy: policy, shipped: shipped, projects: map[string]*project{},
		report: Report{Proposals: []*Proposal{}, Left: map[string]int{}}}, nil
}

// load sorts people's answers, and judges each call by the current rules. The error names unreadable records.
func (t *trail) load(o Options) error {
	read := answers{marked: map[string]bool{}, seen: map[string]bool{}}
	days := map[string]bool{}
	var damaged []error
	for r, err := range audit.Read(audit.Dir(t.ch.DataDir), audit.Filter{Since: o.Remembered.start()}) {
		if err != nil {
			damaged = append(damaged, err)
			continue
		}
		if r.Worker != "" && r.Worker != t.ch.Worker {
			continue
		}
		selected := r.Event == audit.Decision && o.selects(&r, t.report.Decisions)
		if selected {
			t.report.Decisions++
			days[day(r.Time)] = true
		}
		if read.take(r, selected) && selected {
			t.count(&r)
		}
	}
	t.report.Days = len(days)
	for _, r := range o.Remembered.complete(o.Since, &read) {
		t.add(&r, read.marked[cmp.Or(r.Approval, r.CallID)])
	}
	for _, name := range slices.Sorted(maps.Keys(t.projects)) {
		t.examine(t.projects[name])
	}
	return errors.Join(damaged...)
}

// answers holds people's answers, newest first.
type answers struct {
	list   []audit.Record
	marked map[string]bool // calls that only a person could release
	seen   map[string]bool
}

// take keeps the record if it is an answer that counts: any rejection, or a selected approval.
func (a *answers) take(r audit.Record, selected bool) bool {
	if r.Event == audit.Asked && r.By == "mark" {
		a.marked[r.CallID] = true
	}
	// A handed-over call has two records, under two ids: the decision, and that of the call that repeats it.
	key := r.Decision + " " + cmp.Or(r.Approval, r.CallID)
	if !decidedByPeople(&r) || !selected && r.Decision != gate.DecidedRejected || r.CallID != "" && a.seen[key] {
		return false
	}
	a.seen[key] = true
	a.list = append(a.list, r)
	return true
}

// Answered returns the number of questions that people answered since a time. It ignores unreadable records.
func Answered(dataDir string, since time.Time) (n int) {
	for r, err := range audit.Read(audit.Dir(dataDir), audit.Filter{Since: since}) {
		if err == nil && decidedByPeople(&r) {
			n++
		}
	}
	return n
}

// Memory keeps the rejections from before a period, so that only the first look reads the whole trail. It is for one
// trail and for periods that begin later each time. Only one goroutine may use it at a time.
type Memory struct {
	upTo   time.Time // it covers the records before this time
	older  []audit.Record
	marked map[string]bool
}

// start returns the time from which to read records.
func (m *Memory) start() time.Time {
	if m == nil {
		return time.Time{}
	}
	return m.upTo
}

// complete adds the remembered answers to those that were read, and remembers what the next look can skip.
func (m *Memory) complete(since time.Time, read *answers) []audit.Record {
	if m == nil {
		return read.list
	}
	all := append(read.list, m.older...)
	maps.Copy(read.marked, m.marked)
	m.older, m.marked, m.upTo = nil, read.marked, since // a question that is marked may be answered later
	for _, r := range all {
		if r.Time.Before(since) {
			m.older = append(m.older, r)
		}
	}
	return all
}

func (t *trail) count(r *audit.Record) {
	t.report.Questions++
	if r.Decision == gate.DecidedRejected {
		t.report.Rejected++
	}
}

func (t *trail) add(r *audit.Record, marked bool) {
	folder := r.Project
	if !filepath.IsAbs(folder) {
		folder = ""
	}
	p := t.projects[folder]
	if p == nil {
		p = &project{folder: folder, questions: map[string]*question{}}
		t.projects[folder] = p
	}
	key := strings.Join([]string{r.Agent, r.Server, r.Tool, cmp.Or(r.Digest, "call:"+r.CallID)}, "\x00")
	q := p.questions[key]
	if q == nil {
		q = &question{record: *r, folder: folder, approved: map[string]int{}, rejected: map[string]int{}}
		p.questions[key] = q
	}
	q.marked = q.marked || marked
	if r.Decision == gate.DecidedRejected {
		q.rejected[day(r.Time)]++
	} else {
		q.approved[day(r.Time)]++
	}
}

// examine sorts a project's questions into those for and those against proposals.
func (t *trail) examine(p *project) {
	for _, key := range slices.Sorted(maps.Keys(p.questions)) {
		q := p.questions[key]
		why := t.judge(q)
		if len(q.rejected) > 0 {
			why = cmp.Or(why, leftRejected)
			if len(q.needs) > 0 || q.whole && q.verdict.Action == permissions.Ask && len(q.verdict.Marks) == 0 {
				t.rejected = append(t.rejected, q)
			}
		}
		if why != "" {
			if n := sum(q.approved); n > 0 {
				t.report.Left[why] += n
			}
			continue
		}
		p.examined = append(p.examined, q)
	}
}

// judge finds what asks about the call, and returns why the call is not fit for a proposal, or "".
func (t *trail) judge(q *question) (why string) {
	r := &q.record
	if !rulebook.Whole(r) {
		q.needs = recordedNeeds(r, q.folder)
		return leftArguments
	}
	call, v, err := t.ch.Judged(q.request(), t.policy)
	if err != nil {
		q.needs = recordedNeeds(r, q.folder)
		return leftUnknown
	}
	q.call, q.verdict, q.whole = call, v, true
	if v.Action != permissions.Ask {
		return leftSettled
	}
	if len(v.Marks) > 0 {
		return leftMarked
	}
	q.needs = needsOf(call, &v, t.ch.Judge.Autonomy != gate.AutonomyNone)
	switch {
	case q.marked:
		return leftMarked
	case !call.Tool.Bound && permissions.Unknown == v.Risk():
		return leftGuess
	case r.Agent != "" && r.Agent != gate.DefaultAgent:
		return leftAgent
	case permissions.Unknown == v.Risk() || v.Risk().Exceeds(permissions.Unknown):
		return leftRisk
	case t.touchesCredentials(call, &v):
		return leftCredentials
	case changed(r, call, &v):
		return leftChanged
	case slices.ContainsFunc(q.needs, func(n need) bool { return len(n.subject.Runs) > 0 }):
		return leftScripts
	case len(q.needs) == 0:
		return leftSettled
	}
	return ""
}

// changed reports whether the call may touch something other than when it was approved: another server has the tool,
// its subjects differ from the record, or a link leads to them, which may have led elsewhere before.
func changed(r *audit.Record, call gate.Call, v *gate.Verdict) bool {
	if r.Server != "" && r.Server != call.Tool.Server || len(r.Subjects) > 0 && len(r.Subjects) != len(v.Findings) {
		return true
	}
	for i := range v.Findings {
		s := &v.Findings[i].Subject
		if !direct(s, call.Place.Dir) {
			return true
		}
		if len(r.Subjects) == 0 {
			continue
		}
		if then := &r.Subjects[i]; s.Tool != then.Tool || s.Value != then.Value || s.Risk.String() != then.Risk {
			return true
		}
	}
	return false
}

// direct reports whether no link leads to a path. Links above the project do not count, because the user made them.
func direct(s *permissions.Subject, dir string) bool {
	if s.Kind == tools.KindShell || !slices.ContainsFunc(s.Decides, filepath.IsAbs) {
		return true
	}
	path := filepath.FromSlash(s.Value)
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	ways := []string{filepath.Clean(path)}
	if rel, err := filepath.Rel(dir, path); err == nil {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			ways = append(ways, filepath.Join(real, rel))
		}
	}
	return slices.ContainsFunc(ways, func(way string) bool { return slices.Contains(s.Decides, filepath.ToSlash(way)) })
}

// request returns the call of a question in its project.
func (q *question) request() rulebook.Request {
	return rulebook.Request{Tool: q.record.Tool, Arguments: q.record.Arguments, Cwd: q.folder}
}

// needsOf returns the subjects of a call that need a grant.
func needsOf(call gate.Call, v *gate.Verdict, graded bool) (needs []need) {
	from := permissions.Context{Server: call.Tool.Server, Workspace: call.Place.Dir, Now: time.Now(), Graded: graded}
	for i := range v.Findings {
		f := &v.Findings[i]
		if f.Grant == nil && (f.Action == permissions.Ask || graded && !f.Subject.DeniesOnly) {
			needs = append(needs, need{subject: &f.Subject, from: from})
		}
	}
	return needs
}

// recordedNeeds returns the recorded subjects that asked. They count against more patterns than the call itself: they
// have no risk, and only their text matters.
func recordedNeeds(r *audit.Record, folder string) (needs []need) {
	from := permissions.Context{Server: r.Server, Workspace: folder, Now: time.Now()}
	for i := range r.Subjects {
		s := &r.Subjects[i]
		if s.Action == permissions.Allow.String() {
			continue
		}
		subject := &permissions.Subject{Tool: s.Tool, Kind: s.Kind, KindBound: true, Value: s.Value, Risk: permissions.ReadOnly, Harmless: true}
		if s.Value != "" {
			subject.Decides = permissions.Form{s.Value}
			if rel, err := filepath.Rel(folder, s.Value); folder != "" && err == nil && filepath.IsAbs(s.Value) {
				subject.Decides = append(subject.Decides, filepath.ToSlash(rel))
			}
		}
		needs = append(needs, need{subject: subject, from: from})
	}
	return needs
}

// touchesCredentials reports whether a subject is a credential store by its name or by the shipped rules.
func (t *trail) touchesCredentials(call gate.Call, v *gate.Verdict) bool {
	from := permissions.Context{Server: call.Tool.Server, Workspace: call.Place.Dir, Now: time.Now()}
	for i := range v.Findings {
		s := v.Findings[i].Subject
		for _, form := range append(slices.Clone(s.Also), s.Decides, permissions.Form{s.Value}) {
			if slices.ContainsFunc(form, func(text string) bool { return tools.CredentialStore(text) != "" }) {
				return true
			}
		}
		if permissions.Evaluate(t.shipped, from, &s).Action == permissions.Deny {
			return true
		}
	}
	return false
}
