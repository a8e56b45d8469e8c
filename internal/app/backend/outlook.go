package backend

import (
	"time"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/permissions"
)

// Outlook is what would happen to a call of a tool whose values match no pattern.
type Outlook struct {
	Verdict  string // allow, ask, confirm, deny, or "by risk"
	Rule     string // the rule that gives the verdict, or another reason
	Patterns int    // how many rules for this tool look at values
}

// OutlookOf returns the outlook for a tool. mode and level are those of the session.
func OutlookOf(policy *permissions.Policy, t *tools.Tool, mode gate.Mode, level string) Outlook {
	finding := permissions.Evaluate(policy, permissions.Context{Server: t.Server, Now: time.Now()}, &permissions.Subject{
		Tool: t.Qualified, Plain: t.Plain, Kind: t.Kind, KindBound: t.Bound, Risk: t.Risk(),
	})
	o := Outlook{Verdict: finding.Action.String(), Rule: "no rule matches"}
	if finding.Rule != nil {
		o.Rule = finding.Rule.String()
	}
	switch {
	case mode == gate.ModeAutoDeny:
		o.Verdict, o.Rule = permissions.Deny.String(), "mode auto-deny"
	case level != gate.AutonomyNone.String() && finding.Action != permissions.Deny:
		o.Verdict, o.Rule = "by risk", "autonomy "+level
	}
	for i := range policy.File {
		if r := &policy.File[i]; r.Pattern != "*" && concerns(r, t) {
			o.Patterns++
		}
	}
	return o
}

// concerns reports whether the rule names the tool or its kind.
func concerns(r *permissions.Rule, t *tools.Tool) bool {
	glob, err := permissions.CompileGlob(r.Tool)
	return err == nil && (glob.Match(t.Qualified) || glob.Match(t.Plain) || t.Kind != "" && glob.Match(t.Kind))
}

// Judged returns the arguments of a tool that rules look at, with their roles.
func Judged(t *tools.Tool) map[string]string {
	roles := map[string]string{}
	for argument, role := range t.Roles {
		if role != tools.Plain {
			roles[argument] = role.String()
		}
	}
	return roles
}
