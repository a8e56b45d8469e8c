package permissions

import (
	"slices"
	"time"

	"callgate/permissions/internal/pattern"
)

// Evaluate returns what the rules say about one subject. It is pure: no I/O, no clock, no state that changes an answer.
// p MUST come from NewPolicy, With or a Store; any other policy, nil included, denies.
//
// The order of the steps is the security property: no later step lifts a deny or a confirm of an earlier one.
func Evaluate(p *Policy, c Context, s *Subject) Finding {
	if p == nil || p.views == nil {
		return Finding{Subject: *s, Action: Deny, Layer: LayerDefault}
	}
	view := p.viewOf(s)
	args := pattern.Arguments{Raw: s.Arguments}

	// The agent profile decides alone first. Its deny is a veto that no later rule of the file lifts. Its other actions
	// are only the starting point for the file.
	if v := view.strictest(view.agent, &c, s, &args); v.action == Deny {
		return v.finding(s, true)
	}

	// Agent and file are one list: the last rule that matches wins, and no match means ask.
	v := view.strictest(len(view.rules), &c, s, &args)

	// This subject is here only for its denials. Another subject decides whether the call may run.
	if s.DeniesOnly && len(s.Effects) == 0 && v.action > Confirm && !v.asksToRead(p, c, s) && !v.asksByName(s) {
		return ruling{action: Allow}.finding(s, false)
	}

	f := v.finding(s, false)
	if v.unmet != nil && f.Action == Ask {
		f.Unmet = v.unmet
		f.Why, _ = v.unmet.unmet(&c, s)
	}
	if f.Action == Ask || f.Action == Allow && c.Graded && !s.DeniesOnly {
		view.release(c, s, &args, &f)
	}
	return f
}

// asksToRead reports whether a rule for reading asks about a file outside the workspace that a command reads, and the
// rule or grant that lets the command run does not name the file: "cat /etc/hosts" names it, "cat *" does not, and "*"
// covers it. "*": "ask" is the default, not a rule for reading.
func (v ruling) asksToRead(p *Policy, c Context, s *Subject) bool {
	if s.By == nil || v.action != Ask || v.rule == nil || v.rule.Tool == "*" && v.rule.pattern.All {
		return false
	}
	by := Evaluate(p, c, s.By)
	pattern := by.pattern()
	if pattern == nil || pattern.All {
		return pattern == nil
	}
	exact, _, whole := pattern.Spells(s.By.Decides[0])
	return !Effect{Named: s.ByNamed}.namedBy(exact, whole) && !whole
}

// asksByName reports whether a rule names a command that needs no allow of its own, and asks: "exit *". A rule for
// every command does not count: it only says what happens if nothing matches.
func (v ruling) asksByName(s *Subject) bool {
	return s.Kind == ShellKind && v.action == Ask && v.rule != nil && !v.rule.pattern.All
}

// pattern returns the pattern of the rule or grant that lets the subject run, or nil.
func (f *Finding) pattern() *pattern.Value {
	switch {
	case f.Grant != nil:
		return f.Grant.pattern
	case f.Action == Allow && f.Rule != nil:
		return f.Rule.pattern
	}
	return nil
}

// strictest judges each reading of the subject by the first n rules. The deciding reading may give any action. Another
// reading, such as a symbolic link's target, counts only if it is denied or needs a confirmation. The strictest wins.
func (v *view) strictest(n int, c *Context, s *Subject, args *pattern.Arguments) ruling {
	worst := v.lastMatch(n, c, s.Decides, s, true, args)
	for _, form := range s.Also {
		if r := v.lastMatch(n, c, form, s, false, args); r.action <= Confirm && r.stricter(&worst) {
			worst = r
		}
	}
	return worst
}

// lastMatch returns the action of the last of the first n rules that matches the form, or ask if none does. An allow
// that does not reach the subject (see names.go) does not match, and the rules before it count.
//
// A weak rule (see viewRule) lifts nothing. It only limits the rules before it, and its allow counts as ask.
func (v *view) lastMatch(n int, c *Context, form Form, s *Subject, decides bool, args *pattern.Arguments) ruling {
	limit, none := ruling{action: Allow}, ruling{}
	var room [64]int32
	left := v.patterns.Backward(room[:0], n, form, args)
	for i := left.Next(); i >= 0; i = left.Next() {
		r := &v.rules[i]
		if r.exceeded(s.Risk) || !r.matches(form, s, args) {
			continue
		}
		if !r.applies(c, s) {
			switch {
			case r.Action == Allow && decides && none.unmet == nil:
				none.unmet = r.Rule
			case r.Action == Ask && limit.action == Allow && r.doubtful(c, s):
				limit = ruling{action: Ask, rule: r.Rule} // the rules before it still hold, but can no longer allow
			}
			continue
		}
		if r.Action == Allow && decides && !r.reaches(form, s, &none) {
			continue
		}
		if !r.weak {
			if found := (ruling{action: r.Action, rule: r.Rule}); !limit.stricter(&found) {
				limit = found
			}
			return limit.after(none)
		}
		if r.Action == Allow && decides && none.weak == nil {
			none.weak = r.Rule
		}
		if found := (ruling{action: r.Action.Stricter(Ask), rule: r.Rule, unbound: true}); found.stricter(&limit) {
			limit = found
		}
	}
	return ruling{action: limit.action.Stricter(Ask), rule: limit.rule, unbound: limit.unbound}.after(none)
}

