package companion

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"callgate/gate"

	"github.com/gorilla/websocket"
)

// read takes frames until the connection or the client's welcome ends.
func (c *socket) read() {
	alive := func() error { return c.conn.SetReadDeadline(time.Now().Add(c.server.timing.dead)) }
	c.conn.SetPongHandler(func(string) error { return alive() })
	for {
		if err := alive(); err != nil {
			return
		}
		data, err := c.next()
		if refused := (*refusal)(nil); errors.As(err, &refused) {
			if !c.reply(refused, "", "") {
				return
			}
			continue
		}
		if err != nil {
			return
		}
		if string(data) == "ping" {
			continue
		}
		if !c.take(data) {
			return
		}
	}
}

// next returns the next text frame. A *refusal as error leaves the connection usable; any other ends it.
func (c *socket) next() ([]byte, error) {
	kind, data, err := c.conn.ReadMessage()
	if err != nil {
		return nil, err
	}
	if now := time.Now(); now.Sub(c.window) >= rateWhile {
		c.window, c.count = now, 0
	}
	if c.count++; c.count > maxPerWhile {
		return nil, &refusal{CodeBadMessage, "too many frames", websocket.ClosePolicyViolation}
	}
	if kind != websocket.TextMessage {
		return nil, refuse(CodeBadMessage, "frames must be text")
	}
	return data, nil
}

// take does what one frame asks for, or passes it on to the process that owns the session. It is false when the
// connection has to end.
func (c *socket) take(data []byte) bool {
	head, call, refused := c.perform(data)
	return refused == nil || c.reply(refused, head.SessionID, call)
}

func (c *socket) perform(data []byte) (head Head, call string, refused *refusal) {
	defer c.server.surviveAs(&refused, "a frame of a client")
	if head, refused = readHead(data); refused != nil {
		return head, "", refused
	}
	if l := c.linkOf(head.SessionID); l != nil {
		return head, "", l.send(data)
	}
	switch head.Type {
	case TypeToolApprove:
		call, refused = c.toolApprove(data)
	case TypeCancel:
		refused = c.mutate(head.SessionID, func() error { return c.server.backend.Cancel(head.SessionID, c.who) })
	case TypeSetAutonomy:
		var f SetAutonomy
		if refused = decode(data, &f); refused == nil {
			refused = c.mutate(f.SessionID, func() error { return c.server.backend.SetAutonomy(f.SessionID, f.Level, c.who) })
		}
	case TypeAgentAdd:
		refused = c.agentAdd(data)
	case TypeAgentRemove:
		var f AgentRemove
		if refused = decode(data, &f); refused == nil {
			refused = c.mutate(f.SessionID, func() error { return c.server.backend.RemoveAgent(f.SessionID, f.AgentID, c.who) })
		}
	case TypeMCPTools:
		refused = c.mcpTools(data)
	case TypeMCPResult:
		refused = c.mcpResult(data)
	case TypeKBAdd, TypeKBSearch, TypeKBList, TypeKBRemove:
		refused = c.knowledge(head, data)
	case TypeChat:
		refused = c.chat(data)
	case TypeChatReset:
		refused = c.mutate(head.SessionID, func() error { return c.server.forget(head.SessionID, c.who) })
	case TypeHello:
		refused = refuse(CodeBadMessage, "hello was already said")
	default:
		refused = refuse(CodeBadMessage, "unknown type %q", head.Type)
	}
	return head, call, refused
}

func (c *socket) agentAdd(data []byte) *refusal {
	var f AgentAdd
	if refused := decode(data, &f); refused != nil {
		return refused
	}
	profile, info, refused := f.profile()
	if refused != nil {
		return refused
	}
	return c.mutate(f.SessionID, func() error {
		_, err := c.server.backend.AddAgent(f.SessionID, profile, info, c.who)
		return err
	})
}

func (c *socket) toolApprove(data []byte) (call string, _ *refusal) {
	var f ToolApprove
	if refused := decode(data, &f); refused != nil {
		return "", refused
	}
	answer, refused := f.answer(c.who)
	if refused != nil {
		return f.ToolCallID, refused
	}
	return f.ToolCallID, c.mutate(f.SessionID, func() error {
		applied, err := c.server.backend.Answer(c.server.ctx, f.ToolCallID, answer)
		if err == nil && !applied {
			err = gate.ErrNotPending
		}
		return err
	})
}

// mutate runs change if the client may change the session. The credential is looked up again: one that
// was rotated while the connection was open no longer answers.
func (c *socket) mutate(session string, change func() error) *refusal {
	switch c.may() {
	case CredentialApprove:
	case CredentialTools:
		return refuse(CodeUnauthorized, toolsOnly)
	default:
		return refuse(CodeUnauthorized, "this credential may watch, not answer")
	}
	return c.change(session, change)
}

// change runs what the client may do, and words its error.
func (c *socket) change(session string, change func() error) (refused *refusal) {
	defer c.server.surviveAs(&refused, "a frame of a client")
	if refused := oneSession(session); refused != nil {
		return refused
	}
	err := change()
	if err == nil {
		return nil
	}
	return c.server.worded(err, c.who.By, session)
}

// worded is refusalOf, and logs what callgate failed at.
func (s *Server) worded(err error, by, session string) *refusal {
	refused := refusalOf(err)
	if refused.code == CodeInternal {
		s.log.Error("companion: frame failed", "client", by, "session", session, slog.Any("error", err))
	}
	return refused
}

// readHead checks what every frame must have.
func readHead(data []byte) (Head, *refusal) {
	var head Head
	if refused := decode(data, &head); refused != nil {
		return head, refused
	}
	if head.V != Version {
		return head, &refusal{CodeProtocolMismatch, fmt.Sprintf("this is protocol version %d", Version), closeProtocolMismatch}
	}
	return head, nil
}
