package companion

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"callgate/audit"
	"callgate/gate"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
)

// fakeChatter answers with the conversation that it was given. It waits for the end of the question if the last message
// is "wait", and takes its time if it is "slow".
type fakeChatter struct {
	*fakeBackend
	waiting chan struct{}
}

func (f fakeChatter) Tell(e gate.Event) { f.publish(e) }

func (f fakeChatter) Recall(_ context.Context, session, message string) ([]wire.Passage, error) {
	if strings.Contains(message, "tulips") {
		return []wire.Passage{{Source: "notes.md:1-3", Text: "Tulips are planted in autumn."}}, nil
	}
	return nil, nil
}

func (f fakeChatter) Chat(ctx context.Context, session string, turns []wire.ChatTurn, who audit.Author) (ChatAnswer, error) {
	var said []string
	for _, t := range turns {
		said = append(said, t.Text)
	}
	switch message := turns[len(turns)-1].Text; {
	case !f.has(session):
		return ChatAnswer{}, gate.ErrSession
	case message == "wait":
		f.waiting <- struct{}{}
		<-ctx.Done()
		return ChatAnswer{}, fmt.Errorf("%w before the model answered", gate.ErrCancelled)
	case message == "slow":
		time.Sleep(3 * brief)
	case message == "refused":
		return ChatAnswer{}, fmt.Errorf("%w: the question was not sent to the model. not now", gate.ErrDeclined)
	case message == "no model":
		return ChatAnswer{}, fmt.Errorf("%w: this host does not offer sampling", gate.ErrUnavailable)
	}
	return ChatAnswer{Text: who.By + ": " + strings.Join(said, " | "), Model: "m", Usage: &wire.Usage{Tokens: len(turns), Cost: 0.5}}, nil
}

func chatFrame(session, message string) string {
	return fmt.Sprintf(`{"v":1,"type":"chat","sessionId":%q,"message":%q}`, session, message)
}

func TestChat(t *testing.T) {
	r := start(t, newFakeBackend("s1", "s2"))
	nobody := r.join(t, credentials.Approve)
	nobody.send(chatFrame("s1", "hello"))
	nobody.wantError(wire.CodeBadMessage)
	r.options.Backend.Chatter = fakeChatter{r.backend, make(chan struct{}, 1)}
	p, other := r.join(t, credentials.Approve), r.join(t, credentials.View)
	p.want(wire.TypeTeamUpdate)
	other.want(wire.TypeTeamUpdate)
	p.send(chatFrame("s1", "hello <you>"))
	for name, c := range map[string]*peer{"who asks": p, "who watches": other} {
		if f := c.want(wire.TypeChatAsked); f["text"] != "hello <you>" || f["by"] != "custom:alice" || f["context"] != nil {
			t.Errorf("%s: %v", name, f)
		}
		if f := c.want(wire.TypeToken); f["content"] != "custom:alice: hello <you>" || f["agentId"] != "main" {
			t.Errorf("%s: %v", name, f)
		}
		if f := c.want(wire.TypeDone); fmt.Sprint(f["usage"]) != "map[cost:0.5 tokens:1]" || f["model"] != "m" {
			t.Errorf("%s: %v", name, f)
		}
	}
	for _, tt := range []struct{ frame, code string }{
		{chatFrame("s1", " \n"), wire.CodeBadMessage},
		{chatFrame("s1", strings.Repeat("x", maxChatMessage+1)), wire.CodeBadMessage},
		{chatFrame("s1", "refused"), wire.CodeRefused},
		{chatFrame("s1", "no model"), wire.CodeUnavailable},
		{chatFrame("s9", "hello"), wire.CodeSessionNotFound},
		{chatFrame("*", "hello"), wire.CodeBadMessage},
	} {
		p.send(tt.frame)
		p.wantError(tt.code)
	}
	if f := other.wantError(wire.CodeRefused); f["message"] != "refused: the question was not sent to the model. not now" {
		t.Errorf("others are told %v", f)
	}
	other.wantError(wire.CodeUnavailable)
	other.send(chatFrame("s1", "hello"))
	other.wantError(wire.CodeUnauthorized)

	// Anybody can continue the conversation. A failed question is no part of it. Each session has its own.
	p.send(chatFrame("s1", "and tulips?"))
	if f := p.want(wire.TypeChatAsked); fmt.Sprint(f["context"]) != "[map[source:notes.md:1-3 text:Tulips are planted in autumn.]]" {
		t.Errorf("%v", f)
	}
	if f := p.want(wire.TypeToken); f["content"] != "custom:alice: hello <you> | custom:alice: hello <you> | and tulips?" {
		t.Errorf("%v", f)
	}
	p.want(wire.TypeDone)
	p.send(`{"v":1,"type":"chat","sessionId":"s1","message":"tulips again","context":false}`)
	if f := p.want(wire.TypeChatAsked); f["context"] != nil {
		t.Errorf("%v", f)
	}
	p.want(wire.TypeDone)
	p.send(`{"v":1,"type":"chat_reset","sessionId":"s1"}`)
	if f := other.want(wire.TypeChatCleared); f["by"] != "custom:alice" {
		t.Errorf("%v", f)
	}
	p.send(chatFrame("s1", "anew"))
	if f := p.want(wire.TypeToken); f["content"] != "custom:alice: anew" {
		t.Errorf("%v", f)
	}
	p.want(wire.TypeDone)

	// A slow model holds nobody up. A session asks one question at a time, and the question ends when its asker leaves.
	p.send(chatFrame("s1", "wait"))
	<-r.options.Backend.Chatter.(fakeChatter).waiting
	second := r.join(t, credentials.Approve)
	second.want(wire.TypeTeamUpdate)
	second.send(chatFrame("s1", "hello"))
	if f := second.wantError(wire.CodeBadMessage); !strings.Contains(f["message"].(string), "still answering") {
		t.Errorf("%v", f)
	}
	p.conn.Close()
	second.wantError(wire.CodeCancelled)
}

