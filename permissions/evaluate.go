package permissions

import "time"

// Evaluate says what the rules say of one subject. It is pure: no I/O, no clock, no state that changes an
// answer. p MUST come from NewPolicy, With or a Store; any other policy, nil included, denies.
//
// The order of the steps is the security property: what one step denies, or leaves for a person to confirm, no
// later step lifts.
func Evaluate(p *Policy, c Context, s *Subject) Finding {
	if p == nil || p.views == nil {
		return Finding{Subject: *s, Action: Deny, Layer: LayerDefault}
	}
	view := p.viewOf(s)
	args := arguments{raw: s.Arguments}

	// The agent profile is heard alone first. Its deny is a veto: no later rule of the file lifts it. Its
	// other actions are only where the file starts from.
	if v := view.strictest(view.agent, s, &args); v.action == Deny {
		return v.finding(s, true)
	}

	// Agent and file are one list: the last rule that matches wins, and no match means ask.
	v := view.strictest(len(view.rules), s, &args)

	// Such a subject is here for its denials only: something else was asked whether the call may run.
	if s.DeniesOnly && v.action > Confirm {
		v = ruling{action: Allow}
	}

	// Rules and grants speak of the text of a subject. What it does beyond its text a person has to see.
	if s.Effect != "" {
		v.action = v.action.Stricter(Ask)
	}

	f := v.finding(s, false)
	if f.Action == Ask && s.Effect == "" {
		f.Grant = view.release(c, s, &args)
	}
	return f
}

// strictest judges every reading of the subject on its own by the first n rules. The reading that decides may
// give any action. Another one, such as the file that a symbolic link leads to, counts when it is denied or
// needs a confirmation: the strictest wins.
func (v *view) strictest(n int, s *Subject, args *arguments) ruling {
	worst := v.lastMatch(n, s.Decides, s.Head, s.Risk, args)
	for _, form := range s.Also {
		if r := v.lastMatch(n, form, 0, s.Risk, args); r.action <= Confirm && r.action < worst.action {
			worst = r
		}
	}
	return worst
}

// lastMatch returns what the last of the first n rules that matches the form says; ask when none does.
//
// A weak rule, see viewRule, lifts nothing: it is kept as a limit on what the rules before it say, and its
// allow counts as ask.
func (v *view) lastMatch(n int, form Form, head int, risk Risk, args *arguments) ruling {
	if n == 0 {
		return ruling{action: Ask}
	}
	limit := ruling{action: Allow}
	holds := formSignature(form)
	for i := n - 1; i >= 0; i-- {
		if holds.lacks(&v.needs[i]) {
			continue
		}
		r := &v.rules[i]
		if r.exceeded(risk) || !r.matches(form, args) || r.Action == Allow && r.Rule.pattern.overreaches(form, head) {
			continue
		}
		if !r.weak {
			if limit.action < r.Action {
				return limit
			}
			return ruling{action: r.Action, rule: r.Rule}
		}
		if action := r.Action.Stricter(Ask); action < limit.action {
			limit = ruling{action: action, rule: r.Rule, unbound: true}
		}
	}
	return ruling{action: limit.action.Stricter(Ask), rule: limit.rule, unbound: limit.unbound}
}

// matches reports whether the rule covers any spelling of the form. Deny and confirm tighten, where doubt
// means a match; ask and allow can lift an earlier deny, where doubt means none.
func (r *viewRule) matches(form Form, args *arguments) bool {
	return r.pattern.matches(form, args, r.Action <= Confirm)
}

// exceeded reports whether a subject of that risk is above the rule's ceiling.
func (r *Rule) exceeded(risk Risk) bool { return r.Capped && risk.Exceeds(r.Risk) }

// release returns the first grant that covers the subject, nil when none does.
func (v *view) release(c Context, s *Subject, args *arguments) *Grant {
	holds := formSignature(s.Decides)
	for _, g := range v.grants {
		if !holds.lacks(&g.pattern.needs) && g.obstacle(c, s, args) == "" {
			return g
		}
	}
	return nil
}

// obstacle says why the grant, whose tool matches, does not cover the subject; "" when it does.
func (g *Grant) obstacle(c Context, s *Subject, args *arguments) string {
	switch {
	case !g.pattern.matches(s.Decides, args, false), g.pattern.overreaches(s.Decides, s.Head):
		return "the pattern does not match"
	case s.Risk.Exceeds(g.Risk):
		return "the risk is " + s.Risk.String() + ", above the grant's " + g.Risk.String()
	case g.Server != "" && g.Server != c.Server:
		return "the grant is for server " + g.Server
	case g.Workspace != "" && !within(g.Workspace, c.Workspace):
		return "the grant is for " + g.Workspace
	case g.Content != "" && g.Content != s.Content:
		return "the script has changed since it was given"
	case !g.Expires.IsZero() && (c.Now.IsZero() || !c.Now.Before(g.Expires)):
		return "the grant expired at " + g.Expires.Format(time.RFC3339)
	}
	return ""
}

// ruling is a rule's action as it counts for one reading of a subject.
type ruling struct {
	action  Action
	rule    *Rule // nil when no rule matched
	unbound bool
}

func (v ruling) finding(s *Subject, veto bool) Finding {
	f := Finding{Subject: *s, Action: v.action, Layer: LayerDefault, Rule: v.rule, Veto: veto, Unbound: v.unbound}
	if v.rule != nil {
		f.Layer = v.rule.Layer
	}
	return f
}
