package permissions

import (
	"slices"
	"strings"

	"callgate/permissions/internal/pattern"
)

// Covers reports whether r matches every subject that q matches, in each of its readings. Then a q before r decides
// nothing. Covers may miss such a pair. If both patterns are text and `*`, it never reports a wrong pair; with brackets
// and groups it relies on samples. Both rules MUST come from ParseFile or a Policy.
func (r *Rule) Covers(q *Rule) bool {
	if r.When != (When{}) && r.When != q.When {
		return false
	}
	if r.Capped && (!q.Capped || q.Risk.Exceeds(r.Risk)) {
		return false
	}
	if !r.tool.Covers(q.tool) {
		return false
	}
	if r.Action == Allow && !r.pattern.All && (q.Action != Allow || q.Pattern != r.Pattern) {
		return false // r leaves commands that do more than its pattern names to q, see uncovered
	}
	return (!q.paths || r.path.Covers(q.path, r.Action <= Confirm, q.Action <= Confirm)) && (!q.others || r.coversValue(q))
}

// coversValue is Covers for values that are not paths.
func (r *Rule) coversValue(q *Rule) bool {
	if q.Action <= Confirm && q.pattern.Bare != "" && !q.pattern.HasArgument() && !r.pattern.HasArgument() {
		// A command's name holds with any arguments, see pattern.Value.Begins.
		bare := q.pattern.Bare
		if r.Action <= Confirm && r.pattern.Bare == bare {
			return true
		}
		return r.pattern.Glob.Covers(pattern.Command(bare))
	}
	return r.pattern.Covers(q.pattern, r.Action <= Confirm, q.Action <= Confirm)
}

// Meets reports whether it finds a value that both rules match for one tool. Both MUST come from ParseFile or a Policy.
func (r *Rule) Meets(q *Rule) bool {
	_, ok := r.tool.Meets(q.tool)
	if !ok {
		return false
	}
	if q.paths {
		if _, ok = r.path.Glob.Meets(q.path.Glob); ok {
			return true
		}
	}
	if q.others {
		_, ok = r.pattern.Glob.Meets(q.pattern.Glob)
		return ok
	}
	return false
}

// valueKinds returns the kinds of values that a rule for tools may be about: paths, and others.
func valueKinds(tool string) (paths, others bool) {
	names := []string{tool}
	if strings.ContainsAny(tool, `*?[]{}()!@+\`) {
		var ok bool
		if names, ok = Texts(tool); !ok {
			return true, true
		}
	}
	for _, name := range names {
		switch {
		case slices.Contains(PathKinds, name):
			paths = true
		case name == ShellKind || name == FetchKind:
			others = true
		default:
			return true, true
		}
	}
	return paths, others
}

// Effective returns the pattern as it is matched: for a rule only about paths, the result of pattern.Path.
func (r *Rule) Effective() string {
	if paths, others := valueKinds(r.Tool); !paths || others {
		return r.Pattern
	}
	return pattern.Path(r.Pattern, r.Action <= Confirm)
}

// CoveredBy returns the first rule after index at that leaves the rule at that index nothing to decide, or nil.
func CoveredBy(rules []Rule, at int) *Rule {
	for i := at + 1; i < len(rules); i++ {
		if rules[i].Covers(&rules[at]) {
			return &rules[i]
		}
	}
	return nil
}

// CoveredGrants returns the grants that change nothing if rules alone decide, because a rule of the file allows
// everything they cover. It may miss some.
func (p *Policy) CoveredGrants() (covered []Grant) {
	for i := range p.Grants {
		g := &p.Grants[i]
		q := Rule{Tool: g.Tool, Pattern: g.Pattern, Action: Allow, Capped: true, Risk: g.Risk}
		if g.Folder != "" || q.compile(LayerFile) != nil {
			continue
		}
		for k := len(p.File) - 1; k >= 0; k-- {
			r := &p.File[k]
			if r.Action != Allow && r.Meets(&q) {
				break // this rule wins over those before it
			}
			if r.Action == Allow && r.Covers(&q) {
				covered = append(covered, *g)
				break
			}
		}
	}
	return covered
}
