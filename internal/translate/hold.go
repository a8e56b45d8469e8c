package translate

import (
	"fmt"
	"slices"

	"callgate/internal/visible"
	"callgate/permissions"
)

// Unheld lists the rules of an import that ask or deny but do not hold in the file they were added to, whose rules MUST
// be compiled. A rule does not hold if a milder rule comes after it, unless the import has that order too.
func (im *Import) Unheld(file []permissions.Rule, home string) (list []Left, err error) {
	ordered := im.Ordered()
	for i := range ordered {
		r := &ordered[i]
		if r.Action == permissions.Allow {
			continue
		}
		compiled, err := r.compile(home)
		if err != nil {
			return nil, err
		}
		if why := unheld(compiled, file, ordered[i+1:], home); why != "" {
			list = append(list, Left{r.From, why})
		}
	}
	return list, nil
}

// unheld returns what overrides a rule that asks or denies, or "" if nothing does.
func unheld(r *permissions.Rule, file []permissions.Rule, after []Rule, home string) string {
	at := -1
	for i := range file {
		if file[i].Action <= r.Action && unconditional(&file[i]) && file[i].Covers(r) {
			at = i
		}
	}
	if at < 0 {
		return "it is not in the file"
	}
	var winners []*permissions.Rule
	for i := at + 1; i < len(file); i++ {
		own := slices.ContainsFunc(after, func(a Rule) bool { return a.IsIn(&file[i], home) && a.Action == file[i].Action })
		if file[i].Action > r.Action && !own && file[i].Meets(r) {
			winners = append(winners, &file[i])
		}
	}
	switch n := len(winners); n {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%s comes after it in the file", winners[0])
	default:
		return fmt.Sprintf("%s and %s come after it in the file", winners[0], visible.Count(n-1, "other rule"))
	}
}

func unconditional(r *permissions.Rule) bool { return !r.Capped && r.When == (permissions.When{}) }

// IsIn reports whether a rule of a file has the same tool and pattern.
func (r *Rule) IsIn(q *permissions.Rule, home string) bool {
	expanded, err := permissions.ExpandHome(r.Pattern, home)
	return err == nil && q.Tool == r.Tool && q.Pattern == expanded
}

// Replaces reports whether r, which asks or denies, has to and may replace the rule at index at of a file, which has
// the same tool and pattern. It may if it comes first, or if as the last rule it lifts no stricter rule.
func (im *Import) Replaces(r *Rule, file []permissions.Rule, at int) bool {
	old := &file[at]
	if old.Action < r.Action || old.Action == r.Action && r.Action != permissions.Deny && unconditional(old) {
		return false
	}
	return im.First(r) || !slices.ContainsFunc(file[at+1:], func(q permissions.Rule) bool { return q.Action < r.Action && q.Meets(old) })
}

// First reports whether the rule belongs before all others of a file: it is for every tool, and other rules of the
// import are exceptions to it, or it would lift denies.
func (im *Import) First(r *Rule) bool {
	return r.Tool == "*" && (r.Action != permissions.Deny || slices.ContainsFunc(im.Rules, func(q Rule) bool { return q.Action > r.Action }))
}

func (r *Rule) compile(home string) (*permissions.Rule, error) {
	expanded, err := permissions.ExpandHome(r.Pattern, home)
	if err != nil {
		return nil, err
	}
	p, err := permissions.NewPolicy(nil, []permissions.Rule{{Tool: r.Tool, Pattern: expanded, Action: r.Action, Source: "the import"}}, nil)
	if err != nil {
		return nil, err
	}
	return &p.File[0], nil
}
