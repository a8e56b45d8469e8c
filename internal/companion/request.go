package companion

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"callgate/audit"
	"callgate/gate"

	jsonv2 "github.com/go-json-experiment/json"
)

// maxExpiry bounds how long a grant may be asked for, in seconds.
const maxExpiry = 10 * 365 * 24 * 60 * 60

// refusal is why something that a client sent was not done, in the words of the protocol.
type refusal struct {
	code    string
	message string
	close   int // WebSocket close code when the connection ends with it, else 0
}

func (r *refusal) Error() string { return r.message }

func refuse(code, format string, args ...any) *refusal {
	return &refusal{code: code, message: fmt.Sprintf(format, args...)}
}

// decode reads JSON from a client: duplicate members and text that is not UTF-8 are errors, names are
// matched exactly, unknown members are ignored.
func decode(data []byte, into any) *refusal {
	if err := jsonv2.Unmarshal(data, into); err != nil {
		return refuse(CodeBadMessage, "not a valid message: %v", err)
	}
	return nil
}

// oneSession checks that a mutation names one session.
func oneSession(id string) *refusal {
	switch id {
	case "":
		return refuse(CodeBadMessage, "sessionId is missing")
	case AllSessions:
		return refuse(CodeBadMessage, `sessionId must name one session, never "*"`)
	}
	return nil
}

// answer checks a tool_approve and turns it into what the gate takes. A member that means nothing with
// the decision is refused, not dropped: the person believes that it does something.
func (f *ToolApprove) answer(who audit.Author) (gate.Answer, *refusal) {
	if r := oneSession(f.SessionID); r != nil {
		return gate.Answer{}, r
	}
	switch {
	case f.ToolCallID == "":
		return gate.Answer{}, refuse(CodeBadMessage, "toolCallId is missing")
	case f.ArgsDigest == "":
		return gate.Answer{}, refuse(CodeBadMessage, "argsDigest is missing: it names the arguments that were looked at")
	}
	switch f.Decision {
	case "approve", "reject", "always":
	default:
		return gate.Answer{}, refuse(CodeBadMessage, "decision must be approve, reject or always")
	}
	always := len(f.Grants) > 0 || f.Scope != "" || f.ExpiresIn != 0
	switch {
	case always && f.Decision != "always":
		return gate.Answer{}, refuse(CodeBadMessage, "grants, scope and expiresIn go with decision always")
	case f.Feedback != "" && f.Decision != "reject":
		return gate.Answer{}, refuse(CodeBadMessage, "feedback goes with decision reject")
	case len(f.Arguments) > 0 && f.Decision != "approve":
		return gate.Answer{}, refuse(CodeBadMessage, "arguments go with decision approve")
	case len(f.Arguments) > 0 && !bytes.HasPrefix(f.Arguments, []byte("{")):
		return gate.Answer{}, refuse(CodeBadMessage, "arguments must be an object")
	case f.Scope != "" && f.Scope != "session" && f.Scope != "worker":
		return gate.Answer{}, refuse(CodeBadMessage, "scope must be session or worker")
	case f.ExpiresIn < 0 || f.ExpiresIn > maxExpiry:
		return gate.Answer{}, refuse(CodeBadMessage, "expiresIn must be between 0 and %d seconds", maxExpiry)
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
		Grants:    f.Grants,
		Scope:     scope,
		ExpiresIn: time.Duration(f.ExpiresIn) * time.Second,
		Arguments: json.RawMessage(f.Arguments),
		By:        personName(who.By, f.Person),
		From:      who.From,
	}, nil
}

// refusalOf says in the words of the protocol what the backend's error means. What is not one of the
// gate's own errors is a failure whose text may hold paths: it is logged by the caller, not sent.
func refusalOf(err error) *refusal {
	refused := (*refusal)(nil)
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.Is(err, gate.ErrNotPending):
		return refuse(CodeNotPending, "%v", err)
	case errors.Is(err, gate.ErrRefused):
		return refuse(CodeNotApplied, "%v", err)
	case errors.Is(err, gate.ErrSession):
		return refuse(CodeSessionNotFound, "%v", err)
	case errors.Is(err, gate.ErrCancelled):
		return refuse(CodeCancelled, "%v", err)
	case errors.Is(err, gate.ErrDeclined):
		return refuse(CodeRefused, "%v", err)
	case errors.Is(err, gate.ErrUnavailable):
		return refuse(CodeUnavailable, "%v", err)
	case errors.Is(err, gate.ErrDigest), errors.Is(err, gate.ErrAnswer):
		return refuse(CodeBadMessage, "%v", err)
	}
	return refuse(CodeInternal, failedText)
}
