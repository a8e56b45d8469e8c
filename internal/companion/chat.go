package companion

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"

	"callgate/audit"
	"callgate/gate"
	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
)

// Chatter asks the model of a session's host. The request passes the gate as the kind sampling, so a person may be
// asked first. Errors are gate.ErrSession, gate.ErrDeclined, gate.ErrCancelled and gate.ErrUnavailable; the last three
// carry a text for the person.
type Chatter interface {
	// Recall returns what the session's workspace and knowledge base hold about a message, best first; maybe nothing.
	Recall(ctx context.Context, sessionID, message string) ([]wire.Passage, error)

	// Chat has the model continue a conversation whose last turn is a person's.
	Chat(ctx context.Context, sessionID string, turns []wire.ChatTurn, who audit.Author) (ChatAnswer, error)

	// Tell sends an event to everybody who subscribed to the Backend's Gate.
	Tell(gate.Event)
}

// ChatAnswer is the model's answer.
type ChatAnswer struct {
	Text  string
	Model string
	Usage *wire.Usage
}

// Bounds of chats.
const (
	maxChatMessage  = 256 << 10 // bytes
	maxConversation = 40        // turns remembered in one session; the oldest are forgotten first
	maxChatMemory   = 512 << 10 // bytes of the remembered turns
)

// conversations holds the conversations with the models of this process's sessions.
type conversations struct {
	backend *Backend
	log     *slog.Logger

	mu sync.Mutex
	of map[string]*conversation
}

type conversation struct {
	turns  []wire.ChatTurn
	asked  *wire.ChatTurn // the question without an answer yet, or nil
	asking bool           // a question is being prepared or answered
	reset  int            // number of resets
}

// get returns the conversation of a session. If it makes a new one, it forgets those of sessions that have ended. The
// caller holds mu.
func (c *conversations) get(session string, here []gate.SessionInfo) *conversation {
	if c.of == nil {
		c.of = map[string]*conversation{}
	}
	if c.of[session] == nil {
		for id := range c.of {
			if !slices.ContainsFunc(here, func(info gate.SessionInfo) bool { return info.ID == id }) {
				delete(c.of, id)
			}
		}
		c.of[session] = &conversation{}
	}
	return c.of[session]
}

// remember adds turns. Above the bounds it forgets the oldest, two at a time.
func (c *conversation) remember(turns ...wire.ChatTurn) {
	c.turns = append(c.turns, turns...)
	size := 0
	for _, t := range c.turns {
		size += sizeOf(&t)
	}
	for len(c.turns) > 2 && (len(c.turns) > maxConversation || size > maxChatMemory) {
		size -= sizeOf(&c.turns[0]) + sizeOf(&c.turns[1])
		c.turns = slices.Clone(c.turns[2:])
	}
}

func sizeOf(t *wire.ChatTurn) int {
	n := len(t.Text)
	for _, p := range t.Context {
		n += len(p.Source) + len(p.Text)
	}
	return n
}

// conversationEvent is an event of a conversation for everybody who follows the session.
type conversationEvent struct {
	session string
	content any
}

func (e conversationEvent) Session() string { return e.session }

func (e conversationEvent) frame() any { return e.content }

// alreadyTold is an error that was already sent to everybody who follows the session.
type alreadyTold struct{ error }

func (s alreadyTold) Unwrap() error { return s.error }

// converse asks the model of a session and waits for the answer. Everybody who follows the session gets the question
// and the answer. The error is an alreadyTold if they got it too.
func (cs *conversations) converse(ctx context.Context, f wire.Chat, who audit.Author) (asked, answered wire.ChatTurn, err error) {
	asked = wire.ChatTurn{Role: "user", Text: f.Message, By: who.By}
	if !slices.ContainsFunc(cs.backend.Gate.Sessions(), func(info gate.SessionInfo) bool { return info.ID == f.SessionID }) {
		return asked, answered, gate.ErrSession
	}
	cs.mu.Lock()
	c := cs.get(f.SessionID, cs.backend.Gate.Sessions())
	if c.asking {
		cs.mu.Unlock()
		return asked, answered, wire.Refuse(wire.CodeBadMessage, "the model is still answering a question of this session: wait for it, or cancel it")
	}
	c.asking = true
	turns, reset := slices.Clone(c.turns), c.reset
	cs.mu.Unlock()
	defer func() {
		cs.mu.Lock()
		defer cs.mu.Unlock()
		if c.asking, c.asked = false, nil; err == nil && c.reset == reset {
			c.remember(asked, answered)
		}
	}()
	if f.Context == nil || *f.Context {
		if asked.Context, err = cs.backend.Chatter.Recall(ctx, f.SessionID, f.Message); err != nil {
			cs.log.Warn("a chat question goes without passages of the workspace", "session", f.SessionID, "by", who.By, slog.Any("error", err))
		}
	}
	cs.mu.Lock()
	c.asked = &asked
	cs.mu.Unlock()
	cs.backend.Chatter.Tell(conversationEvent{f.SessionID, wire.ChatAsked{Head: wire.NewHead(wire.TypeChatAsked, f.SessionID), ChatTurn: asked}})
	answer, err := cs.backend.Chatter.Chat(ctx, f.SessionID, append(turns, asked), who)
	if err != nil {
		refused := worded(cs.log, err, who.By, f.SessionID)
		cs.backend.Chatter.Tell(conversationEvent{f.SessionID, wire.ErrorFrame(refused, f.SessionID, "")})
		return asked, answered, alreadyTold{refused}
	}
	answered = wire.ChatTurn{Role: "assistant", Text: answer.Text, Model: answer.Model, Usage: answer.Usage}
	cs.backend.Chatter.Tell(conversationEvent{f.SessionID, wire.Token{Head: wire.NewHead(wire.TypeToken, f.SessionID), AgentID: agentOf(cs.backend, f.SessionID), Content: answer.Text}})
	cs.backend.Chatter.Tell(conversationEvent{f.SessionID, wire.Done{Head: wire.NewHead(wire.TypeDone, f.SessionID), Usage: answer.Usage, Model: answer.Model}})
	return asked, answered, nil
}

