package companion

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"callgate/audit"
	"callgate/gate"
)

// fakeChatter answers with what it was asked, or waits when that is "wait".
type fakeChatter struct{ waiting chan struct{} }

func (f fakeChatter) Chat(ctx context.Context, session, message string, who audit.Author) (string, error) {
	switch {
	case session != "s1":
		return "", gate.ErrSession
	case message == "wait":
		f.waiting <- struct{}{}
		<-ctx.Done()
		return "", ctx.Err()
	case message == "refused":
		return "", fmt.Errorf("%w: callgate denied sampling", gate.ErrAnswer)
	}
	return who.By + " said " + message, nil
}

func chatFrame(session, message string) string {
	return fmt.Sprintf(`{"v":1,"type":"chat","sessionId":%q,"message":%q}`, session, message)
}

func TestChat(t *testing.T) {
	r := start(t, newFakeBackend("s1"))
	nobody := r.join(t, CredentialApprove)
	nobody.send(chatFrame("s1", "hello"))
	nobody.wantError(CodeBadMessage)
	r.chatter = fakeChatter{make(chan struct{}, maxChats)}
	p := r.join(t, CredentialApprove)
	p.send(chatFrame("s1", "hello <you>"))
	if f := p.want(TypeToken); f["content"] != "custom:alice said hello <you>" || f["agentId"] != "main" {
		t.Errorf("%v", f)
	}
	if f := p.want(TypeDone); f["usage"] != nil {
		t.Errorf("%v", f)
	}
	for _, tt := range []struct{ frame, code string }{
		{chatFrame("s1", " \n"), CodeBadMessage},
		{chatFrame("s1", strings.Repeat("x", maxChatMessage+1)), CodeBadMessage},
		{chatFrame("s1", "refused"), CodeBadMessage},
		{chatFrame("s9", "hello"), CodeSessionNotFound},
		{chatFrame("*", "hello"), CodeBadMessage},
	} {
		p.send(tt.frame)
		p.wantError(tt.code)
	}
	watcher := r.join(t, CredentialView)
	watcher.send(chatFrame("s1", "hello"))
	watcher.wantError(CodeUnauthorized)

	// A model that takes its time holds nobody up, and its answers end with the client.
	for range maxChats {
		p.send(chatFrame("s1", "wait"))
		<-r.chatter.(fakeChatter).waiting
	}
	p.send(chatFrame("s1", "hello"))
	if f := p.wantError(CodeBadMessage); !strings.Contains(f["message"].(string), "wait for one of them") {
		t.Errorf("%v", f)
	}
}

func TestClientChats(t *testing.T) {
	r := start(t, newFakeBackend("s1"))
	r.chatter = fakeChatter{}
	c := dial(t, r.target())
	await[Connected](t, c, nil)
	if err := c.Chat("s1", "hello"); err != nil {
		t.Fatal(err)
	}
	if f := await[*Token](t, c, nil); f.Content != "tui:alice said hello" {
		t.Errorf("%+v", f)
	}
	await[*Done](t, c, nil)
}
