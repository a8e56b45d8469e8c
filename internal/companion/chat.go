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
)

// Chatter asks the model of a session's host: it passes the gate as the kind sampling, so a person may be asked
// first. Errors are gate.ErrSession, and gate.ErrDeclined, gate.ErrCancelled and gate.ErrUnavailable with what the
// person is to be told.
type Chatter interface {
	// Recall returns what the workspace and the knowledge base of the session say about a message, best first; none
	// when nothing there is about it.
	Recall(ctx context.Context, sessionID, message string) ([]Passage, error)

	// Chat has the model go on with a conversation, whose last turn is a person's.
	Chat(ctx context.Context, sessionID string, turns []ChatTurn, who audit.Author) (ChatAnswer, error)

	// Tell hands an event to everybody who subscribed at the Backend.
	Tell(gate.Event)
}

// Chat asks the model of the session's host. It goes on with the conversation of the session, which all its clients
// share.
type Chat struct {
	Head
	Message string `json:"message"`
	// Context says whether passages of the workspace and the knowledge base go with the message; nil means those
	// that are about it do.
	Context *bool `json:"context,omitempty"`
}

// ChatReset ends the conversation of a session: the next message begins a new one.
type ChatReset struct{ Head }

// ChatAsked: somebody asks the model. It comes when the question goes to the gate.
type ChatAsked struct {
	Head
	ChatTurn
}

// ChatCleared: the conversation of the session was reset.
type ChatCleared struct {
	Head
	By string `json:"by"`
}

// ChatTurn is one message of a conversation.
type ChatTurn struct {
	Role    string    `json:"role"` // user or assistant
	Text    string    `json:"text"`
	By      string    `json:"by,omitempty"`      // user: who asked
	Context []Passage `json:"context,omitempty"` // user: what went with it
	Model   string    `json:"model,omitempty"`   // assistant: as the host names it
	Usage   *Usage    `json:"usage,omitempty"`   // assistant: where the host tells
}

// Passage is a part of a file or a document that goes with a message.
type Passage struct {
	Source string `json:"source"` // file:line-line, or the document
	Text   string `json:"text"`
}

// ChatAnswer is what the model says.
type ChatAnswer struct {
	Text  string
	Model string
	Usage *Usage
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
	Usage *Usage `json:"usage"` // nil: the host does not tell
	Model string `json:"model,omitempty"`
}

// Usage is what an answer cost.
type Usage struct {
	Tokens int     `json:"tokens"`
	Cost   float64 `json:"cost"`
}

// Bounds of chats.
const (
	maxChatMessage  = 256 << 10 // bytes
	maxConversation = 40        // turns of one session that are remembered; the oldest are forgotten first
	maxChatMemory   = 512 << 10 // bytes of them
)

// conversations are what was said with the models of this process' sessions.
type conversations struct {
	mu sync.Mutex
	of map[string]*conversation
}

type conversation struct {
	turns  []ChatTurn
	asked  *ChatTurn // the question that has no answer yet
	asking bool      // somebody puts one together, or it is asked
	reset  int       // changes with each reset
}

// get returns the conversation of a session; the caller holds mu. Those of sessions that have ended are forgotten.
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

// remember adds turns and forgets the oldest, two by two, above the bounds.
func (c *conversation) remember(turns ...ChatTurn) {
	c.turns = append(c.turns, turns...)
	size := 0
	for _, t := range c.turns {
		size += t.size()
	}
	for len(c.turns) > 2 && (len(c.turns) > maxConversation || size > maxChatMemory) {
		size -= c.turns[0].size() + c.turns[1].size()
		c.turns = slices.Clone(c.turns[2:])
	}
}

func (t *ChatTurn) size() int {
	n := len(t.Text)
	for _, p := range t.Context {
		n += len(p.Source) + len(p.Text)
	}
	return n
}

// said is an event of a conversation, for everybody who follows the session.
type said struct {
	session string
	shown   any
}

func (e said) Session() string { return e.session }

func (e said) frame() any { return e.shown }

// shown is an error that everybody who follows the session has been told.
type shown struct{ error }

func (s shown) Unwrap() error { return s.error }

// converse puts a message to the model of a session and tells everybody who follows it what is asked, and what comes
// of it. It waits for the answer. The error is a shown when the others have been told.
func (s *Server) converse(ctx context.Context, f Chat, who audit.Author) (asked, answered ChatTurn, err error) {
	asked = ChatTurn{Role: "user", Text: f.Message, By: who.By}
	if !slices.ContainsFunc(s.backend.Sessions(), func(info gate.SessionInfo) bool { return info.ID == f.SessionID }) {
		return asked, answered, gate.ErrSession
	}
	s.conversations.mu.Lock()
	c := s.conversations.get(f.SessionID, s.backend.Sessions())
	if c.asking {
		s.conversations.mu.Unlock()
		return asked, answered, refuse(CodeBadMessage, "the model is still answering a question of this session: wait for it, or cancel it")
	}
	c.asking = true
	turns, reset := slices.Clone(c.turns), c.reset
	s.conversations.mu.Unlock()
	defer func() {
		s.conversations.mu.Lock()
		defer s.conversations.mu.Unlock()
		if c.asking, c.asked = false, nil; err == nil && c.reset == reset {
			c.remember(asked, answered)
		}
	}()
	if f.Context == nil || *f.Context {
		if asked.Context, err = s.chatter.Recall(ctx, f.SessionID, f.Message); err != nil {
			s.log.Warn("a chat goes without what the workspace says about it", "session", f.SessionID, "by", who.By, slog.Any("error", err))
		}
	}
	s.conversations.mu.Lock()
	c.asked = &asked
	s.conversations.mu.Unlock()
	s.chatter.Tell(said{f.SessionID, ChatAsked{head(TypeChatAsked, f.SessionID), asked}})
	answer, err := s.chatter.Chat(ctx, f.SessionID, append(turns, asked), who)
	if err != nil {
		refused := s.worded(err, who.By, f.SessionID)
		s.chatter.Tell(said{f.SessionID, errorFrame(refused, f.SessionID, "")})
		return asked, answered, shown{refused}
	}
	answered = ChatTurn{Role: "assistant", Text: answer.Text, Model: answer.Model, Usage: answer.Usage}
	s.chatter.Tell(said{f.SessionID, Token{Head: head(TypeToken, f.SessionID), AgentID: s.agentOf(f.SessionID), Content: answer.Text}})
	s.chatter.Tell(said{f.SessionID, Done{Head: head(TypeDone, f.SessionID), Usage: answer.Usage, Model: answer.Model}})
	return asked, answered, nil
}

