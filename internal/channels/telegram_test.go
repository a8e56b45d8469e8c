package channels

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/companion/wire"
	"callgate/internal/testserver/botapi"
	"callgate/internal/testserver/waits"
)

const (
	home = 42 // the chat
	eve  = 8  // in the chat, but not linked
)

// telegram starts an approver in one chat, where botapi.Alice is linked.
func telegram(t *testing.T, g *gate) *botapi.API {
	t.Helper()
	a := botapi.Start()
	place, err := NewTelegram(a.URL, "42", botapi.Token)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	log, done := new(lockedBuffer), make(chan error, 1)
	go func() {
		done <- Run(ctx, Options{
			Client: g, Logger: slog.New(slog.NewTextHandler(log, nil)),
			Channels: []Channel{{Name: "t", Place: place, People: map[string]string{"7": "alice"}, Page: "https://gate.example.com"}},
			Freeze:   g.freeze,
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		a.Close()
		for _, c := range a.Complaints() {
			t.Error(c)
		}
		if strings.Contains(log.String(), botapi.Token) {
			t.Errorf("the log holds the token:\n%s", log)
		}
	})
	return a
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func wait(t *testing.T, a *botapi.API, what string, fits func(botapi.Message) bool) botapi.Message {
	t.Helper()
	m, err := a.Wait(fits)
	if err != nil {
		t.Fatalf("no message %s: %v", what, err)
	}
	return m
}

func says(text string) func(botapi.Message) bool {
	return func(m botapi.Message) bool { return strings.Contains(m.Text, text) }
}

func (g *gate) silent(t *testing.T, what string) {
	t.Helper()
	if len(g.answers) > 0 {
		t.Fatalf("%s answered %+v", what, <-g.answers)
	}
}

// Only a linked person in the chat can answer, once, and only what the message shows.
func TestTelegram(t *testing.T) {
	g := newGate()
	a := telegram(t, g)
	g.ask("c1", "medium", func(f *wire.ToolApproveRequest) {
		f.Args = json.RawMessage(`{"command":"git push <origin> && echo \"\u202e\""}`)
	})
	m := wait(t, a, "about the call", says("git push"))
	for _, part := range []string{"&lt;origin&gt;", "⟨U+202E⟩", "medium risk"} {
		if !strings.Contains(m.Text, part) {
			t.Errorf("%q is missing in %s", part, m.Text)
		}
	}
	if m.Buttons["Page"] != "https://gate.example.com/#/approvals/c1" {
		t.Errorf("%v", m.Buttons)
	}
	key, _, _ := strings.Cut(m.Buttons["Approve"], ":")
	a.PressData(botapi.Alice, 666, m.ID, m.Buttons["Approve"]) // from another chat
	a.Say(botapi.Alice, 666, m.ID, "no")
	a.Happen(map[string]any{"callback_query": map[string]any{"id": "q", "from": map[string]any{"id": botapi.Alice}, "data": m.Buttons["Approve"]}}) // from an inline message
	for _, forged := range []string{"x:approve", ":approve", "approve", key, key + ":always", key + ":session", ":"} {
		a.PressData(botapi.Alice, home, m.ID, forged)
	}
	a.PressData(eve, home, m.ID, m.Buttons["Approve"])
	a.Say(eve, home, m.ID, "no")
	wait(t, a, "that refuses her", says("not linked"))
	g.silent(t, "somebody")

	a.PressData(botapi.Alice, home, m.ID, m.Buttons["Approve"])
	g.answered(t, "approve", "alice")
	a.PressData(botapi.Alice, home, m.ID, m.Buttons["Approve"]) // replayed
	g.say(&wire.ToolApproveResolved{ToolCallID: "c1", Decision: "approve", By: "custom:channels/alice<b>"})
	over := wait(t, a, "that is over", says("alice&lt;b&gt;"))
	if len(over.Buttons) != 0 {
		t.Errorf("%+v", over)
	}
	a.Say(botapi.Alice, home, m.ID, "too late")
	wait(t, a, "that says so", says("no longer counts"))
	g.silent(t, "a replayed or late press")
}

func TestTelegramReplyDenies(t *testing.T) {
	g := newGate()
	a := telegram(t, g)
	g.ask("c1", "low", nil)
	m := wait(t, a, "about the call", says("git push"))
	a.Say(botapi.Alice, home, 0, "what is that?") // talk
	a.Say(botapi.Alice, home, m.ID, "approve; use make release")
	select {
	case f := <-g.answers:
		if f.Decision != "reject" || f.Feedback != "approve; use make release" || f.Person != "alice" {
			t.Errorf("%+v", f)
		}
	case <-time.After(waits.Limit):
		t.Fatal("nobody answered")
	}
}

// A high-risk call can only be denied, whatever anybody presses; the page is one press away.
func TestTelegramHigh(t *testing.T) {
	g := newGate()
	a := telegram(t, g)
	for _, risk := range []string{"high", "critical"} {
		g.ask("c1", risk, func(f *wire.ToolApproveRequest) { f.ArgsDigest = "of-" + risk })
		m := wait(t, a, "about the call", func(m botapi.Message) bool {
			return strings.Contains(m.Text, risk+" risk") && m.Buttons["Deny"] != ""
		})
		if m.Buttons["Approve"] != "" || m.Buttons["Page"] == "" {
			t.Errorf("%v", m.Buttons)
		}
		key, _, _ := strings.Cut(m.Buttons["Deny"], ":")
		a.PressData(botapi.Alice, home, m.ID, key+":approve")
		if err := a.Toast("no longer counts"); err != nil {
			t.Fatal(err)
		}
		g.silent(t, risk)
	}
}

// A freeze counts only from a linked person, and only while it is new.
func TestTelegramFreeze(t *testing.T) {
	g := newGate()
	a := telegram(t, g)
	a.Say(eve, home, 0, "/freeze now")
	a.Say(botapi.Alice, 666, 0, "/freeze now")
	a.Happen(map[string]any{"message": map[string]any{"message_id": 1, "date": time.Now().Add(-time.Hour).Unix(), "chat": map[string]any{"id": home}, "from": map[string]any{"id": botapi.Alice}, "text": "/freeze now"}})
	wait(t, a, "that it is late", says("too late"))
	a.Say(botapi.Alice, home, 0, "/freeze@gate release day")
	wait(t, a, "that it is frozen", says("only reading"))
	g.frozen(t, "release day", "alice")
	a.Say(botapi.Alice, 666, 0, "/start")
	newcomer := wait(t, a, "of who and where", says(`to: "666", people: ["7=`))
	for range 20 { // somebody who keeps writing this does not delay a freeze
		a.Say(eve, eve, 0, "/start")
	}
	a.Say(botapi.Alice, home, 0, "/freeze later")
	answered := 0
	wait(t, a, "that it is frozen again", func(m botapi.Message) bool {
		if m.ID > newcomer.ID && m.Chat == eve {
			answered++
		}
		return m.ID > newcomer.ID && m.Chat == home
	})
	g.frozen(t, "later", "alice")
	if answered > 1 {
		t.Errorf("%d answers to a stranger", answered)
	}
}

// A refusal or a pause of Telegram holds nothing else up.
func TestTelegramTrouble(t *testing.T) {
	a := botapi.Start()
	defer a.Close()
	var methods []string
	a.Fail = func(method string) (int, string) {
		switch methods = append(methods, method); method {
		case "sendMessage":
			if len(methods) == 1 {
				return 429, `{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":60}}`
			}
		case "editMessageText":
			return 400, `{"ok":false,"error_code":400,"description":"Bad Request: message is not modified"}`
		}
		return 0, ""
	}
	place, err := NewTelegram(a.URL, "42", botapi.Token)
	if err != nil {
		t.Fatal(err)
	}
	m := Message{Key: "k", Title: "t", Lines: []string{strings.Repeat("<é", 9000)}, Actions: []string{Deny}}
	for range 2 {
		if _, err := place.Show(t.Context(), "", m); err == nil {
			t.Error("it sends")
		}
	}
	if len(methods) != 1 {
		t.Errorf("it does not pause: %v", methods)
	}
	place.until = time.Time{}
	where, err := place.Show(t.Context(), "", m)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := place.Show(t.Context(), where, m); err != nil || again != where {
		t.Errorf("%q %v", again, err)
	}
	wrong, err := NewTelegram(a.URL, "42", "1:wrong")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wrong.Show(t.Context(), "", m); err == nil || strings.Contains(err.Error(), "wrong") {
		t.Errorf("%v", err)
	}
	for _, bad := range [][2]string{{"http://example.com", "42"}, {"", "@me"}, {"", ""}} {
		if _, err := NewTelegram(bad[0], bad[1], botapi.Token); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
}

// A text that looks short may be cut once it is escaped, so it cannot be approved.
func TestEscapedTextCounts(t *testing.T) {
	a := &approver{Options: Options{Channels: []Channel{{}}}}
	for text, want := range map[string][]string{
		strings.Repeat("x", 1000): {Approve, Deny}, strings.Repeat("&", 1000): {Deny},
	} {
		args, err := json.Marshal(map[string]string{"a": text})
		if err != nil {
			t.Fatal(err)
		}
		q := &question{request: &wire.ToolApproveRequest{Args: args, Risk: wire.Risk{Label: "low"}}}
		if m := a.message(q, 0); !slices.Equal(m.Actions, want) {
			t.Errorf("%.9q…: %v", text, m.Actions)
		}
		q.request.Args, q.request.Summary = json.RawMessage(`{}`), strings.Repeat("s", 2000)
		if m := a.message(q, 0); !slices.Equal(m.Actions, []string{Deny}) {
			t.Errorf("a long summary: %v", m.Actions)
		}
	}
}
