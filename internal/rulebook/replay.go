package rulebook

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callgate/audit"
	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/jsonx"
	"callgate/permissions"
	"callgate/proxy"
)

// replay judges a recorded call by both files: the whole call if the record is complete, otherwise its subjects.
func (sim *Simulation) replay(r *audit.Record) replay {
	rules, ok := sim.agents[r.Agent]
	switch {
	case ok:
	case r.Agent == "" || r.Agent == gate.DefaultAgent:
		rules = sim.worker
	default:
		return replay{skip: SkipAgent}
	}
	tool, place := sim.checker.Tool(r.Tool)
	if tool == nil {
		place = tools.Place{Home: sim.checker.Home}
	}
	if tool == nil || !Whole(r) {
		return rules.subjects(r, tool, sim.checker.within(place, r.Project))
	}
	request := Request{Tool: r.Tool, Arguments: r.Arguments, project: r.Project}
	before, err := sim.checker.verdict(request, rules.before)
	if err != nil {
		return replay{skip: err.Error()}
	}
	after, err := sim.checker.verdict(request, rules.after)
	if err != nil {
		return replay{skip: err.Error()}
	}
	return replay{before: before.Action, after: after.Action, beforeBy: decidedBy(&before), afterBy: decidedBy(&after)}
}

// Whole reports whether the recorded arguments are those of the call. The digest was taken before secrets were removed.
func Whole(r *audit.Record) bool {
	digest, err := jsonx.Digest(r.Arguments, r.Agent)
	return err == nil && r.Digest != "" && digest == r.Digest
}

// Why a call cannot be replayed.
const (
	SkipNoSubjects = "denied before any rule was asked: there are no subjects on record"
	SkipRedacted   = "what the rules would match was redacted or cut"
	SkipArguments  = "rules look at the tool's arguments, which are not complete on record"
	SkipOmitted    = "it touched more than one record holds"
	SkipKind       = "whether the tool's kind is certain is not on record: configure its server"
	SkipPlace      = "a relative path, and where the call ran is not on record: configure its server"
	SkipAgent      = "its agent profile no longer exists"
	SkipUnreadable = "its recorded risk is unknown"
)

// subjects judges the recorded subjects by the rules alone. For an unknown server, tool is nil and place has no folder.
func (rules sides) subjects(r *audit.Record, tool *tools.Tool, place tools.Place) replay {
	switch {
	case len(r.Subjects) == 0:
		return replay{skip: SkipNoSubjects}
	case r.Omitted > 0:
		return replay{skip: SkipOmitted}
	}
	from := permissions.Context{Server: r.Server, Workspace: place.Dir, Now: time.Now()}
	out := replay{bySubject: true, before: permissions.Allow, after: permissions.Allow}
	for i := range r.Subjects {
		s, skip := recordedSubject(r, &r.Subjects[i], tool, place)
		if skip != "" {
			return replay{skip: skip}
		}
		for _, side := range []struct {
			policy *permissions.Policy
			action *permissions.Action
			by     *string
		}{{rules.before, &out.before, &out.beforeBy}, {rules.after, &out.after, &out.afterBy}} {
			action, by, skip := ruleAction(side.policy, from, s, tool == nil)
			if skip != "" {
				return replay{skip: skip}
			}
			if s.DeniesOnly && action == permissions.Allow {
				continue // it has no say
			}
			if *side.by == "" || action < *side.action {
				*side.action, *side.by = action, by
			}
		}
	}
	return out
}

// recordedSubject returns the subject for its record, or the reason why it cannot be judged.
func recordedSubject(r *audit.Record, recorded *audit.Subject, tool *tools.Tool, place tools.Place) (*permissions.Subject, string) {
	if strings.Contains(recorded.Value, "[redacted]") || strings.Contains(recorded.Value, "…[truncated:") {
		return nil, SkipRedacted
	}
	risk, err := permissions.ParseRisk(recorded.Risk)
	if err != nil {
		return nil, SkipUnreadable
	}
	s := &permissions.Subject{Tool: recorded.Tool, Plain: proxy.Plain(recorded.Tool), Kind: recorded.Kind, Value: recorded.Value, Risk: risk}
	switch {
	case s.Value == "":
	case isPath(s.Kind):
		if place.Dir == "" && !filepath.IsAbs(s.Value) {
			return nil, SkipPlace
		}
		s.Decides, s.Also = pathForms(s.Kind, s.Value, place)
	default:
		s.Decides = permissions.Form{s.Value}
	}
	// A subject whose tool is a kind stands for all tools of that kind.
	s.KindBound = tool != nil && tool.Bound || recorded.Tool == recorded.Kind
	if s.Kind == "" {
		if !Whole(r) {
			return nil, SkipArguments
		}
		s.Arguments = r.Arguments
	}
	// A file that a shell command reads is there only for denials, and so is a subject that was allowed without a rule.
	s.DeniesOnly = recorded.Action == permissions.Allow.String() && recorded.Rule == noRuleMatches ||
		r.Kind == tools.KindShell && recorded.Tool == tools.KindReadFile
	return s, ""
}

// isPath reports whether the kind's values are paths of files.
func isPath(kind string) bool {
	switch kind {
	case tools.KindReadFile, tools.KindWriteFile, tools.KindEditFile, tools.KindDeleteFile:
		return true
	}
	return false
}

// pathForms returns the readings of a path that a call of the kind would have now: all spellings, with links resolved.
func pathForms(kind, path string, place tools.Place) (permissions.Form, []permissions.Form) {
	tool := tools.KindTool(kind)
	arguments := slices.Concat([]byte("{"), jsonx.Quote(tools.PrimaryArgument(tool)), []byte(":"), jsonx.Quote(path), []byte("}"))
	a := tools.Analyze(tools.Call{Tool: tool, Arguments: arguments, Place: place})
	return a.Subjects[0].Decides, a.Subjects[0].Also
}

// noRuleMatches is what records say if no rule matched.
const noRuleMatches = "no rule matches"

// ruleAction returns what the rules and grants say about one subject. If it is open whether the kind is certain, both
// cases have to give the same action; otherwise it returns skip.
func ruleAction(p *permissions.Policy, from permissions.Context, s *permissions.Subject, open bool) (action permissions.Action, by, skip string) {
	action, by = foldFinding(p, from, s)
	if open && !s.KindBound && s.Kind != "" {
		bound := *s
		bound.KindBound = true
		if other, _ := foldFinding(p, from, &bound); other != action {
			return permissions.Deny, "", SkipKind
		}
	}
	return action, by, ""
}

// foldFinding reduces a finding to what happens: allow, ask or deny.
func foldFinding(p *permissions.Policy, from permissions.Context, s *permissions.Subject) (permissions.Action, string) {
	f := permissions.Evaluate(p, from, s)
	by := noRuleMatches
	if f.Rule != nil {
		by = f.Rule.String()
	}
	switch {
	case f.Grant != nil:
		return permissions.Allow, f.Grant.String()
	case f.Action == permissions.Confirm:
		return permissions.Ask, by
	}
	return f.Action, by
}
