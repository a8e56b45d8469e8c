// Package explain says in a sentence what a rule decided about a subject, for people and for the model.
package explain

import (
	"cmp"
	"fmt"

	"callgate/gate/tools"
	"callgate/permissions"
)

// Rule returns the name of the rule of a finding as every message and record has it.
func Rule(f *permissions.Finding) string {
	if f.Rule == nil {
		return "no rule matches"
	}
	return f.Rule.String()
}

// Denial explains why a rule denies the subject.
func Denial(f *permissions.Finding) string {
	who := "The rule"
	if f.Veto {
		who = "The agent profile's rule"
	}
	return fmt.Sprintf("%s %s matches %s.", who, Rule(f), Subject(&f.Subject))
}

// AskedBy returns the By of a verdict that asks about the subject.
func AskedBy(f *permissions.Finding) string {
	switch {
	case len(f.Subject.Effects) > 0:
		return "effect"
	case f.Rule == nil:
		return "default"
	default:
		return "rule"
	}
}

// Ask explains why a person is asked about the subject.
func Ask(f *permissions.Finding) string {
	switch {
	case f.Short != nil && len(f.Subject.Effects) > 0:
		return fmt.Sprintf("%s does more than the rule %s names: %s.", Subject(&f.Subject), f.Short, tools.Visible(f.Beyond))
	case len(f.Subject.Effects) > 0:
		return fmt.Sprintf("%s does more than its text shows: %s.", Subject(&f.Subject), tools.Visible(f.Subject.EffectText()))
	case f.Short != nil:
		return fmt.Sprintf("The rule %s stops short of %s: it covers what looks, builds, tests and changes the workspace.", f.Short, Subject(&f.Subject))
	case f.Unmet != nil:
		return fmt.Sprintf("The rule %s would allow %s, but its condition is not met: %s.", f.Unmet, Subject(&f.Subject), tools.Visible(f.Why))
	case f.Weak != nil:
		return weak(f)
	case f.Rule == nil:
		return fmt.Sprintf("No rule says anything about %s.", Subject(&f.Subject))
	default:
		return fmt.Sprintf("The rule %s asks about %s.", Rule(f), Subject(&f.Subject))
	}
}

// weak explains why an allow that matches the subject does not count, and what would count.
func weak(f *permissions.Finding) string {
	s := &f.Subject
	if s.Plain != "" {
		return fmt.Sprintf("The rule %s would allow %s, but several tools of the server would be called %s. Name %s in a rule.", f.Weak, Subject(s), s.Plain, s.Tool)
	}
	return fmt.Sprintf("The rule %s would allow %s, but nobody said that %s is of this kind: callgate guesses it, and a guess allows nothing. "+
		"Name %s in a rule, or set its kind under \"tools\" of its server in callgate.yaml.", f.Weak, Subject(s), s.Tool, s.Tool)
}

// Subject names the subject by its kind, or its tool, and its value, which is cut to 200 characters.
func Subject(s *permissions.Subject) string {
	name := cmp.Or(s.Kind, s.Tool)
	if s.Value == "" {
		return name
	}
	value := tools.Visible(s.Value)
	if runes := []rune(value); len(runes) > 200 {
		value = string(runes[:200]) + "…"
	}
	return fmt.Sprintf("%s %q", name, value)
}