// forget ends the conversation of a session.
func (s *Server) forget(session string, who audit.Author) error {
	if s.chatter == nil {
		return refuse(CodeBadMessage, noChats)
	}
	here := s.backend.Sessions()
	if !slices.ContainsFunc(here, func(info gate.SessionInfo) bool { return info.ID == session }) {
		return gate.ErrSession
	}
	s.conversations.mu.Lock()
	c := s.conversations.get(session, here)
	c.turns, c.reset = nil, c.reset+1
	s.conversations.mu.Unlock()
	s.chatter.Tell(said{session, ChatCleared{head(TypeChatCleared, session), who.By}})
	return nil
}

const noChats = "this callgate does not pass on chats"

// check says what is wrong with the message.
func (f *Chat) check(s *Server) *refusal {
	switch {
	case s.chatter == nil:
		return refuse(CodeBadMessage, noChats)
	case strings.TrimSpace(f.Message) == "":
		return refuse(CodeBadMessage, "message is missing")
	case len(f.Message) > maxChatMessage:
		return refuse(CodeBadMessage, "message is larger than %d bytes", maxChatMessage)
	}
	return nil
}

// maxChats bounds the chats of one client that are being answered.
const maxChats = 4

// chat answers beside the reading goroutine: a person and a model take their time.
func (c *socket) chat(data []byte) *refusal {
	var f Chat
	if refused := decode(data, &f); refused != nil {
		return refused
	}
	if refused := f.check(c.server); refused != nil {
		return refused
	}
	return c.mutate(f.SessionID, func() error {
		begun := c.chats.begin(c, maxChats, func(ctx context.Context) func() {
			var answered ChatTurn
			var told shown
			refused := c.change(f.SessionID, func() (err error) {
				_, answered, err = c.server.converse(ctx, f, c.who)
				errors.As(err, &told)
				return err
			})
			return func() {
				switch {
				case told.error != nil && c.stream.wants(f.SessionID):
				case refused != nil:
					c.reply(refused, f.SessionID, "")
				case !c.stream.wants(f.SessionID): // it did not hear it as one who follows the session
					c.give(Token{Head: head(TypeToken, f.SessionID), AgentID: c.server.agentOf(f.SessionID), Content: answered.Text})
					c.give(Done{Head: head(TypeDone, f.SessionID), Usage: answered.Usage, Model: answered.Model})
				}
			}
		})
		if !begun {
			return refuse(CodeBadMessage, "%d chats are being answered: wait for one of them", maxChats)
		}
		return nil
	})
}

// agentOf is the agent of a session, "" when the session has ended.
func (s *Server) agentOf(session string) string {
	for _, info := range s.backend.Sessions() {
		if info.ID == session {
			return info.Agent
		}
	}
	return ""
}

// chatRoutes are the conversation of a session, answered by the process that has it.
func (s *Server) chatRoutes(path func(string, methods)) {
	path("/api/sessions/{id}/chat", methods{"GET": s.viewer(s.handleConversation), "POST": s.approver(s.handleChat), "DELETE": s.approver(s.handleForget)})
}

func (s *Server) handleConversation(w http.ResponseWriter, r *http.Request) {
	s.conversations.mu.Lock()
	var turns []ChatTurn
	asking := false
	if c := s.conversations.of[r.PathValue("id")]; c != nil {
		turns, asking = slices.Clone(c.turns), c.asking
		if c.asked != nil {
			turns = append(turns, *c.asked)
		}
	}
	s.conversations.mu.Unlock()
	writeJSON(w, http.StatusOK, map[string]any{"turns": list(turns), "asking": asking})
}

// handleChat takes the members of chat, without v and type, and answers when the model has.
func (s *Server) handleChat(w http.ResponseWriter, r *http.Request) {
	var f Chat
	id, ok := s.ofSession(w, r, &f, &f.SessionID)
	if !ok {
		return
	}
	f.SessionID = id
	if refused := f.check(s); refused != nil {
		writeError(w, http.StatusBadRequest, refused.code, refused.message)
		return
	}
	asked, answered, err := s.converse(r.Context(), f, authorOf(r))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"turns": []ChatTurn{asked, answered}, "asking": false})
}

func (s *Server) handleForget(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if err := s.forget(id, authorOf(r)); err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, map[string]string{"sessionId": id})
}
