package suggest

import (
	"cmp"
	"path/filepath"
	"slices"

	"callgate/gate/tools"
	"callgate/permissions"
)

// The cost of a pattern, in hundredths of a question: for the pattern itself, and for everything that it newly allows.
const (
	patternCost   = 2 * units
	operationCost = 3 * units // for a pattern that "always" does not preselect: an operation with any operands
	openedCost    = 5
)

// candidate is a possible grant.
type candidate struct {
	grant  permissions.Grant
	kind   string              // the kind of its subjects
	alone  *permissions.Policy // only the grant
	wide   *permissions.Policy // the grant without its scope
	bound  bool                // "always" preselects it
	opens  Surface
	covers map[*permissions.Subject]bool
}

// releases reports whether the grant releases the subject.
func (c *candidate) releases(n need) bool {
	if n.anywhere {
		return permissions.Evaluate(c.wide, n.from, n.subject).Grant != nil
	}
	return permissions.Evaluate(c.alone, n.from, n.subject).Grant != nil
}

// anywhere returns the grant without its server and workspace.
func (c *candidate) anywhere() permissions.Grant {
	g := c.grant
	g.Server, g.Workspace = "", ""
	if c.kind == tools.KindShell {
		g.Tool = c.kind
	}
	return g
}

func (c *candidate) compile() (err error) {
	if c.alone, err = permissions.NewPolicy(nil, nil, []permissions.Grant{c.grant}); err != nil {
		return err
	}
	c.wide, err = permissions.NewPolicy(nil, nil, []permissions.Grant{c.anywhere()})
	return err
}

// candidates returns the patterns that "always" would have offered for a project's approved calls, except those that
// alone release a rejected call or a bypass.
func (t *trail) candidates(p *project, corpus *corpus) ([]*candidate, error) {
	type key struct{ tool, pattern, server string }
	found := map[key]*candidate{}
	for _, q := range p.examined {
		for _, o := range q.verdict.Offers(q.call) {
			if !q.proposes(o) {
				continue
			}
			k := key{o.Tool, o.Pattern, q.call.Tool.Server}
			c := found[k]
			if c == nil {
				c = &candidate{kind: q.verdict.Analysis.Subjects[o.Subject].Kind, grant: permissions.Grant{Tool: o.Tool, Pattern: o.Pattern, Server: k.server, Workspace: p.folder, Risk: o.Risk}}
				found[k] = c
			}
			c.bound = c.bound || o.Bound || o.Default
			if o.Risk.Exceeds(c.grant.Risk) {
				c.grant.Risk = o.Risk
			}
		}
	}
	var list []*candidate
	for _, c := range found {
		if err := c.compile(); err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(a.grant.Tool, b.grant.Tool), cmp.Compare(a.grant.Pattern, b.grant.Pattern), cmp.Compare(a.grant.Server, b.grant.Server))
	})
	list = slices.DeleteFunc(list, func(c *candidate) bool {
		return slices.ContainsFunc(t.rejected, func(q *question) bool { return q.released(c) }) || corpus.opened(c)
	})
	for _, c := range list {
		c.opens = corpus.surface(c, p)
		c.covers = map[*permissions.Subject]bool{}
		for _, q := range p.examined {
			for _, n := range q.needs {
				if c.releases(n) {
					c.covers[n.subject] = true
				}
			}
		}
	}
	return undominated(list), nil
}

// proposes reports whether an offer can become a grant for a whole project.
func (q *question) proposes(o tools.Offer) bool {
	if o.Folder != "" || !o.Bound && !o.Default && q.verdict.Analysis.Subjects[o.Subject].Kind != tools.KindShell || !permissions.Unknown.Exceeds(o.Risk) {
		return false
	}
	// A star would match any destination, amount or person.
	return o.Pattern != "*" || !slices.Contains(permissions.EffectKeys, q.call.Tool.Labels.Effect)
}

// cost returns the cost of the grant in the objective, which is the questions saved minus the costs of patterns.
func (c *candidate) cost() int {
	cost := patternCost + openedCost*c.opens.total()
	if !c.bound || c.grant.Pattern == "*" {
		cost += operationCost
	}
	return cost
}

// released reports whether the grants together release everything that asks about the call.
func (q *question) released(by ...*candidate) bool {
	return len(q.needs) > 0 && !slices.ContainsFunc(q.needs, func(n need) bool {
		return !slices.ContainsFunc(by, func(c *candidate) bool { return c.releases(n) })
	})
}

// undominated leaves out a candidate if another one covers as much and costs no more.
func undominated(list []*candidate) []*candidate {
	var kept []*candidate
	for i, c := range list {
		if len(c.covers) == 0 || slices.ContainsFunc(list, func(d *candidate) bool { return c != d && d.beats(c, slices.Index(list, d) < i) }) {
			continue
		}
		kept = append(kept, c)
	}
	return kept
}

