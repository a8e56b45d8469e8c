package gate

import (
	"fmt"

	"callgate/gate/tools"
	"callgate/permissions"
)

// describeRule names the rule of a finding the way every message and record does.
func describeRule(f *permissions.Finding) string {
	if f.Rule == nil {
		return "no rule matches"
	}
	return f.Rule.String()
}

func denialReason(f *permissions.Finding) string {
	who := "The rule"
	if f.Veto {
		who = "The agent profile's rule"
	}
	return fmt.Sprintf("%s %s matches %s.", who, describeRule(f), describeSubject(&f.Subject))
}

func askedBy(f *permissions.Finding) string {
	switch {
	case len(f.Subject.Effects) > 0:
		return "effect"
	case f.Rule == nil:
		return "default"
	default:
		return "rule"
	}
}

func askReason(f *permissions.Finding) string {
	switch {
	case f.Short != nil && len(f.Subject.Effects) > 0:
		return fmt.Sprintf("%s does more than the rule %s names: %s.", describeSubject(&f.Subject), f.Short, tools.Visible(f.Beyond))
	case len(f.Subject.Effects) > 0:
		return fmt.Sprintf("%s does more than its text shows: %s.", describeSubject(&f.Subject), tools.Visible(f.Subject.EffectText()))
	case f.Short != nil:
		return fmt.Sprintf("The rule %s stops short of %s: it covers what looks, builds, tests and changes the workspace.", f.Short, describeSubject(&f.Subject))
	case f.Unmet != nil:
		return fmt.Sprintf("The rule %s would allow %s, but its condition does not hold: %s.", f.Unmet, describeSubject(&f.Subject), tools.Visible(f.Why))
	case f.Rule == nil:
		return fmt.Sprintf("No rule says anything about %s.", describeSubject(&f.Subject))
	default:
		return fmt.Sprintf("The rule %s asks about %s.", describeRule(f), describeSubject(&f.Subject))
	}
}

func describeSubject(s *permissions.Subject) string {
	name := s.Kind
	if name == "" {
		name = s.Tool
	}
	if s.Value == "" {
		return name
	}
	value := tools.Visible(s.Value)
	if runes := []rune(value); len(runes) > 200 {
		value = string(runes[:200]) + "…"
	}
	return fmt.Sprintf("%s %q", name, value)
}

// reasons tells, for every subject, what the rules say; marks come first because they outrank rules.
func (v *Verdict) reasons() []Reason {
	reasons := make([]Reason, 0, len(v.Marks)+len(v.Findings))
	for _, m := range v.Marks {
		reasons = append(reasons, Reason{Subject: m.Code, Rule: m.Text, Layer: "mark", Action: permissions.Confirm})
	}
	for i := range v.Findings {
		f := &v.Findings[i]
		if f.Subject.DeniesOnly && f.Action == permissions.Allow {
			continue
		}
		r := Reason{Subject: describeSubject(&f.Subject), Rule: describeRule(f), Layer: f.Layer, Action: f.Action}
		if f.Grant != nil {
			r.Rule, r.Layer, r.Action = f.Grant.String(), f.Grant.Layer, permissions.Allow
		}
		reasons = append(reasons, r)
	}
	return reasons
}
