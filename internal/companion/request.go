package companion

import (
	"bytes"
	"encoding/json"
	"errors"
	"syscall"
	"time"

	"callgate/audit"
	"callgate/gate"
	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
)

// maxExpiry bounds the lifetime of a grant, in seconds.
const maxExpiry = 10 * 365 * 24 * 60 * 60

// checkAnswer returns what is wrong with a tool_approve, or nil. A member that does not fit the decision is refused,
// not dropped, because the person believes that it has an effect.
func checkAnswer(f *wire.ToolApprove) *wire.Refusal {
	if r := wire.OneSession(f.SessionID); r != nil {
		return r
	}
	switch {
	case f.ToolCallID == "":
		return wire.Refuse(wire.CodeBadMessage, "toolCallId is missing")
	case f.ArgsDigest == "":
		return wire.Refuse(wire.CodeBadMessage, "argsDigest is missing: it names the arguments that were looked at")
	}
	switch f.Decision {
	case "approve", "reject", "always":
	default:
		return wire.Refuse(wire.CodeBadMessage, "decision must be approve, reject or always")
	}
	always := len(f.Grants) > 0 || f.Scope != "" || f.ExpiresIn != 0
	switch {
	case always && f.Decision != "always":
		return wire.Refuse(wire.CodeBadMessage, "grants, scope and expiresIn go with decision always")
	case f.Grants != nil && len(f.Grants) == 0 && f.Decision == "always":
		return wire.Refuse(wire.CodeBadMessage, "grants is empty: name an offer by its tool and pattern, or leave grants out for the default of each subject")
	case f.Feedback != "" && f.Decision != "reject":
		return wire.Refuse(wire.CodeBadMessage, "feedback goes with decision reject")
	case len(f.Arguments) > 0 && f.Decision != "approve":
		return wire.Refuse(wire.CodeBadMessage, "arguments go with decision approve")
	case len(f.Arguments) > 0 && !bytes.HasPrefix(f.Arguments, []byte("{")):
		return wire.Refuse(wire.CodeBadMessage, "arguments must be an object")
	}
	return checkReach(f)
}

// checkReach checks the scope and the lifetime of an answer.
func checkReach(f *wire.ToolApprove) *wire.Refusal {
	switch {
	case f.Scope != "" && f.Scope != "session" && f.Scope != "worker":
		return wire.Refuse(wire.CodeBadMessage, "scope must be session or worker")
	case f.ExpiresIn < 0 || f.ExpiresIn > maxExpiry:
		return wire.Refuse(wire.CodeBadMessage, "expiresIn must be between 0 and %d seconds", maxExpiry)
	}
	return nil
}

// answerOf checks a tool_approve and converts it for the gate.
func answerOf(f *wire.ToolApprove, who audit.Author) (gate.Answer, *wire.Refusal) {
	if r := checkAnswer(f); r != nil {
		return gate.Answer{}, r
	}
	scope := f.Scope
	if f.Decision == "always" && scope == "" {
		scope = "worker"
	}
	return gate.Answer{
		SessionID: f.SessionID,
		Digest:    f.ArgsDigest,
		Decision:  f.Decision,
		Feedback:  f.Feedback,
		Together:  f.Together,
		Grants:    converted(f.Grants, func(g wire.GrantChoice) gate.GrantChoice { return gate.GrantChoice(g) }),
		Scope:     scope,
		ExpiresIn: time.Duration(f.ExpiresIn) * time.Second,
		Arguments: json.RawMessage(f.Arguments),
		By:        personName(who.By, f.Person),
		From:      who.From,
	}, nil
}

// refusalOf translates the backend's error into the protocol's words. Other errors are failures whose text may hold
// paths. The caller logs them, and the client gets only the system's error, such as that the disk is full.
func refusalOf(err error) *wire.Refusal {
	refused := (*wire.Refusal)(nil)
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.Is(err, gate.ErrNotPending):
		return wire.Refuse(wire.CodeNotPending, "%v", err)
	case errors.Is(err, gate.ErrPresence):
		return wire.Refuse(wire.CodePresence, "%v", err)
	case errors.Is(err, gate.ErrAnother):
		return wire.Refuse(wire.CodeAnother, "%v", err)
	case errors.Is(err, gate.ErrRefused):
		return wire.Refuse(wire.CodeNotApplied, "%v", err)
	case errors.Is(err, gate.ErrSession):
		return wire.Refuse(wire.CodeSessionNotFound, "%v", err)
	case errors.Is(err, gate.ErrCancelled):
		return wire.Refuse(wire.CodeCancelled, "%v", err)
	case errors.Is(err, gate.ErrDeclined):
		return wire.Refuse(wire.CodeRefused, "%v", err)
	case errors.Is(err, gate.ErrUnavailable):
		return wire.Refuse(wire.CodeUnavailable, "%v", err)
	case errors.Is(err, gate.ErrDigest), errors.Is(err, gate.ErrAnswer):
		return wire.Refuse(wire.CodeBadMessage, "%v", err)
	}
	if system, ok := errors.AsType[syscall.Errno](err); ok {
		return wire.Refuse(wire.CodeInternal, "callgate could not do that: %v; its log says more", system)
	}
	return wire.Refuse(wire.CodeInternal, rest.FailedText)
}
