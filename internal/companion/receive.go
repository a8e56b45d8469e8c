package companion

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/gorilla/websocket"

	"callgate/gate"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/hub"
	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
)

// read handles frames until the connection ends or the client has to go.
func (c *socket) read() {
	alive := func() error { return c.conn.SetReadDeadline(time.Now().Add(c.server.timing.dead)) }
	c.conn.SetPongHandler(func(string) error { return alive() })
	for {
		if err := alive(); err != nil {
			return
		}
		data, err := c.next()
		if refused, ok := errors.AsType[*wire.Refusal](err); ok {
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

// next returns the next text frame. After a *wire.Refusal the connection can still be used; any other error ends it.
func (c *socket) next() ([]byte, error) {
	kind, data, err := c.conn.ReadMessage()
	if err != nil {
		return nil, err
	}
	if now := time.Now(); now.Sub(c.window) >= hub.RateWhile {
		c.window, c.count = now, 0
	}
	if c.count++; c.count > maxPerWhile {
		return nil, &wire.Refusal{Code: wire.CodeBadMessage, Message: "too many frames", Close: websocket.ClosePolicyViolation}
	}
	if kind != websocket.TextMessage {
		return nil, wire.Refuse(wire.CodeBadMessage, "frames must be text")
	}
	return data, nil
}

// take handles a frame, or passes it to the process that owns the session. It returns false if the connection must end.
func (c *socket) take(data []byte) bool {
	head, call, refused := c.perform(data)
	return refused == nil || c.reply(refused, head.SessionID, call)
}

func (c *socket) perform(data []byte) (head wire.Head, call string, refused *wire.Refusal) {
	defer rest.RecoverAs(c.server.log, &refused, "a frame of a client")
	if head, refused = readHead(data); refused != nil {
		return head, "", refused
	}
	if l := c.linkFor(data, head.SessionID); l != nil {
		return head, "", l.Send(data)
	}
	switch head.Type {
	case wire.TypeToolApprove:
		call, refused = c.toolApprove(data)
	case wire.TypeCancel:
		refused = c.mutate(head.SessionID, func() error { return c.server.backend.Gate.Cancel(head.SessionID, c.who) })
	case wire.TypeSetAutonomy:
		var f wire.SetAutonomy
		if refused = rest.Decode(data, &f); refused == nil {
			refused = c.loosen(f.SessionID, func() error { return c.server.backend.Gate.SetAutonomy(f.SessionID, f.Level, c.who) })
		}
	case wire.TypeAgentAdd:
		refused = c.agentAdd(data)
	case wire.TypeAgentRemove:
		var f wire.AgentRemove
		if refused = rest.Decode(data, &f); refused == nil {
			refused = c.loosen(f.SessionID, func() error { return c.server.backend.Gate.RemoveAgent(f.SessionID, f.AgentID, c.who) })
		}
	case wire.TypeMCPTools:
		refused = c.mcpTools(data)
	case wire.TypeMCPResult:
		refused = c.mcpResult(data)
	case wire.TypeKBAdd, wire.TypeKBSearch, wire.TypeKBList, wire.TypeKBRemove:
		refused = c.knowledge(head, data)
	case wire.TypeChat:
		refused = c.chat(data)
	case wire.TypeChatReset:
		refused = c.mutate(head.SessionID, func() error { return c.server.conversations.forget(head.SessionID, c.who) })
	case wire.TypeHello:
		refused = wire.Refuse(wire.CodeBadMessage, "hello was already said")
	default:
		refused = wire.Refuse(wire.CodeBadMessage, "unknown type %q", head.Type)
	}
	return head, call, refused
}

func (c *socket) agentAdd(data []byte) *wire.Refusal {
	var f wire.AgentAdd
	if refused := rest.Decode(data, &f); refused != nil {
		return refused
	}
	profile, info, refused := profileOf(&f)
	if refused != nil {
		return refused
	}
	return c.loosen(f.SessionID, func() error {
		_, err := c.server.backend.Gate.AddAgent(f.SessionID, profile, info, c.who)
		return err
	})
}

func (c *socket) toolApprove(data []byte) (call string, _ *wire.Refusal) {
	var f wire.ToolApprove
	if refused := rest.Decode(data, &f); refused != nil {
		return "", refused
	}
	answer, refused := answerOf(&f, c.who)
	if refused != nil {
		return f.ToolCallID, refused
	}
	answer.Presence.Person = c.person
	return f.ToolCallID, c.mutate(f.SessionID, func() error {
		applied, err := c.server.backend.Gate.Answer(c.server.ctx, f.ToolCallID, answer)
		if err == nil && !applied {
			err = gate.ErrNotPending
		}
		return err
	})
}

// loosen is mutate for changes that may loosen the gate. A WebSocket cannot carry a proof of presence, so it refuses
// them if one is needed.
func (c *socket) loosen(session string, change func() error) *wire.Refusal {
	return c.mutate(session, func() error {
		if c.server.may.presenceOn() {
			if _, err := c.server.options.Presence.CheckAct("", nil, gate.PresenceGiven{}); err != nil {
				return err
			}
		}
		return change()
	})
}

// mutate runs change if the client may change the session. It looks the credential up again, so that one rotated while
// the connection was open no longer works.
func (c *socket) mutate(session string, change func() error) *wire.Refusal {
	switch c.may() {
	case credentials.Approve:
	case credentials.Tools:
		return wire.Refuse(wire.CodeUnauthorized, toolsOnly)
	default:
		return wire.Refuse(wire.CodeUnauthorized, "this credential may watch, not answer")
	}
	return c.change(session, change)
}

// change runs change and turns its error into a refusal.
func (c *socket) change(session string, change func() error) (refused *wire.Refusal) {
	defer rest.RecoverAs(c.server.log, &refused, "a frame of a client")
	if refused := wire.OneSession(session); refused != nil {
		return refused
	}
	err := change()
	if err == nil {
		return nil
	}
	return worded(c.server.log, err, c.who.By, session)
}

// worded calls refusalOf and logs failures of callgate itself.
func worded(log *slog.Logger, err error, by, session string) *wire.Refusal {
	refused := refusalOf(err)
	if refused.Code == wire.CodeInternal {
		log.Error("companion: frame failed", "client", by, "session", session, slog.Any("error", err))
	}
	return refused
}

// readHead decodes and checks the members that every frame has.
func readHead(data []byte) (wire.Head, *wire.Refusal) {
	var head wire.Head
	if refused := rest.Decode(data, &head); refused != nil {
		return head, refused
	}
	if head.V != wire.Version {
		return head, &wire.Refusal{Code: wire.CodeProtocolMismatch, Message: fmt.Sprintf("this is protocol version %d", wire.Version), Close: wire.CloseProtocolMismatch}
	}
	return head, nil
}
