package suggest

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callgate/audit"
	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/rulebook"
	"callgate/internal/visible"
	"callgate/permissions"
	"callgate/permissions/lint"
	"callgate/permissions/store"
)

// Tightening lists rules and grants that could go, and a level that could be narrower.
type Tightening struct {
	Since     time.Time `json:"since"`
	Decisions int       `json:"decisions"`
	Findings  []Finding `json:"findings"`
	Notes     []string  `json:"notes"` // what is unknown

	rules  []permissions.Rule
	grants []permissions.Grant
}

// Finding is one suggestion.
type Finding struct {
	Check string `json:"check"` // unused-allow, unused-grant, covered-grant, unreachable, denied, level
	What  string `json:"what"`  // the rule, grant or level
	Why   string `json:"why"`
	Goes  bool   `json:"goes"` // --apply removes it
}

// usage is what the trail says about rules, grants and levels.
type usage struct {
	rules, grants map[string]bool
	added         []string // the summaries of control records
	values        []need   // subjects that a grant released
	denials       map[string]*denial
	levels        map[string]permissions.Risk // level → the highest risk that it ran
	blind         bool                        // some record lacks subjects
	reached       bool                        // the trail covers the whole period
	decisions     int
}

// denial is a deny rule that applied.
type denial struct {
	count   int
	targets map[string]map[string]bool // session → what was denied
	around  string                     // a later call that ran and names a target
	others  int
}

// Tighten looks for allows and grants that nobody used since then, grants that a rule covers, rules that no call can
// reach, denies that applied, and a level that is wider than necessary. It can return a result and an error, which
// names unreadable records.
func Tighten(ch *rulebook.Checker, since time.Time) (*Tightening, error) {
	ch = unadvised(ch)
	policy, err := ch.Store.Policy()
	if err != nil {
		return nil, err
	}
	shipped, err := shippedPolicy(ch.Home)
	if err != nil {
		return nil, err
	}
	u, damaged := readUsage(ch, since)
	t := &Tightening{Since: since, Decisions: u.decisions, Findings: []Finding{}, Notes: []string{}}
	own := func(r *permissions.Rule) bool {
		return !slices.ContainsFunc(shipped.File, func(s permissions.Rule) bool { return plain(s.String()) == plain(r.String()) })
	}
	if err := t.unreachable(policy, own); err != nil {
		return nil, err
	}
	if ch.Judge.Autonomy == gate.AutonomyNone {
		for _, g := range policy.CoveredGrants() {
			t.grant("covered-grant", &g, "A rule allows everything that it covers.")
		}
	}
	switch {
	case damaged != nil:
		t.Notes = append(t.Notes, "Unused rules are unknown, because the trail is damaged.")
	case !u.reached:
		t.Notes = append(t.Notes, "Unused rules are unknown, because the trail does not go back that far.")
	default:
		t.unused(policy, u, own)
	}
	t.denied(u)
	t.level(ch.Judge.Autonomy, u)
	return t, damaged
}

// plain describes a rule or grant without its line number, which can change.
func plain(text string) string {
	if i := strings.LastIndex(text, " ("); i > 0 {
		return text[:i]
	}
	return text
}

func readUsage(ch *rulebook.Checker, since time.Time) (*usage, error) {
	u := &usage{rules: map[string]bool{}, grants: map[string]bool{}, denials: map[string]*denial{}, levels: map[string]permissions.Risk{}}
	var damaged []error
	var list []audit.Record
	for r, err := range audit.Read(audit.Dir(ch.DataDir), audit.Filter{}) {
		if err != nil {
			damaged = append(damaged, err)
			continue
		}
		if r.Worker != "" && r.Worker != ch.Worker {
			continue
		}
		if r.Time.Before(since) {
			u.reached = true
			break
		}
		list = append(list, r)
	}
	for i := range slices.Backward(list) {
		u.add(&list[i])
	}
	return u, errors.Join(damaged...)
}

