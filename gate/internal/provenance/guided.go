package provenance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"callgate/gate/internal/facts"
	"callgate/gate/tools"
	"callgate/internal/flow"
	"callgate/permissions"
)

// SendsOut reports whether a call gives others something, by its labels or by what its commands are for.
func SendsOut(call *facts.Call, a *tools.Analysis) bool {
	t := call.Tool
	if t == nil {
		return false
	}
	if t.Bound && t.Kind == "" && (t.Labels.Effect == tools.EffectOutside || t.Labels.Effect == tools.EffectMoney) {
		return true
	}
	return slices.ContainsFunc(a.Commands, func(c tools.CommandView) bool { return c.Sends })
}

// Unguided returns why level GUIDED asks about the call, or "" if the level lets it run. The level runs a known call
// that reads, that changes what is the user's own and can be undone, or that sends where the user's side or a rule
// names the destination.
func (j *Asker) Unguided(v Judged, call *facts.Call) string {
	if !slices.ContainsFunc(v.Findings, func(f permissions.Finding) bool { return !f.Subject.DeniesOnly && f.Grant == nil }) {
		return "" // an earlier "always" lets all of it run
	}
	a, t := v.Analysis, call.Tool
	o := outgoingOf(call, a)
	switch {
	case t == nil, a.Risk == permissions.Escalation:
		return "Nobody knows what it does."
	case len(a.Commands) > 0:
		return j.unguidedCommands(v, call, o)
	case t.Labels.Effect == tools.EffectNone && (a.Risk == permissions.Write || a.Risk.Exceeds(permissions.Unknown) || a.Risk == permissions.Unknown && !t.Labels.GivesSecrets()):
		return "It may do more than its label says."
	case o.effect == effectFetch && t.Bound:
		return j.unguidedFetch(v, call, o.To)
	case t.Bound && facts.FileKind(t.Kind):
		return unguidedFiles(call, a)
	case a.Risk == permissions.ReadOnly:
		return ""
	case t.Outgrown:
		return "Its arguments are not those that were labelled (callgate tools label)."
	case !t.Bound || t.Labels.Effect == "":
		return "Nobody said what the tool does (callgate tools label)."
	case a.Risk == permissions.Unknown && t.Risk() != permissions.Unknown:
		return "It does more than its label says."
	}
	return j.unguidedEffect(v, call, o)
}

// unguidedEffect is Unguided for a labelled tool.
func (j *Asker) unguidedEffect(v Judged, call *facts.Call, o Outgoing) string {
	nowhere := func(strictly bool) string {
		if len(o.To) == 0 && !o.optional {
			return "the call does not say where"
		}
		for _, to := range o.To {
			if !j.named(v, call, to, strictly) {
				return fmt.Sprintf("neither you nor a rule named %s", quote(to))
			}
		}
		return ""
	}
	switch o.effect {
	case tools.EffectDeletes:
		return "It deletes for good."
	case tools.EffectAccess:
		return "It changes who may do what."
	case tools.EffectMoney:
		if why := nowhere(true); why != "" || len(o.To) == 0 {
			return "It pays, and " + cmp.Or(why, "the call does not say whom") + "."
		}
	case tools.EffectOutside:
		if why := nowhere(false); why != "" {
			return "It sends, and " + why + "."
		}
	}
	return ""
}

// unguidedFiles is Unguided for a tool that works on files.
func unguidedFiles(call *facts.Call, a *tools.Analysis) string {
	switch {
	case a.Risk == permissions.Destructive:
		return "It deletes for good."
	case a.Risk.Exceeds(permissions.ReadOnly):
		return writesOutside(call, a)
	}
	return ""
}

func writesOutside(call *facts.Call, a *tools.Analysis) string {
	for _, w := range a.Writes {
		if !call.Place.Holds(w.Path) && (len(a.Commands) == 0 || !strings.HasPrefix(w.Path, "/dev/")) {
			return fmt.Sprintf("It writes %s, outside of the workspace.", tools.Visible(w.Path))
		}
	}
	return ""
}

// unguidedFetch is Unguided for fetches of pages. An address that nobody named and no result holds was put together,
// and can carry what the session knows.
func (j *Asker) unguidedFetch(v Judged, call *facts.Call, addresses []string) string {
	for _, to := range addresses {
		if j.named(v, call, to, false) {
			continue
		}
		sawSecret := false
		if j.Session != nil {
			if j.Session.Memory.Know(to).In != 0 {
				continue
			}
			_, sawSecret = j.Session.Memory.Seen(flow.Secret, nil)
		}
		switch {
		case facts.CarriesCode(to):
			return fmt.Sprintf("It asks for %s, which nobody named and which contains a code.", quote(to))
		case sawSecret && facts.CarriesData(to):
			return fmt.Sprintf("It asks for %s, which nobody named, after secrets were read.", quote(to))
		}
	}
	return ""
}

// unguidedCommands is Unguided for a shell text.
func (j *Asker) unguidedCommands(v Judged, call *facts.Call, o Outgoing) string {
	a := v.Analysis
	for _, c := range a.Commands {
		if c.Risk == permissions.Unknown || c.Risk == permissions.Destructive || c.Risk == permissions.Escalation {
			return fmt.Sprintf("%s risk asks under autonomy GUIDED.", c.Risk)
		}
	}
	if a.Risk == permissions.Unknown || a.Risk == permissions.Destructive {
		return fmt.Sprintf("%s risk asks under autonomy GUIDED.", a.Risk)
	}
	if outside := writesOutside(call, a); outside != "" {
		return outside
	}
	if o.effect != tools.EffectOutside {
		return ""
	}
	if len(o.To) == 0 {
		return "It sends, and the call does not say where."
	}
	for _, to := range o.To {
		if !j.named(v, call, to, false) {
			return fmt.Sprintf("It sends, and neither you nor a rule named %s.", quote(to))
		}
	}
	return ""
}
