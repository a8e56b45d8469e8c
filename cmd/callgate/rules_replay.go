package main

import (
	"strings"
	"time"

	"callgate/audit"
	"callgate/internal/jsonx"
	"callgate/internal/tools"
	"callgate/permissions"
)

// replay judges a call on record by two policies: the whole call where the record holds all of it, else its
// subjects.
func (ch *checker) replay(r *audit.Record, before, after *permissions.Policy) replay {
	if tool, _ := ch.tool(r.Tool); tool == nil || !whole(r) {
		return ch.replaySubjects(r, tool, before, after)
	}
	request := checkRequest{Tool: r.Tool, Arguments: r.Arguments}
	now, err := ch.verdict(request, before)
	if err != nil {
		return replay{skip: err.Error()}
	}
	then, err := ch.verdict(request, after)
	if err != nil {
		return replay{skip: err.Error()}
	}
	return replay{before: now.Action, after: then.Action, beforeBy: decidedBy(&now), afterBy: decidedBy(&then)}
}

// whole reports whether the arguments on record are those of the call: the digest was taken before secrets
// were.
func whole(r *audit.Record) bool {
	digest, err := jsonx.Digest(r.Arguments, r.Agent)
	return err == nil && r.Digest != "" && digest == r.Digest
}

// Why a call cannot be replayed.
const (
	skipNoSubjects = "denied before any rule was asked: there are no subjects on record"
	skipRedacted   = "a secret was taken out of what the rules would match, or it was cut"
	skipArguments  = "rules look at the arguments of the tool, which are not whole on record"
	skipOmitted    = "it touched more than one record holds"
	skipKind       = "whether the tool's kind is certain is not on record: configure its server"
	skipUnreadable = "its risk is not understood"
)

// replaySubjects judges the recorded subjects by the rules alone. tool is nil where the server is not known.
func (ch *checker) replaySubjects(r *audit.Record, tool *tools.Tool, before, after *permissions.Policy) replay {
	switch {
	case len(r.Subjects) == 0:
		return replay{skip: skipNoSubjects}
	case r.Omitted > 0:
		return replay{skip: skipOmitted}
	}
	out := replay{bySubject: true, before: permissions.Allow, after: permissions.Allow}
	for i := range r.Subjects {
		s, skip := recordedSubject(r, &r.Subjects[i], tool)
		if skip != "" {
			return replay{skip: skip}
		}
		for _, side := range []struct {
			policy *permissions.Policy
			action *permissions.Action
			by     *string
		}{{before, &out.before, &out.beforeBy}, {after, &out.after, &out.afterBy}} {
			action, by, skip := ch.ask(side.policy, r.Server, s, tool == nil)
			if skip != "" {
				return replay{skip: skip}
			}
			if s.DeniesOnly && action == permissions.Allow {
				continue // it takes no part
			}
			if *side.by == "" || action < *side.action {
				*side.action, *side.by = action, by
			}
		}
	}
	return out
}

// recordedSubject makes a subject of what the record holds of it.
func recordedSubject(r *audit.Record, recorded *audit.Subject, tool *tools.Tool) (*permissions.Subject, string) {
	if strings.Contains(recorded.Value, "[redacted]") || strings.Contains(recorded.Value, "…[truncated:") {
		return nil, skipRedacted
	}
	risk, err := permissions.ParseRisk(recorded.Risk)
	if err != nil {
		return nil, skipUnreadable
	}
	s := &permissions.Subject{Tool: recorded.Tool, Kind: recorded.Kind, Value: recorded.Value, Risk: risk}
	if s.Value != "" {
		s.Decides = permissions.Form{s.Value}
	}
	// A subject of another kind than its tool stands for that kind's own tools.
	s.KindBound = tool != nil && tool.Bound || recorded.Tool == recorded.Kind
	if s.Kind == "" {
		if !whole(r) {
			return nil, skipArguments
		}
		s.Arguments = r.Arguments
	}
	// What a shell reads is there for its denials only, and so is what was allowed without a rule.
	s.DeniesOnly = recorded.Action == permissions.Allow.String() && recorded.Rule == noRuleMatches ||
		r.Kind == tools.KindShell && recorded.Tool == tools.KindReadFile
	return s, ""
}

// noRuleMatches is how records spell that no rule matched.
const noRuleMatches = "no rule matches"

// ask says what the rules and grants say of one subject. Where it is open whether the kind is certain, both
// cases have to come to the same.
func (ch *checker) ask(p *permissions.Policy, server string, s *permissions.Subject, open bool) (permissions.Action, string, string) {
	action, by := saysOf(p, server, s)
	if open && !s.KindBound && s.Kind != "" {
		bound := *s
		bound.KindBound = true
		if other, _ := saysOf(p, server, &bound); other != action {
			return permissions.Deny, "", skipKind
		}
	}
	return action, by, ""
}

// saysOf folds a finding to what happens: allow, ask or deny.
func saysOf(p *permissions.Policy, server string, s *permissions.Subject) (permissions.Action, string) {
	f := permissions.Evaluate(p, permissions.Context{Server: server, Now: time.Now()}, s)
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
