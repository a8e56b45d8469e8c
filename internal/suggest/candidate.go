package suggest

import (
	"cmp"
	"path/filepath"
	"slices"

	"callgate/gate/tools"
	"callgate/permissions"
)

// What a pattern costs, in hundredths of a question: itself, and everything that it opens.
const (
	patternCost   = 2 * units
	operationCost = 3 * units // for a rung that "always" would not choose by itself: an operation with any operands
	openedCost    = 5
)

// candidate is a grant that could be proposed.
type candidate struct {
	grant  permissions.Grant
	kind   string              // of the subjects that it is for
	alone  *permissions.Policy // the grant and nothing else
	wide   *permissions.Policy // the grant without its scope
	bound  bool                // "always" could have chosen it by itself
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

// anywhere is the grant for calls that are of no project and server.
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

// candidates are the rungs that "always" would have offered for the approved calls of a project, without those that
// release a rejected call or a bypass by themselves.
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

// proposes reports whether an offer can become a grant that holds in a whole project.
func (q *question) proposes(o tools.Offer) bool {
	if o.Folder != "" || !o.Bound && !o.Default && q.verdict.Analysis.Subjects[o.Subject].Kind != tools.KindShell || !permissions.Unknown.Exceeds(o.Risk) {
		return false
	}
	// A star would be any destination, amount or person.
	return o.Pattern != "*" || !slices.Contains(permissions.EffectKeys, q.call.Tool.Labels.Effect)
}

// cost is what the grant costs in the objective: questions saved - what the patterns cost and open.
func (c *candidate) cost() int {
	cost := patternCost + openedCost*c.opens.total()
	if !c.bound || c.grant.Pattern == "*" {
		cost += operationCost
	}
	return cost
}

// released reports whether the grant alone releases all that asks about the call.
func (q *question) released(by ...*candidate) bool {
	return len(q.needs) > 0 && !slices.ContainsFunc(q.needs, func(n need) bool {
		return !slices.ContainsFunc(by, func(c *candidate) bool { return c.releases(n) })
	})
}

// undominated leaves out candidates that cover no more than another one that costs no more.
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

// beats reports whether c covers all that d does and costs no more; where both are equal, the first one wins.
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

// choose solves which of the candidates save most after their costs.
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

// wrong returns the chosen candidates that take part in releasing what was rejected or is a bypass.
func (t *trail) wrong(corpus *corpus, with *permissions.Policy, chosen []*candidate) (guilty []*candidate, err error) {
	blame := func(needs []need) {
		found := slices.DeleteFunc(slices.Clone(chosen), func(c *candidate) bool { return !slices.ContainsFunc(needs, c.releases) })
		if len(found) == 0 {
			found = chosen // nobody knows which
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

// accept reports the chosen candidates, with what the gate's own code says that they save.
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

// maxExamples is how many calls a proposal names.
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
