package companion

import (
	"callgate/audit"
	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
	"callgate/permissions"
)

// maxResult bounds the result in a tool_result frame, in bytes. The model gets all of a larger result; approvers get
// only its size.
const maxResult = 1 << 20

// stream turns the gate's events into the frames of one client. Only this file turns gate types into wire types. A
// stream MUST have one user at a time.
type stream struct {
	sessions map[string]bool // ids of the wanted sessions; nil means all
	bare     bool            // the client learns which sessions there are, but not what happens in them
	roster   roster
}

func newStream(sessions []string, as credentials.Credential) *stream {
	s := &stream{roster: roster{}, bare: as != credentials.Approve && as != credentials.View}
	for _, id := range sessions {
		if id == wire.AllSessions {
			s.sessions = nil
			break
		}
		if s.sessions == nil {
			s.sessions = make(map[string]bool)
		}
		s.sessions[id] = true
	}
	return s
}

// wants reports whether the client subscribed to the session. Records without one go to those who watch all.
func (s *stream) wants(session string) bool { return s.sessions == nil || s.sessions[session] }

// own returns the frames that this client gets after the common frames of an event.
func (s *stream) own(event gate.Event) (out []any) {
	for _, state := range s.roster.apply(event) {
		out = append(out, state)
	}
	return out
}

// frames returns the frames that all interested clients get for an event, in order.
func frames(event gate.Event) (out []any) {
	switch e := event.(type) {
	case gate.SessionOpened:
		out = append(out, teamUpdate(e.Info), autonomyChanged(e.Info.ID, e.Info.Autonomy, ""))
	case gate.SessionClosed:
		out = append(out, wire.NoTeam(e.Info.ID))
	case gate.Asked:
		out = append(out, approveRequest(e.Approval))
	case gate.Resolved:
		out = append(out, resolved(e)...)
	case gate.Started:
		out = append(out, wire.ToolStart{
			Head: wire.NewHead(wire.TypeToolStart, e.SessionID), AgentID: e.Agent, ToolCallID: e.ID, Tool: e.Tool,
			Args: wire.Object(e.Arguments), Risk: e.Risk.String(), RiskLabel: e.Risk.Label(),
		})
	case gate.Finished:
		out = append(out, result(e))
	case gate.AutonomyChanged:
		out = append(out, autonomyChanged(e.SessionID, e.Level, e.By))
	case gate.Recorded:
		if e.Record.Event == audit.Decision {
			out = append(out, auditEntry(e.Record))
			if escalation, ok := escalated(e.Record); ok {
				out = append(out, escalation)
			}
		}
	}
	if e, ok := event.(framed); ok {
		out = append(out, e.frame())
	}
	return out
}

// strategyOf guesses how the agents of a session work together.
func strategyOf(agents []gate.AgentInfo) string {
	if len(agents) > 1 {
		return "delegate"
	}
	return "single"
}

// escalated returns the error frame for a call that would raise privileges and was refused without asking.
func escalated(r audit.Record) (wire.Error, bool) {
	if r.Risk != permissions.Escalation.String() || r.By != "risk" || r.Decision != gate.DecidedRejected {
		return wire.Error{}, false
	}
	return wire.Error{Head: wire.NewHead(wire.TypeError, r.SessionID), Code: wire.CodeEscalation, ToolCallID: r.CallID, Message: r.Reason}, true
}

func teamUpdate(info gate.SessionInfo) wire.TeamUpdate {
	f := wire.TeamUpdate{Head: wire.NewHead(wire.TypeTeamUpdate, info.ID), Agents: []wire.TeamAgent{}, Strategy: strategyOf(info.Agents)}
	for _, a := range info.Agents {
		f.Agents = append(f.Agents, wire.TeamAgent{
			AgentID: a.ID, Name: a.Name, Role: a.Role, Goal: a.Goal, Domain: a.Domain, Provider: a.Provider, Model: a.Model, Roles: converted(a.Roles, func(r gate.AgentRole) wire.AgentRole { return wire.AgentRole(r) }),
			Tools: wire.List(info.Tools), Client: wire.Host(info.Client), Permissions: info.Mode,
		})
	}
	return f
}

// bareFrames returns the frames for clients that neither watch nor answer.
func bareFrames(event gate.Event) []any {
	switch e := event.(type) {
	case gate.SessionOpened:
		return []any{teamUpdate(e.Info)}
	case gate.SessionClosed:
		return []any{wire.NoTeam(e.Info.ID)}
	}
	return nil
}

func autonomyChanged(session, level, by string) wire.AutonomyChanged {
	return wire.AutonomyChanged{Head: wire.NewHead(wire.TypeAutonomyChanged, session), Level: level, By: by}
}