// add counts a record. Records come oldest first.
func (u *usage) add(r *audit.Record) {
	if r.Event == audit.Control {
		u.added = append(u.added, r.Summary)
	}
	if r.Event != audit.Decision {
		return
	}
	u.decisions++
	u.blind = u.blind || r.Omitted > 0
	for i := range r.Subjects {
		u.rules[plain(r.Subjects[i].Rule)] = true
	}
	u.rules[plain(r.Rule)] = true
	switch r.Decision {
	case gate.DecidedTrusted:
		u.grants[plain(r.Rule)] = true
		u.values = append(u.values, everySubject(r)...)
	case gate.DecidedDenied:
		if r.By == "rule" {
			u.deny(r)
		}
		return
	case gate.DecidedAutoApproved:
		if level, ok := strings.CutPrefix(r.By, "autonomy:"); ok {
			risk, err := permissions.ParseRisk(r.Risk)
			if worst, seen := u.levels[level]; err == nil && (!seen || risk.Exceeds(worst)) {
				u.levels[level] = risk
			}
		}
	case gate.DecidedApproved:
	default:
		return
	}
	u.ran(r)
}

// everySubject returns the recorded subjects, also those that no grant could release.
func everySubject(r *audit.Record) []need {
	asked := *r
	asked.Subjects = slices.Clone(r.Subjects)
	for i := range asked.Subjects {
		asked.Subjects[i].Action = permissions.Ask.String()
	}
	return recordedNeeds(&asked, r.Project)
}

func (u *usage) deny(r *audit.Record) {
	rule := plain(r.Rule)
	d := u.denials[rule]
	if d == nil {
		d = &denial{targets: map[string]map[string]bool{}}
		u.denials[rule] = d
	}
	d.count++
	for i := range r.Subjects {
		if s := &r.Subjects[i]; s.Action == permissions.Deny.String() {
			for _, name := range targets(s) {
				if d.targets[r.SessionID] == nil {
					d.targets[r.SessionID] = map[string]bool{}
				}
				d.targets[r.SessionID][name] = true
			}
		}
	}
}

// targets returns the base names of the files that a subject names.
func targets(s *audit.Subject) (names []string) {
	words := []string{s.Value}
	if s.Kind == tools.KindShell {
		words = strings.Fields(s.Value)
	}
	for i, word := range words {
		if name := filepath.Base(filepath.ToSlash(strings.Trim(word, `'"`))); (s.Kind != tools.KindShell || i > 0 && strings.ContainsAny(word, "./")) && len(name) > 2 && !strings.HasPrefix(name, "-") {
			names = append(names, name)
		}
	}
	return names
}

// ran checks whether a call that ran names a file that was denied earlier in its session.
func (u *usage) ran(r *audit.Record) {
	for _, d := range u.denials {
		denied := d.targets[r.SessionID]
		if len(denied) > 0 && slices.ContainsFunc(r.Subjects, func(s audit.Subject) bool {
			return slices.ContainsFunc(targets(&s), func(name string) bool { return denied[name] })
		}) {
			d.others++
			d.around = cmp.Or(d.around, r.Summary, r.Tool)
		}
	}
}

// unreachable finds rules that decide nothing, because later rules match everything that they match.
func (t *Tightening) unreachable(policy *permissions.Policy, own func(*permissions.Rule) bool) error {
	problems, err := lint.Rules(policy.File, lint.Options{Kinds: tools.Kinds()})
	if err != nil {
		return err
	}
	for _, p := range problems {
		i := slices.IndexFunc(policy.File, func(r permissions.Rule) bool { return r.String() == p.Rule })
		if p.Check != "shadowed" && p.Check != "never-matches" || i < 0 || !own(&policy.File[i]) {
			continue
		}
		// A deny always stays.
		t.rule("unreachable", &policy.File[i], p.Why, p.Check == "shadowed" && policy.File[i].Action != permissions.Deny)
	}
	return nil
}

func (t *Tightening) rule(check string, r *permissions.Rule, why string, goes bool) {
	if slices.ContainsFunc(t.rules, func(q permissions.Rule) bool { return q.String() == r.String() }) {
		return
	}
	t.Findings = append(t.Findings, Finding{check, r.String(), why, goes})
	if goes {
		t.rules = append(t.rules, *r)
	}
}

func (t *Tightening) grant(check string, g *permissions.Grant, why string) {
	if !slices.ContainsFunc(t.grants, g.Same) {
		t.Findings = append(t.Findings, Finding{check, g.String(), why, true})
		t.grants = append(t.grants, *g)
	}
}

