package permissions

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"callgate/permissions/internal/pattern"
)

// Explanation is a finding with every rule and grant that could have decided, for people who ask for the reasons.
type Explanation struct {
	Finding Finding
	Matches []Match      // every rule that matches some reading of the subject, in the order of evaluation
	Grants  []GrantMatch // every grant whose tool matches
}

// Match is one rule that matches a subject.
type Match struct {
	Rule    *Rule
	Value   string // the first spelling that it matches; "" if it matched an argument or no value
	Decides bool   // it matches the deciding reading, not only another one
	Unbound bool   // it names a guessed kind, or the common name of several tools, so it can only tighten
	Unmet   string // why its condition does not hold; "" if it holds
	Won     bool
}

// GrantMatch is one grant for the subject's tool.
type GrantMatch struct {
	Grant    *Grant
	Obstacle string // why it does not cover the subject; "" if it does
}

// Explain is Evaluate with reasons. It is slow.
func Explain(p *Policy, c Context, s *Subject) Explanation {
	e := Explanation{Finding: Evaluate(p, c, s)}
	if p == nil || p.views == nil {
		return e
	}
	view := p.viewOf(s)
	args := pattern.Arguments{Raw: s.Arguments}
	for i := range view.rules {
		r := &view.rules[i]
		for j, form := range append([]Form{s.Decides}, s.Also...) {
			if n := len(e.Matches); n > 0 && e.Matches[n-1].Rule == r.Rule {
				break // already listed, through another of its alternatives
			}
			if !r.matches(form, s, &args) || r.exceeded(s.Risk) {
				continue
			}
			var unmet string
			if won := r.Rule == e.Finding.Rule; !won && !r.applies(&c, s) {
				unmet, _ = r.unmet(&c, s)
			}
			e.Matches = append(e.Matches, Match{
				Rule:    r.Rule,
				Value:   r.spelling(form),
				Decides: j == 0,
				Unbound: r.weak,
				Unmet:   unmet,
				Won:     r.Rule == e.Finding.Rule,
			})
			break
		}
	}
	for _, g := range slices.Backward(view.grants) {
		e.Grants = append(e.Grants, GrantMatch{g, g.obstacle(c, s, &args)})
	}
	return e
}

func (r *viewRule) spelling(form Form) string {
	for _, v := range form {
		if r.pattern.Glob.Match(v) {
			return v
		}
	}
	return ""
}

// String returns the rule on one line: `read_file "*.env" deny (permissions.jsonc:7, file)`.
func (r *Rule) String() string {
	if r.text != "" {
		return r.text // set by compile
	}
	return r.describe()
}

func (r *Rule) describe() string {
	action := r.Action.String()
	if r.Capped {
		action += " up to " + r.Risk.String()
	}
	if r.Approvers > 0 {
		action += fmt.Sprintf(" by %d persons", r.Approvers)
	}
	if when := r.When.String(); when != "" {
		action += " when " + when
	}
	return fmt.Sprintf("%s %s %s (%s)", r.Tool, strconv.Quote(r.Pattern), action, origin(r.Source, r.Layer))
}

// String returns the grant on one line: `shell_exec "git push *" up to NETWORK (permissions.jsonc:31, always)`.
func (g *Grant) String() string {
	return fmt.Sprintf("%s %s up to %s (%s)", g.Tool, strconv.Quote(g.Covers()), g.Risk, origin(g.Source, g.Layer))
}

// Covers returns the grant's pattern and the folder that the grant is bound to, for people.
func (g *Grant) Covers() string {
	if g.Folder == "" {
		return g.Pattern
	}
	return g.Pattern + " in " + g.Folder + " as it is"
}

func origin(source string, layer Layer) string {
	if source == "" {
		return string(layer)
	}
	return filepath.Base(source) + ", " + string(layer)
}