// reaches reports whether an allow's pattern names everything that it would release. none gets the first allow that
// fails.
func (r *viewRule) reaches(form Form, s *Subject, none *ruling) bool {
	if r.pattern.Overreaches(form, s.Head) {
		return false
	}
	beyond := uncovered(r.pattern, s)
	if beyond == "" || r.weak {
		return true
	}
	if none.short == nil {
		none.short, none.beyond = r.Rule, beyond
	}
	return false
}

// matches reports whether the rule matches any spelling of the form. If in doubt, a deny or confirm matches, because it
// tightens. An ask or allow does not, because it could lift an earlier deny.
func (r *viewRule) matches(form Form, s *Subject, args *pattern.Arguments) bool {
	return r.pattern.Matches(form, args, r.Action <= Confirm) || r.bare && r.pattern.Begins(form, s.Head)
}

// exceeded reports whether a risk is above the rule's ceiling.
func (r *Rule) exceeded(risk Risk) bool { return r.Capped && risk.Exceeds(r.Risk) }

// release stores in f the first grant that covers the subject.
func (v *view) release(c Context, s *Subject, args *pattern.Arguments, f *Finding) {
	var room [64]int32
	left := v.granted.Backward(room[:0], len(v.grants), s.Decides, args)
	for i := left.Next(); i >= 0; i = left.Next() {
		if g := v.grants[i]; g.obstacle(c, s, args) == "" {
			f.Grant = g
			return
		}
	}
}

// FolderGrant returns the grant to read folder with the denied files below it, or nil. denied is the digest of these
// files.
func FolderGrant(p *Policy, c Context, s *Subject, folder, denied string) *Grant {
	if p == nil || p.views == nil || folder == "" || denied == "" {
		return nil
	}
	args := pattern.Arguments{Raw: s.Arguments}
	for _, g := range slices.Backward(p.viewOf(s).grants) {
		if g.Folder == folder && g.Denied == denied && g.misses(c, s, &args) == "" {
			return g
		}
	}
	return nil
}

// obstacle returns why the grant, whose tool matches, does not cover the subject, or "" if it does.
func (g *Grant) obstacle(c Context, s *Subject, args *pattern.Arguments) string {
	if g.Folder != "" {
		return "the grant is for reading " + g.Folder + " with the denied files in it"
	}
	return g.misses(c, s, args)
}

// misses is obstacle without the check of Folder.
func (g *Grant) misses(c Context, s *Subject, args *pattern.Arguments) string {
	switch {
	case !g.pattern.Matches(s.Decides, args, false), g.pattern.Overreaches(s.Decides, s.Head):
		return "the pattern does not match"
	case uncovered(g.pattern, s) != "":
		return "the pattern does not reach it: " + uncovered(g.pattern, s)
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
	short   *Rule  // an allow that matched but did not reach the subject
	beyond  string // what it did not reach
	unmet   *Rule  // an allow that matched, but its condition does not hold
	weak    *Rule  // an allow that matched only a guess of what the tool is
}

// stricter reports whether v is stricter than w. Of two confirms, the one that needs more approvers is stricter.
func (v *ruling) stricter(w *ruling) bool {
	return v.action < w.action || v.action == w.action && v.approvers() > w.approvers()
}

func (v *ruling) approvers() int {
	if v.rule == nil {
		return 0
	}
	return v.rule.Approvers
}

// after returns v with the allows that a scan met but that did not count.
func (v ruling) after(met ruling) ruling {
	v.short, v.beyond, v.unmet, v.weak = met.short, met.beyond, met.unmet, met.weak
	return v
}

func (v ruling) finding(s *Subject, veto bool) Finding {
	f := Finding{Subject: *s, Action: v.action, Layer: LayerDefault, Rule: v.rule, Veto: veto, Unbound: v.unbound}
	if v.rule != nil {
		f.Layer = v.rule.Layer
	}
	if v.action == Ask {
		f.Short, f.Beyond, f.Weak = v.short, v.beyond, v.weak
	}
	return f
}
