package wire

import (
	"fmt"
	"strings"
)

// Refusal says, in the protocol's words, why a client's message was refused.
type Refusal struct {
	Code    string
	Message string
	Close   int // WebSocket close code if the connection must end, otherwise 0
}

func (r *Refusal) Error() string { return r.Message }

func Refuse(code, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Message: fmt.Sprintf(format, args...)}
}

// OneSession refuses an id that does not name exactly one session.
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
	// Presence comes with PRESENCE: a passkey has to sign it before the same request is sent again.
	Presence *PresenceChallenge `json:"presence,omitempty"`
}

// ErrorFrame returns the error frame for a refused frame. It names the frame's session, unless that is "*".
func ErrorFrame(r *Refusal, session, call string) Error {
	if session == AllSessions {
		session = ""
	}
	return Error{Head: NewHead(TypeError, session), Message: r.Message, Code: r.Code, ToolCallID: call}
}

// CheckClient returns what is wrong with a client's name or kind, or nil.
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

// ClientHeader is the REST header that says who sends a request, as hello does on a WebSocket: "kind:name" with the
// name percent-encoded, such as "web:alice".
const ClientHeader = "Callgate-Client"