// unused finds allows and grants that existed all the time and decided nothing in the period.
func (t *Tightening) unused(policy *permissions.Policy, u *usage, own func(*permissions.Rule) bool) {
	if u.blind {
		t.Notes = append(t.Notes, "Unused allows are unknown, because a record does not have everything that its call touched.")
	}
	for i := range policy.File {
		r := &policy.File[i]
		if u.blind || r.Action != permissions.Allow || !own(r) || u.rules[plain(r.String())] || u.recent(r.String()) {
			continue
		}
		t.rule("unused-allow", r, "Nobody needed it in the period.", true)
	}
	for i := range policy.Grants {
		g := &policy.Grants[i]
		if u.grants[plain(g.String())] || !g.At.Before(t.Since) || u.covers(g) {
			continue
		}
		t.grant("unused-grant", g, "Nobody needed it in the period.")
	}
}

// recent reports whether the rule may have been added in the period: by itself, or by an edit of the file.
func (u *usage) recent(rule string) bool {
	return slices.ContainsFunc(u.added, func(summary string) bool {
		return strings.Contains(summary, plain(rule)) || strings.Contains(summary, "Edited the rules") || strings.Contains(summary, "merged")
	})
}

// covers reports whether the grant matches a subject that a grant released.
func (u *usage) covers(g *permissions.Grant) bool {
	c := &candidate{grant: *g}
	c.grant.Content, c.grant.Folder, c.grant.Denied, c.grant.Expires = "", "", "", time.Time{}
	return c.compile() != nil || slices.ContainsFunc(u.values, c.releases)
}

func (t *Tightening) denied(u *usage) {
	for _, rule := range slices.Sorted(maps.Keys(u.denials)) {
		d := u.denials[rule]
		why := fmt.Sprintf("It applied %s.", visible.Count(d.count, "time"))
		if d.others > 0 {
			why += fmt.Sprintf(" Later in the session, %s that ran named the same file, such as: %s", visible.Count(d.others, "call"), tools.Visible(d.around))
		}
		t.Findings = append(t.Findings, Finding{"denied", rule, why, false})
	}
}

// level finds a narrower level that would have run the same calls.
func (t *Tightening) level(set gate.Autonomy, u *usage) {
	worst, used := u.levels[set.String()]
	narrower := gate.Manual
	switch {
	case set != gate.FullAuto && set != gate.Supervised && set != gate.Cautious || u.decisions == 0:
		return
	case used && worst.Label() == "low":
		narrower = gate.Cautious
	case used && worst.Label() == "medium":
		narrower = gate.Supervised
	case used:
		return
	}
	if narrower > set {
		why := "It ran nothing."
		if used {
			why = "The highest risk that it ran is " + worst.String() + "."
		}
		t.Findings = append(t.Findings, Finding{"level", set.String(), fmt.Sprintf("%s %s would be enough.", why, narrower), false})
	}
}

// Apply removes the findings that go.
func (t *Tightening) Apply(rules *store.Store) error {
	for i := range t.rules {
		if _, err := rules.RemoveRules(t.rules[i].Tool, t.rules[i].Pattern); err != nil {
			return err
		}
	}
	_, err := rules.RemoveGrants(func(g permissions.Grant) bool { return slices.ContainsFunc(t.grants, g.Same) })
	return err
}

// Summary names the removed findings for the audit trail; "" if there are none.
func (t *Tightening) Summary() string {
	var list []string
	for _, f := range t.Findings {
		if f.Goes {
			list = append(list, f.What)
		}
	}
	if len(list) == 0 {
		return ""
	}
	return "Tightened the rules by " + strings.Join(list, "; ") + "."
}

// Print shows the findings to a person.
func (t *Tightening) Print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s since %s\n", visible.Count(t.Decisions, "decision"), t.Since.Local().Format("2006-01-02 15:04"))
	for _, f := range t.Findings {
		fmt.Fprintf(&b, "\n%-14s %s\n  %s", f.Check, visible.Text(f.What), visible.Text(f.Why))
		if f.Goes {
			fmt.Fprint(&b, " --apply removes it.")
		}
		fmt.Fprintln(&b)
	}
	if len(t.Findings) == 0 {
		fmt.Fprintln(&b, "Nothing to tighten.")
	}
	for _, note := range t.Notes {
		fmt.Fprintf(&b, "\n%s\n", note)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
