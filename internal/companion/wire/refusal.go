package wire

import (
	"fmt"
	"strings"
)

// Refusal is why something that a client sent was not done, in the words of the protocol.
type Refusal struct {
	Code    string
	Message string
	Close   int // WebSocket close code when the connection ends with it, else 0
}

func (r *Refusal) Error() string { return r.Message }

func Refuse(code, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Message: fmt.Sprintf(format, args...)}
}

// OneSession checks that a mutation names one session.
func OneSession(id string) *Refusal {
	switch id {
	case "":
		return Refuse(CodeBadMessage, "sessionId is missing")
	case AllSessions:
		return Refuse(CodeBadMessage, `sessionId must name one session, never "*"`)
	}
	return nil
}

// RestError is the member "error" of a REST answer.
type RestError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	// Presence goes with PRESENCE: what a passkey has to sign before the same request is sent again.
	Presence *PresenceChallenge `json:"presence,omitempty"`
}

// ErrorFrame names the session that the refused frame named, if it could be one.
func ErrorFrame(r *Refusal, session, call string) Error {
	if session == AllSessions {
		session = ""
	}
	return Error{Head: NewHead(TypeError, session), Message: r.Message, Code: r.Code, ToolCallID: call}
}

// CheckClient says what is wrong with how a client names itself.
func CheckClient(c ClientInfo) *Refusal {
	switch c.Kind {
	case "web", "tui", "custom":
	default:
		return Refuse(CodeBadMessage, "client.kind must be web, tui or custom")
	}
	if strings.TrimSpace(c.Name) == "" {
		return Refuse(CodeBadMessage, "client.name is missing: the audit trail names the approver by it")
	}
	return nil
}

// clientHeader says in a REST request who sends it, as hello does for a WebSocket: "kind:name", the name
// percent-encoded, as in "web:alice".
const ClientHeader = "Callgate-Client"