// forget clears the conversation of a session.
func (cs *conversations) forget(session string, who audit.Author) error {
	if refused := cs.backend.absent(partChatter); refused != nil {
		return refused
	}
	here := cs.backend.Gate.Sessions()
	if !slices.ContainsFunc(here, func(info gate.SessionInfo) bool { return info.ID == session }) {
		return gate.ErrSession
	}
	cs.mu.Lock()
	c := cs.get(session, here)
	c.turns, c.reset = nil, c.reset+1
	cs.mu.Unlock()
	cs.backend.Chatter.Tell(conversationEvent{session, wire.ChatCleared{Head: wire.NewHead(wire.TypeChatCleared, session), By: who.By}})
	return nil
}

// checkChat returns what is wrong with the message, or nil.
func checkChat(b *Backend, f *wire.Chat) *wire.Refusal {
	if refused := b.absent(partChatter); refused != nil {
		return refused
	}
	switch {
	case strings.TrimSpace(f.Message) == "":
		return wire.Refuse(wire.CodeBadMessage, "message is missing")
	case len(f.Message) > maxChatMessage:
		return wire.Refuse(wire.CodeBadMessage, "message is larger than %d bytes", maxChatMessage)
	}
	return nil
}

// maxChats bounds the unanswered chats of one client.
const maxChats = 4

// chat answers on a goroutine of its own, because people and models take their time and reading must go on.
func (c *socket) chat(data []byte) *wire.Refusal {
	var f wire.Chat
	if refused := rest.Decode(data, &f); refused != nil {
		return refused
	}
	if refused := checkChat(c.server.backend, &f); refused != nil {
		return refused
	}
	return c.mutate(f.SessionID, func() error {
		begun := c.chats.begin(c, maxChats, func(ctx context.Context) func() {
			var answered wire.ChatTurn
			var told alreadyTold
			refused := c.change(f.SessionID, func() (err error) {
				_, answered, err = c.server.conversations.converse(ctx, f, c.who)
				errors.As(err, &told)
				return err
			})
			return func() {
				switch {
				case told.error != nil && c.stream.wants(f.SessionID):
				case refused != nil:
					c.reply(refused, f.SessionID, "")
				case !c.stream.wants(f.SessionID): // the client does not follow the session, so it has not got the answer yet
					c.give(wire.Token{Head: wire.NewHead(wire.TypeToken, f.SessionID), AgentID: agentOf(c.server.backend, f.SessionID), Content: answered.Text})
					c.give(wire.Done{Head: wire.NewHead(wire.TypeDone, f.SessionID), Usage: answered.Usage, Model: answered.Model})
				}
			}
		})
		if !begun {
			return wire.Refuse(wire.CodeBadMessage, "%d chats are being answered: wait for one of them", maxChats)
		}
		return nil
	})
}

// agentOf returns the agent of a session, or "" if the session has ended.
func agentOf(b *Backend, session string) string {
	for _, info := range b.Gate.Sessions() {
		if info.ID == session {
			return info.Agent
		}
	}
	return ""
}

// chatAPI serves chats with the models of hosts over REST.
type chatAPI struct {
	api
	conversations *conversations
}

// routes adds the route of a session's conversation. The process that has the session answers it.
func (s chatAPI) routes(path func(string, methods)) {
	path("/api/sessions/{id}/chat", methods{"GET": s.viewer(s.conversation), "POST": s.patient(ofSession(s.chat)), "DELETE": s.approver(s.forget)})
}

func (s chatAPI) conversation(r *http.Request) (any, error) {
	s.conversations.mu.Lock()
	defer s.conversations.mu.Unlock()
	var turns []wire.ChatTurn
	asking := false
	if c := s.conversations.of[r.PathValue("id")]; c != nil {
		turns, asking = slices.Clone(c.turns), c.asking
		if c.asked != nil {
			turns = append(turns, *c.asked)
		}
	}
	return map[string]any{"turns": wire.List(turns), "asking": asking}, nil
}

// chat takes the members of chat without v and type, and answers after the model.
func (s chatAPI) chat(r *http.Request, id string, f wire.Chat) (any, error) {
	f.SessionID = id
	if refused := checkChat(s.backend, &f); refused != nil {
		return nil, refused
	}
	asked, answered, err := s.conversations.converse(r.Context(), f, authorOf(r))
	return map[string]any{"turns": []wire.ChatTurn{asked, answered}, "asking": false}, err
}

func (s chatAPI) forget(r *http.Request) (any, error) {
	id := r.PathValue("id")
	return map[string]string{"sessionId": id}, s.conversations.forget(id, authorOf(r))
}
