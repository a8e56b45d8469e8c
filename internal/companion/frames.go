package companion

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"callgate/audit"
	"callgate/gate"
	"callgate/permissions"
)

// maxResult bounds the result in a tool_result frame, in bytes. The model gets all of it; approvers get
// the size of what is larger.
const maxResult = 1 << 20

// stream turns the gate's events into the frames of one client. It is the one place where gate types
// become wire types. A stream has one user at a time.
type stream struct {
	sessions map[string]bool // wanted; nil means all
	bare     bool            // the client is told which sessions there are, and nothing of what happens in them
	roster   roster
}

func newStream(sessions []string, as Credential) *stream {
	s := &stream{roster: roster{}, bare: as != CredentialApprove && as != CredentialView}
	for _, id := range sessions {
		if id == AllSessions {
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

// wants reports whether the client subscribed to the session. Records of no session are for those who
// watch all.
func (s *stream) wants(session string) bool { return s.sessions == nil || s.sessions[session] }

// frames returns what the client is to be sent for one event, in order.
func (s *stream) frames(event gate.Event) []any {
	if !s.wants(event.Session()) {
		return nil
	}
	if s.bare {
		return bareFrames(event)
	}
	var out []any
	switch e := event.(type) {
	case gate.SessionOpened:
		out = append(out, teamUpdate(e.Info), autonomyChanged(e.Info.ID, e.Info.Autonomy, ""))
	case gate.SessionClosed:
		out = append(out, noTeam(e.Info.ID))
	case gate.Asked:
		out = append(out, approveRequest(e.Approval))
	case gate.Resolved:
		out = append(out, resolved(e)...)
	case gate.Started:
		out = append(out, ToolStart{
			Head: head(TypeToolStart, e.SessionID), AgentID: e.Agent, ToolCallID: e.ID, Tool: e.Tool,
			Args: object(e.Arguments), Risk: e.Risk.String(), RiskLabel: e.Risk.Label(),
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
	for _, state := range s.roster.apply(event) {
		out = append(out, state)
	}
	return out
}

// strategyOf is how the agents of a session work together, as far as callgate can tell.
func strategyOf(agents []gate.AgentInfo) string {
	if len(agents) > 1 {
		return "delegate"
	}
	return "single"
}

// escalated is the error that everybody is told of a call that would raise privileges and was refused unasked.
func escalated(r audit.Record) (Error, bool) {
	if r.Risk != permissions.Escalation.String() || r.By != "risk" || r.Decision != gate.DecidedRejected {
		return Error{}, false
	}
	return Error{Head: head(TypeError, r.SessionID), Code: CodeEscalation, ToolCallID: r.CallID, Message: r.Reason}, true
}

func head(kind, session string) Head { return Head{V: Version, Type: kind, SessionID: session} }

func teamUpdate(info gate.SessionInfo) TeamUpdate {
	f := TeamUpdate{Head: head(TypeTeamUpdate, info.ID), Agents: []TeamAgent{}, Strategy: strategyOf(info.Agents)}
	for _, a := range info.Agents {
		f.Agents = append(f.Agents, TeamAgent{
			AgentID: a.ID, Name: a.Name, Role: a.Role, Goal: a.Goal, Domain: a.Domain, Provider: a.Provider, Model: a.Model, Roles: a.Roles,
			Tools: list(info.Tools), Client: info.Client, Permissions: info.Mode,
		})
	}
	return f
}

// noTeam says that a session has ended.
func noTeam(session string) TeamUpdate {
	return TeamUpdate{Head: head(TypeTeamUpdate, session), Agents: []TeamAgent{}, Strategy: strategyOf(nil)}
}

// bareFrames is what those are told who neither watch nor answer.
func bareFrames(event gate.Event) []any {
	switch e := event.(type) {
	case gate.SessionOpened:
		return []any{teamUpdate(e.Info)}
	case gate.SessionClosed:
		return []any{noTeam(e.Info.ID)}
	}
	return nil
}

func autonomyChanged(session, level, by string) AutonomyChanged {
	return AutonomyChanged{Head: head(TypeAutonomyChanged, session), Level: level, By: by}
}

func approveRequest(a *gate.Approval) ToolApproveRequest {
	f := ToolApproveRequest{
		Head:       head(TypeToolApproveRequest, a.SessionID),
		AgentID:    a.Agent,
		ToolCallID: a.ID,
		ApprovalID: a.ID,
		WorkerID:   a.Worker,
		Server:     a.Server,
		Tool:       a.Tool,
		Kind:       a.Kind,
		Args:       object(a.Arguments),
		ArgsDigest: a.Digest,
		Client:     a.Host,
		Origin:     a.Origin,
		Undo:       a.Undo,
		Reason:     a.Reason,
		Reasons:    make([]Reason, 0, len(a.Reasons)),
		Always:     make([]Offer, 0, len(a.Offers)),

		Description:       a.Says,
		DefinitionChanged: a.Redefined,
		Rewritten:         a.Rewrite,
		CreatedAt:         a.CreatedAt.UTC(),
		ExpiresAt:         a.ExpiresAt.UTC(),
		AwaitsHost:        a.AwaitsHost,
	}
	for _, r := range a.Reasons {
		f.Reasons = append(f.Reasons, Reason{Subject: r.Subject, Rule: r.Rule, Layer: string(r.Layer), Action: r.Action.String()})
	}
	for _, o := range a.Offers {
		f.Always = append(f.Always, Offer{Tool: o.Tool, Pattern: o.Pattern, Risk: o.Risk.String(), Subject: o.Subject, Default: o.Default, NewlyAllows: o.NewlyAllows})
	}
	for _, m := range a.Marks {
		f.Marks = append(f.Marks, Mark{Code: m.Code, Text: m.Text})
	}
	analysis := a.Analysis
	if analysis == nil {
		f.Risk = Risk{Class: "UNKNOWN", Label: "high"}
		return f
	}
	f.Summary = analysis.Summary
	f.Risk = Risk{Class: analysis.Risk.String(), Label: analysis.Risk.Label(), Category: analysis.Category}
	for _, c := range analysis.Commands {
		f.Commands = append(f.Commands, Command{Argv: c.Argv, Via: c.Via, Writes: c.Writes, Reads: c.Reads, Risk: c.Risk.String()})
	}
	return f
}

func resolved(e gate.Resolved) []any {
	out := []any{ToolApproveResolved{
		Head: head(TypeToolApproveResolved, e.SessionID), ToolCallID: e.ID, Decision: e.Decision, By: e.By, Reason: e.Reason,
	}}
	if e.Decision == "timeout" {
		out = append(out, Error{
			Head: head(TypeError, e.SessionID), Code: CodeApprovalTimeout, ToolCallID: e.ID,
			Message: "nobody answered in time: the call was denied",
		})
	}
	return out
}

func result(e gate.Finished) ToolResult {
	f := ToolResult{
		Head: head(TypeToolResult, e.SessionID), AgentID: e.Agent, ToolCallID: e.ID, Tool: e.Tool,
		Duration: e.Duration.Milliseconds(), Result: e.Result, IsError: e.IsError,
	}
	if len(e.Result) > maxResult {
		f.Result, f.Omitted = nil, len(e.Result)
	}
	return f
}

func auditEntry(r audit.Record) AuditEntry {
	return AuditEntry{
		Head: head(TypeAuditEntry, r.SessionID), ToolCallID: r.CallID, AgentID: r.Agent, Tool: r.Tool, Risk: r.Risk, RiskLabel: labelOf(r.Risk),
		Decision: r.Decision, Timestamp: r.Time.UTC(), Summary: r.Summary, By: r.By, From: r.From, Rule: r.Rule, Digest: r.Digest,
	}
}

// labelOf is what people read of a risk class; "" for a text that is none.
func labelOf(class string) string {
	risk, err := permissions.ParseRisk(class)
	if err != nil {
		return ""
	}
	return risk.Label()
}

// object returns the arguments as they were received, and {} for a call that has none.
func object(arguments json.RawMessage) json.RawMessage {
	if len(arguments) == 0 {
		return json.RawMessage("{}")
	}
	return arguments
}

// encode writes one frame or one REST answer as JSON text. Raw JSON keeps its spelling of numbers, and text
// stays as people read it: && is not \u0026\u0026. Bytes that are not UTF-8, which an upstream's result may
// hold and a WebSocket text frame may not, become U+FFFD.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	data := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if !utf8.Valid(data) {
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	if encoded != nil {
		encoded(data)
	}
	return data, nil
}

// encoded sees every text that encode makes. Tests hold each frame against the schema with it; else it is nil.
var encoded func(text []byte)
