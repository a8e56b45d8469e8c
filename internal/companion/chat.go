package companion

import (
	"context"
	"strings"

	"callgate/audit"
)

// Chatter asks the model of a session's host: it passes the gate as the kind sampling, so a person may be asked
// first. It returns what the model says. Errors are gate.ErrSession, and gate.ErrAnswer when the host does not offer
// its model, the gate refuses, or the host answers with an error.
type Chatter interface {
	Chat(ctx context.Context, sessionID, message string, who audit.Author) (text string, err error)
}

// Chat asks the model of the session's host, with what the workspace and the knowledge base say about it in front.
type Chat struct {
	Head
	Message string `json:"message"`
}

// Token is a part of the model's answer. Hosts give it whole, so there is one.
type Token struct {
	Head
	AgentID string `json:"agentId"`
	Content string `json:"content"`
}

// Done ends the answer.
type Done struct {
	Head
	Usage *Usage `json:"usage"` // nil: hosts do not tell
}

// Usage is what an answer cost.
type Usage struct {
	Tokens int     `json:"tokens"`
	Cost   float64 `json:"cost"`
}

// Bounds of chats.
const (
	maxChats       = 4         // of one client that are being answered
	maxChatMessage = 256 << 10 // bytes
)

// chat answers beside the reading goroutine: a person and a model take their time.
func (c *socket) chat(data []byte) *refusal {
	var f Chat
	if refused := decode(data, &f); refused != nil {
		return refused
	}
	switch {
	case c.server.chatter == nil:
		return refuse(CodeBadMessage, "this callgate does not pass on chats")
	case strings.TrimSpace(f.Message) == "":
		return refuse(CodeBadMessage, "message is missing")
	case len(f.Message) > maxChatMessage:
		return refuse(CodeBadMessage, "message is larger than %d bytes", maxChatMessage)
	}
	return c.mutate(f.SessionID, func() error {
		begun := c.chats.begin(c.server.ctx, maxChats, func(ctx context.Context) func() {
			var text string
			refused := c.change(f.SessionID, func() (err error) {
				text, err = c.server.chatter.Chat(ctx, f.SessionID, f.Message, c.who)
				return err
			})
			return func() {
				if refused != nil {
					c.reply(refused, f.SessionID, "")
					return
				}
				c.give(Token{Head: head(TypeToken, f.SessionID), AgentID: c.agentOf(f.SessionID), Content: text})
				c.give(Done{Head: head(TypeDone, f.SessionID)})
			}
		})
		if !begun {
			return refuse(CodeBadMessage, "%d chats are being answered: wait for one of them", maxChats)
		}
		return nil
	})
}

// agentOf is the agent of a session, "" when the session has ended.
func (c *socket) agentOf(session string) string {
	for _, info := range c.server.backend.Sessions() {
		if info.ID == session {
			return info.Agent
		}
	}
	return ""
}