// A client that does not follow the session still gets the answer, once.
func TestChatUnsubscribed(t *testing.T) {
	r := start(t, newFakeBackend("s1", "s2"))
	r.options.Backend.Chatter = fakeChatter{r.backend, nil}
	p := r.connect(t, credentials.Approve)
	p.send(`{"v":1,"type":"hello","client":{"name":"alice","version":"1","kind":"custom"},"sessions":["s2"]}`)
	p.send(chatFrame("s1", "hello"))
	p.want(wire.TypeToken)
	p.want(wire.TypeDone)
	p.send(chatFrame("s1", "refused"))
	p.wantError(wire.CodeRefused)
}

// brief is how long a response may take in tests of those that may take longer.
const brief = 300 * time.Millisecond

// An answer of a model that takes its time arrives, also through the hub.
func TestChatOverRESTTakesItsTime(t *testing.T) {
	timing := defaultTiming
	timing.Answer = brief
	r := startTimed(t, newFakeBackend("s1"), timing)
	r.options.Backend.Chatter = fakeChatter{r.backend, nil}
	second := r.joinedTimed(t, newFakeBackend("s2"), timing)
	second.options.Backend.Chatter = fakeChatter{second.backend, nil}
	meet(t, r, 1)
	for _, session := range []string{"s1", "s2"} {
		response, body := r.do(t, credentials.Approve, "POST", "/api/sessions/"+session+"/chat", `{"message":"slow"}`)
		if response.StatusCode != http.StatusOK || !strings.Contains(body, "rest: slow") {
			t.Errorf("%s: %d %s", session, response.StatusCode, body)
		}
	}
}

func TestConversationIsBounded(t *testing.T) {
	var c conversation
	for i := range 3 * maxConversation {
		c.remember(wire.ChatTurn{Role: "user", Text: fmt.Sprint(i)}, wire.ChatTurn{Role: "assistant", Text: "ok"})
	}
	if len(c.turns) != maxConversation || c.turns[0].Role != "user" {
		t.Errorf("%d turns, the first by the %s", len(c.turns), c.turns[0].Role)
	}
	large := strings.Repeat("x", maxChatMemory/3)
	for range 4 {
		c.remember(wire.ChatTurn{Role: "user", Text: large}, wire.ChatTurn{Role: "assistant", Text: "ok"})
	}
	if len(c.turns) != 4 {
		t.Errorf("%d turns are kept of large ones", len(c.turns))
	}
}

func TestChatOverREST(t *testing.T) {
	r := start(t, newFakeBackend("s1"))
	r.options.Backend.Chatter = fakeChatter{r.backend, nil}
	if response, body := r.do(t, credentials.Approve, "POST", "/api/sessions/s1/chat", `{"message":"tulips"}`); response.StatusCode != http.StatusOK || !strings.Contains(body, "rest: tulips") || !strings.Contains(body, "planted in autumn") {
		t.Errorf("%d %s", response.StatusCode, body)
	}
	_, body := r.do(t, credentials.View, "GET", "/api/sessions/s1/chat", "")
	var got struct{ Turns []wire.ChatTurn }
	if err := json.Unmarshal([]byte(body), &got); err != nil || len(got.Turns) != 2 || got.Turns[1].Usage.Tokens != 1 {
		t.Errorf("%s, %v", body, err)
	}
	for _, tt := range []struct {
		as           credentials.Credential
		method, body string
		status       int
	}{
		{credentials.View, "POST", `{"message":"hello"}`, http.StatusForbidden},
		{credentials.Approve, "POST", `{"message":"refused"}`, http.StatusForbidden},
		{credentials.Approve, "POST", `{"message":"no model"}`, http.StatusServiceUnavailable},
		{credentials.Approve, "POST", `{"message":""}`, http.StatusBadRequest},
		{credentials.Approve, "DELETE", "", http.StatusOK},
	} {
		if response, body := r.do(t, tt.as, tt.method, "/api/sessions/s1/chat", tt.body); response.StatusCode != tt.status {
			t.Errorf("%s %s: %d %s", tt.method, tt.body, response.StatusCode, body)
		}
	}
	if _, body := r.do(t, credentials.View, "GET", "/api/sessions/s1/chat", ""); !strings.Contains(body, `"turns":[]`) {
		t.Errorf("after the reset: %s", body)
	}
}

func TestClientChats(t *testing.T) {
	r := start(t, newFakeBackend("s1"))
	r.options.Backend.Chatter = fakeChatter{r.backend, nil}
	c := dial(t, r.target())
	await[wire.Connected](t, c, nil)
	if err := c.Chat(wire.Chat{Head: wire.Head{SessionID: "s1"}, Message: "hello"}); err != nil {
		t.Fatal(err)
	}
	if f := await[*wire.Token](t, c, nil); f.Content != "tui:alice: hello" {
		t.Errorf("%+v", f)
	}
	await[*wire.Done](t, c, nil)
	if err := c.ResetChat("s1"); err != nil {
		t.Fatal(err)
	}
	await[*wire.ChatCleared](t, c, nil)
}