func approveRequest(a *gate.Approval) wire.ToolApproveRequest {
	f := wire.ToolApproveRequest{
		Head:       wire.NewHead(wire.TypeToolApproveRequest, a.SessionID),
		AgentID:    a.Agent,
		ToolCallID: a.ID,
		ApprovalID: a.ID,
		WorkerID:   a.Worker,
		Server:     a.Server,
		Tool:       a.Tool,
		Kind:       a.Kind,
		Args:       wire.Object(a.Arguments),
		ArgsDigest: a.Digest,
		Client:     wire.Host(a.Host),
		Origin:     wire.Origin(a.Origin),
		Undo:       (*wire.Undo)(a.Undo),
		Reason:     a.Reason,
		Reasons:    make([]wire.Reason, 0, len(a.Reasons)),
		Always:     make([]wire.Offer, 0, len(a.Offers)),

		Description:       a.Says,
		DefinitionChanged: (*wire.DefinitionChange)(a.Redefined),
		Rewritten:         rewritten(a.Rewrite),
		CreatedAt:         a.CreatedAt.UTC(),
		ExpiresAt:         a.ExpiresAt.UTC(),
		AwaitsHost:        a.AwaitsHost,
		Presence:          a.Presence,
		Approvers:         a.Approvers,
		ApprovedBy:        a.ApprovedBy,
		Prompt:            a.Prompt,
	}
	for _, r := range a.Reasons {
		f.Reasons = append(f.Reasons, wire.Reason{Subject: r.Subject, Rule: r.Rule, Layer: string(r.Layer), Action: r.Action.String()})
	}
	for _, o := range a.Offers {
		f.Always = append(f.Always, wire.Offer{Tool: o.Tool, Pattern: o.Pattern, Risk: o.Risk.String(), Subject: o.Subject, Default: o.Default, NewlyAllows: (*wire.Widening)(o.NewlyAllows), Approved: o.Approved})
	}
	for _, m := range a.Marks {
		f.Marks = append(f.Marks, markOf(m))
	}
	analysis := a.Analysis
	if analysis == nil {
		f.Risk = wire.Risk{Class: "UNKNOWN", Label: "high"}
		return f
	}
	f.Summary = analysis.Summary
	f.Risk = wire.Risk{Class: analysis.Risk.String(), Label: analysis.Risk.Label(), Category: analysis.Category}
	for _, c := range analysis.Commands {
		f.Commands = append(f.Commands, wire.Command{Argv: c.Argv, Via: c.Via, Writes: c.Writes, Reads: c.Reads, Risk: c.Risk.String()})
	}
	return f
}

func markOf(m tools.Mark) wire.Mark {
	f := wire.Mark{Code: m.Code, Text: m.Text, Quote: m.Quote}
	if m.From != (tools.Source{}) {
		f.From = &wire.Source{ToolCallID: m.From.Call, Tool: m.From.Tool, Server: m.From.Server, At: m.From.At}
	}
	return f
}

func resolved(e gate.Resolved) []any {
	out := []any{wire.ToolApproveResolved{
		Head: wire.NewHead(wire.TypeToolApproveResolved, e.SessionID), ToolCallID: e.ID, Decision: e.Decision, By: e.By, Reason: e.Reason,
	}}
	if e.Decision == "timeout" {
		out = append(out, wire.Error{
			Head: wire.NewHead(wire.TypeError, e.SessionID), Code: wire.CodeApprovalTimeout, ToolCallID: e.ID,
			Message: "nobody answered in time: the call was denied",
		})
	}
	return out
}

func result(e gate.Finished) wire.ToolResult {
	f := wire.ToolResult{
		Head: wire.NewHead(wire.TypeToolResult, e.SessionID), AgentID: e.Agent, ToolCallID: e.ID, Tool: e.Tool,
		Duration: e.Duration.Milliseconds(), Result: e.Result, IsError: e.IsError,
	}
	if len(e.Result) > maxResult {
		f.Result, f.Omitted = nil, len(e.Result)
	}
	return f
}

func auditEntry(r audit.Record) wire.AuditEntry {
	return wire.AuditEntry{
		Head: wire.NewHead(wire.TypeAuditEntry, r.SessionID), ToolCallID: r.CallID, AgentID: r.Agent, Tool: r.Tool, Risk: r.Risk, RiskLabel: labelOf(r.Risk),
		Decision: r.Decision, Timestamp: r.Time.UTC(), Summary: r.Summary, By: r.By, From: r.From, Rule: r.Rule, Digest: r.Digest,
	}
}

// labelOf returns the label of a risk class, or "" for any other text.
func labelOf(class string) string {
	risk, err := permissions.ParseRisk(class)
	if err != nil {
		return ""
	}
	return risk.Label()
}

func rewritten(r *gate.Rewrite) *wire.Rewrite {
	if r == nil {
		return nil
	}
	return &wire.Rewrite{By: r.By, Original: r.Original}
}

// converted converts each item of a list. nil stays nil.
func converted[From, To any](list []From, one func(From) To) []To {
	if list == nil {
		return nil
	}
	out := make([]To, len(list))
	for i, item := range list {
		out[i] = one(item)
	}
	return out
}