// beats reports whether c covers everything that d covers and costs no more. If both are equal, first decides.
func (c *candidate) beats(d *candidate, first bool) bool {
	if c.cost() > d.cost() || len(c.covers) < len(d.covers) {
		return false
	}
	for s := range d.covers {
		if !c.covers[s] {
			return false
		}
	}
	return first || c.cost() < d.cost() || len(c.covers) > len(d.covers)
}

// choose returns the candidates that save most after their costs, and how much better another choice could be.
func (t *trail) choose(p *project, list []*candidate) ([]*candidate, int) {
	pr := problem{costs: make([]int, len(list))}
	for i, c := range list {
		pr.costs[i] = c.cost()
	}
	meets := func(q *question) (needs [][]int) {
		for _, n := range q.needs {
			var by []int
			for i, c := range list {
				if c.releases(n) {
					by = append(by, i)
				}
			}
			if len(by) == 0 {
				return nil
			}
			needs = append(needs, by)
		}
		return needs
	}
	for _, q := range p.examined {
		if needs := meets(q); needs != nil {
			pr.items = append(pr.items, item{weight: units * sum(q.approved), needs: needs})
		}
	}
	for _, q := range t.rejected {
		if needs := meets(q); needs != nil {
			pr.forbidden = append(pr.forbidden, item{needs: needs})
		}
	}
	best := pr.solve(MaxPatterns)
	chosen := make([]*candidate, len(best.chosen))
	for i, c := range best.chosen {
		chosen[i] = list[c]
	}
	return chosen, best.gap
}

// wrong returns the chosen candidates that help to release a rejected call or a bypass.
func (t *trail) wrong(corpus *corpus, with *permissions.Policy, chosen []*candidate) (guilty []*candidate, err error) {
	blame := func(needs []need) {
		found := slices.DeleteFunc(slices.Clone(chosen), func(c *candidate) bool { return !slices.ContainsFunc(needs, c.releases) })
		if len(found) == 0 {
			found = chosen // it is unknown which one
		}
		guilty = append(guilty, found...)
	}
	for _, q := range t.rejected {
		runs := !q.whole && q.released(chosen...)
		if q.whole {
			_, v, err := t.ch.Judged(q.request(), with)
			if err != nil {
				return nil, err
			}
			runs = v.Action == permissions.Allow
		}
		if runs {
			blame(q.needs)
		}
	}
	return guilty, corpus.together(chosen, blame)
}

// accept adds the chosen candidates to the report, with their savings by the gate's own code.
func (t *trail) accept(p *project, corpus *corpus, with *permissions.Policy, chosen []*candidate) error {
	list := make([]*Proposal, len(chosen))
	for i, c := range chosen {
		g := c.grant
		list[i] = &Proposal{Tool: g.Tool, Pattern: g.Pattern, Ceiling: g.Risk.String(), Server: g.Server, Workspace: g.Workspace, ByDay: map[string]int{},
			Examples: []string{}, Opens: c.opens, Against: Evidence{t.against(c), len(corpus.bypasses)}, grant: g}
	}
	slices.SortStableFunc(p.examined, func(a, b *question) int {
		return cmp.Or(cmp.Compare(sum(b.approved), sum(a.approved)), cmp.Compare(a.record.Summary, b.record.Summary))
	})
	for _, q := range p.examined {
		_, v, err := t.ch.Judged(q.request(), with)
		if err != nil {
			return err
		}
		n := sum(q.approved)
		if v.Action != permissions.Allow {
			t.report.Left[leftRare] += n
			continue
		}
		t.report.Saved += n
		for i, c := range chosen {
			if slices.ContainsFunc(q.needs, c.releases) {
				list[i].count(q)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b *Proposal) int { return cmp.Compare(b.Saves, a.Saves) })
	t.report.Proposals = append(t.report.Proposals, list...)
	return nil
}

// against counts the rejected calls in the scope of the grant.
func (t *trail) against(c *candidate) (n int) {
	for _, q := range t.rejected {
		if rel, err := filepath.Rel(c.grant.Workspace, q.folder); c.grant.Workspace == "" || err == nil && filepath.IsLocal(rel) {
			n++
		}
	}
	return n
}

// maxExamples limits the calls that a proposal names.
const maxExamples = 2

func (p *Proposal) count(q *question) {
	p.Calls++
	for day, n := range q.approved {
		p.ByDay[day] += n
		p.Saves += n
	}
	if len(p.Examples) < maxExamples {
		p.Examples = append(p.Examples, tools.Visible(cmp.Or(q.record.Summary, q.record.Tool)))
	}
}
