package provenance

import (
	"fmt"
	"path/filepath"
	"strings"

	"callgate/gate/internal/facts"
	"callgate/gate/tools"
	"callgate/internal/flow"
	"callgate/permissions"
)

// named reports whether the user's side or a rule names a destination. With strictly, which is for payments, nothing of
// the user's side counts but the user's own words. Once untrusted text was read, files of the workspace do not count,
// because that text may stand in them.
func (j *Asker) named(v Judged, call *facts.Call, to string, strictly bool) bool {
	if j.namedByRule(v, call, to) {
		return true
	}
	if j.Session == nil {
		return false
	}
	by := flow.Prompt | flow.Answer | flow.Record
	if strictly {
		by = flow.Prompt
	} else if _, armed := j.Session.Memory.Seen(flow.Untrusted, j.trustsSource); !armed {
		by |= flow.Files
	}
	if j.Session.Memory.Know(to).Said&by != 0 {
		return true
	}
	host := strings.TrimPrefix(facts.HostOf(to), "www.")
	return host != "" && host != to && !strictly && j.Session.Memory.Know(host).Said&(flow.Prompt|flow.Answer) != 0
}

// namedByRule reports whether a rule or grant names a destination: a flow grant, a rule for destinations that allows
// it, or an allow or grant for the call whose pattern spells it out.
func (j *Asker) namedByRule(v Judged, call *facts.Call, to string) bool {
	if j.granted(GrantDestination, to, call, v.Analysis.Risk) {
		return true
	}
	if r := j.destinationRule(call, v.Analysis, to); r != nil {
		return r.Action == permissions.Allow
	}
	for i := range v.Findings {
		f := &v.Findings[i]
		pattern := ""
		switch {
		case f.Grant != nil:
			pattern = f.Grant.Pattern
		case f.Rule != nil && f.Action == permissions.Allow:
			pattern = f.Rule.Pattern
		}
		if plain := strings.ReplaceAll(pattern, `\`, ""); len(to) >= 3 && strings.Contains(plain, to) {
			return true
		}
	}
	return false
}

// spelledOut reports whether rules or grants allow every command by two words or more, as in "gh pr create *". The
// person who wrote that named the operation, and with it the place where it goes if the command names none.
func spelledOut(v Judged) (named bool) {
	for i := range v.Findings {
		f := &v.Findings[i]
		if f.Subject.DeniesOnly || f.Subject.Kind != tools.KindShell || !f.Subject.Risk.Exceeds(permissions.Write) {
			continue
		}
		pattern := ""
		switch {
		case f.Grant != nil:
			pattern = f.Grant.Pattern
		case f.Rule != nil && f.Action == permissions.Allow:
			pattern = f.Rule.Pattern
		}
		literal, _, _ := strings.Cut(pattern, "*")
		if len(strings.Fields(literal)) < 2 || strings.ContainsAny(literal, "?[{(!") {
			return false
		}
		named = true
	}
	return named
}

// destinationRule returns the rule about a destination for the call's effect, or nil. A deny of the agent's profile is
// a veto. Otherwise the file's last match counts, and the profile's if the file has none.
func (j *Asker) destinationRule(call *facts.Call, a *tools.Analysis, to string) *permissions.Rule {
	if !j.Policy.AsksDestinations() {
		return nil
	}
	agent, file := j.Policy.Destination(outgoingOf(call, a).effect, to)
	if file == nil || agent != nil && agent.Action == permissions.Deny {
		return agent
	}
	return file
}

// Denial runs the part of phase 1 that rules about destinations decide: a deny of any destination is final. It returns
// the rule and what it denies, or nil and "".
func (j *Asker) Denial(v Judged, call *facts.Call) (rule *permissions.Rule, why string) {
	if !j.Policy.AsksDestinations() {
		return nil, ""
	}
	o := outgoingOf(call, v.Analysis)
	places := o.To
	if len(places) == 0 {
		places = []string{""} // only a rule for every destination applies
	}
	for _, to := range places {
		if r := j.destinationRule(call, v.Analysis, to); r != nil && r.Action == permissions.Deny {
			return r, fmt.Sprintf("The rule %s matches the destination %s.", r, quote(to))
		}
	}
	return nil, ""
}

// trustsSource reports whether a person trusts the results of a tool.
func (j *Asker) trustsSource(tool string) bool {
	return j.granted(GrantSource, tool, nil, permissions.ReadOnly)
}

// trusts reports whether a person trusts a result, or all results of its tool.
func (j *Asker) trusts(result flow.Source) bool {
	return j.trustsSource(result.Tool) || j.granted(GrantResult, result.Call, nil, permissions.ReadOnly)
}

// granted reports whether a flow grant of the kind what covers text. If call is not nil, it must be for the call's
// server too.
func (j *Asker) granted(what, text string, call *facts.Call, risk permissions.Risk) bool {
	for g := range j.Policy.GrantsOf(what, text) {
		if risk.Exceeds(g.Risk) || !g.Expires.IsZero() && g.Expires.Before(j.Now) || g.Workspace != "" && !inFolder(g.Workspace, j.Dir) {
			continue
		}
		if call != nil && g.Server != "" && g.Server != call.Tool.Server {
			continue
		}
		return true
	}
	return false
}

func inFolder(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
