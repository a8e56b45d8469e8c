package channels

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"callgate/internal/companion/wire"
	"callgate/internal/oncall"
	"callgate/internal/testserver/waits"
	"callgate/permissions"
)

// gate plays callgate for an approver.
type gate struct {
	events  chan wire.Event
	answers chan wire.ToolApprove
	froze   chan [2]string // reason and person
}

func newGate() *gate {
	return &gate{make(chan wire.Event, 100), make(chan wire.ToolApprove, 100), make(chan [2]string, 100)}
}

func (g *gate) Events() <-chan wire.Event       { return g.events }
func (g *gate) Answer(f wire.ToolApprove) error { g.answers <- f; return nil }
func (g *gate) freeze(_ context.Context, reason, person string) error {
	g.froze <- [2]string{reason, person}
	return nil
}

// frozen waits for a freeze, and fails if there is another one.
func (g *gate) frozen(t *testing.T, reason, person string) {
	t.Helper()
	select {
	case got := <-g.froze:
		if got != [2]string{reason, person} || len(g.froze) > 0 {
			t.Errorf("frozen by %v, and %d more", got, len(g.froze))
		}
	case <-time.After(waits.Limit):
		t.Fatal("nothing is frozen")
	}
}

func (g *gate) say(frame any) { g.events <- wire.Event{Frame: frame} }
func (g *gate) ask(id, risk string, change func(*wire.ToolApproveRequest)) {
	f := &wire.ToolApproveRequest{
		Head: wire.NewHead(wire.TypeToolApproveRequest, "s1"), ToolCallID: id, ArgsDigest: "d-" + id, Tool: "sh_run", Args: json.RawMessage(`{"command":"git push"}`),
		Summary: "Run \"git push\".", Risk: wire.Risk{Label: risk, Class: "NETWORK"}, Client: wire.Host{Name: "claude"}, Origin: wire.Origin{Folder: "/src/app", Branch: "main"},
		Reason: "No rule.", ExpiresAt: time.Now().Add(time.Hour),
	}
	if change != nil {
		change(f)
	}
	g.say(f)
}

// start runs an approver; stop ends it.
func start(t *testing.T, g *gate, list ...Channel) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- Run(ctx, Options{Client: g, Channels: list, Logger: slog.New(slog.DiscardHandler), Freeze: g.freeze})
	}()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// board is a place in memory.
type board struct {
	mu       sync.Mutex
	messages []Message
	take     chan func(Press) string
	refuses  func(Message) bool
}

func newBoard() *board { return &board{take: make(chan func(Press) string, 1)} }

func (b *board) Show(_ context.Context, where string, m Message) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refuses != nil && b.refuses(m) {
		return "", errors.New("refused")
	}
	if where == "" {
		b.messages = append(b.messages, m)
		return strconv.Itoa(len(b.messages)), nil
	}
	at, err := strconv.Atoi(where)
	if err == nil {
		b.messages[at-1] = m
	}
	return where, err
}

func (b *board) Listen(ctx context.Context, take func(Press) string) error {
	b.take <- take
	<-ctx.Done()
	return nil
}

func (b *board) all() []Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.messages)
}

func TestWhatAnAnswerIsGoodFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, b := newGate(), newBoard()
		stop := start(t, g, Channel{Name: "b", Place: b, People: map[string]string{"U1": "alice"}, Page: "https://gate.example.com"})
		take := <-b.take
		last := func() Message {
			synctest.Wait()
			time.Sleep(2 * lookAgain)
			synctest.Wait()
			all := b.all()
			return all[len(all)-1]
		}

		g.ask("c1", "medium", nil)
		m := last()
		if !slices.Equal(m.Actions, []string{Approve, Deny}) || m.Link != "https://gate.example.com/#/approvals/c1" || !strings.Contains(m.Text(), "In /src/app on main") || !strings.Contains(m.Text(), "git push") {
			t.Errorf("%+v", m)
		}
		for what, p := range map[string]Press{
			"somebody else": {m.Key, Approve, "U2", ""}, "nobody": {m.Key, Approve, "", ""}, "another key": {"x", Approve, "U1", ""}, "no key": {"", Approve, "U1", ""}, "no such action": {m.Key, "always", "U1", ""},
		} {
			take(p)
			if len(g.answers) > 0 {
				t.Fatalf("%s answered %+v", what, <-g.answers)
			}
		}
		take(Press{m.Key, Approve, "U1", ""})
		if a := <-g.answers; a.ToolCallID != "c1" || a.ArgsDigest != "d-c1" || a.Decision != "approve" || a.Person != "alice" || a.SessionID != "s1" {
			t.Errorf("%+v", a)
		}
		if take(Press{m.Key, Approve, "U1", ""}); len(g.answers) > 0 {
			t.Error("an answer that is given again counts again")
		}
		g.say(&wire.ToolApproveResolved{ToolCallID: "c1", Decision: "approve", By: "custom:channels/alice"})
		if m := last(); len(m.Actions) != 0 || !strings.Contains(m.Over, "alice") {
			t.Errorf("after the end: %+v", m)
		}

		// Changed arguments make another question, in another message.
		g.ask("c2", "low", nil)
		old := last()
		g.ask("c2", "low", func(f *wire.ToolApproveRequest) { f.ArgsDigest = "other" })
		m = last()
		if m.Key == old.Key || !strings.Contains(b.all()[len(b.all())-2].Over, "changed") {
			t.Errorf("%+v", b.all())
		}
		if take(Press{old.Key, Approve, "U1", ""}); len(g.answers) > 0 {
			t.Error("an answer to the old arguments counts")
		}
		take(Press{m.Key, Deny, "U1", "no"})
		if a := <-g.answers; a.Decision != "reject" || a.Feedback != "no" || a.ArgsDigest != "other" {
			t.Errorf("%+v", a)
		}

		// A call that is not shown whole, is high or marked, or needs a passkey can only be denied.
		for i, change := range []func(*wire.ToolApproveRequest){
			func(f *wire.ToolApproveRequest) { f.Risk.Label = "high" },
			func(f *wire.ToolApproveRequest) { f.Args = fmt.Appendf(nil, `{"a":%q}`, strings.Repeat("x", 5000)) },
			func(f *wire.ToolApproveRequest) { f.Marks = []wire.Mark{{Code: "confirm", Text: "look"}} },
			func(f *wire.ToolApproveRequest) { f.Presence = true },
			func(f *wire.ToolApproveRequest) { f.DefinitionChanged = &wire.DefinitionChange{} },
		} {
			g.ask(fmt.Sprint("h", i), "low", change)
			m := last()
			if take(Press{m.Key, Approve, "U1", ""}); len(g.answers) > 0 || !slices.Equal(m.Actions, []string{Deny}) {
				t.Errorf("%d: %+v", i, m)
			}
		}
		stop()
		for _, m := range b.all() {
			if len(m.Actions) != 0 {
				t.Errorf("it leaves %+v", m)
			}
		}
	})
}

func TestEscalationAndQuietHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hours, err := permissions.ParseHours("00:00-12:00") // a bubble's clock starts at midnight UTC
		if err != nil {
			t.Fatal(err)
		}
		quiet := time.Now().Local().Hour() < 12
		g, first, second, third := newGate(), newBoard(), newBoard(), newBoard()
		stop := start(t, g, Channel{Name: "1", Place: first}, Channel{Name: "2", Place: second, After: time.Minute}, Channel{Name: "3", Place: third, Quiet: hours})
		g.ask("c1", "low", nil)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if len(first.all()) != 1 || len(second.all()) != 0 || (len(third.all()) == 0) != quiet {
			t.Errorf("%d %d %d messages", len(first.all()), len(second.all()), len(third.all()))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(second.all()) != 1 {
			t.Error("nobody answered, and the next was not asked")
		}
		g.ask("c2", "low", nil)
		time.Sleep(5 * time.Second)
		g.say(&wire.ToolApproveResolved{ToolCallID: "c2", Decision: "reject", By: "web:bob"})
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if len(first.all()) != 2 || len(second.all()) != 1 {
			t.Error("what was answered in time goes on")
		}
		stop()
	})
}

// fake is a vendor's API that checks its callers.
type fake struct {
	*httptest.Server
	mu    sync.Mutex
	calls []call
}

type call struct {
	method, path string
	body         map[string]any
	size         int // of the body, in bytes
}

func newFake(t *testing.T, token string, more func(http.ResponseWriter, *http.Request) bool, reply func(call) any) *fake {
	t.Helper()
	f := new(fake)
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown := r.Header.Get("Authorization")
		if shown == "" && r.Header.Get("Content-Type") == "application/x-www-form-urlencoded" && r.ParseForm() == nil {
			shown = "Bearer " + r.PostForm.Get("token")
		}
		opens := r.URL.Path == "/apps.connections.open" && shown == "Bearer xapp-a"
		if token != "" && shown != token && !opens && !strings.Contains(r.URL.Path, "/callback") && !strings.HasPrefix(r.URL.Path, "/socket") {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if more != nil && more(w, r) {
			return
		}
		c := call{method: r.Method, path: r.URL.Path}
		text, _ := io.ReadAll(r.Body)
		_, c.size = json.Unmarshal(text, &c.body), len(text)
		if r.PostForm != nil { // some values are JSON
			c.body = map[string]any{}
			for name := range r.PostForm {
				var v any = r.PostForm.Get(name)
				if name == "blocks" {
					_ = json.Unmarshal([]byte(r.PostForm.Get(name)), &v)
				}
				c.body[name] = v
			}
		}
		f.mu.Lock()
		f.calls = append(f.calls, c)
		f.mu.Unlock()
		_ = json.NewEncoder(w).Encode(reply(c))
	}))
	t.Cleanup(f.Close)
	return f
}

// want waits for a call that fits.
func (f *fake) want(t *testing.T, what string, fits func(call) bool) call {
	t.Helper()
	var found call
	waits.Until(t, what, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		i := slices.IndexFunc(f.calls, fits)
		if i >= 0 {
			found = f.calls[i]
		}
		return i >= 0
	})
	return found
}

func (g *gate) answered(t *testing.T, decision, person string) {
	t.Helper()
	select {
	case a := <-g.answers:
		if a.Decision != decision || a.Person != person || a.ArgsDigest != "d-c1" {
			t.Errorf("%+v", a)
		}
	case <-time.After(waits.Limit):
		t.Fatal("nobody answered")
	}
}

func text(v any) string {
	s, _ := json.Marshal(v)
	return string(s)
}

// upgrades upgrades requests for /socket to a WebSocket and hands it over.
func upgrades(socket chan<- *websocket.Conn) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/socket" {
			return false
		}
		upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
		c, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return true
		}
		socket <- c
		go func() { // like Slack; ends with the socket
			for c.WriteControl(websocket.PingMessage, nil, time.Now().Add(waits.Limit)) == nil {
				time.Sleep(time.Second)
			}
		}()
		return true
	}
}

func TestSlack(t *testing.T) {
	socket := make(chan *websocket.Conn, 1)
	var f *fake
	f = newFake(t, "Bearer xoxb-b", upgrades(socket), func(c call) any {
		if c.path == "/apps.connections.open" {
			return map[string]any{"ok": true, "url": strings.Replace(f.URL, "http", "ws", 1) + "/socket"}
		}
		return map[string]any{"ok": true, "ts": "17.1"}
	})
	place, err := NewSlack(f.URL, "C1", "xapp-a", "xoxb-b")
	if err != nil {
		t.Fatal(err)
	}
	g := newGate()
	stop := start(t, g, Channel{Name: "s", Place: place, People: map[string]string{"U1": "alice"}})
	defer stop()
	g.ask("c1", "low", func(f *wire.ToolApproveRequest) { f.Summary, f.Client.Name = "<!channel> & x", "<!here>" })
	posted := f.want(t, "a message", func(c call) bool { return c.path == "/chat.postMessage" })
	if s := text(posted.body); !strings.Contains(s, `"action_id":"approve"`) || strings.Contains(posted.body["blocks"].([]any)[1].(map[string]any)["text"].(map[string]any)["text"].(string), "<!channel>") || strings.Contains(posted.body["text"].(string), "<!here>") {
		t.Errorf("%s", s)
	}
	key := posted.body["blocks"].([]any)[2].(map[string]any)["elements"].([]any)[0].(map[string]any)["value"].(string)
	c := <-socket
	defer c.Close()
	press := func(user, channel string) {
		t.Helper()
		envelope := map[string]any{"type": "interactive", "envelope_id": "e1", "payload": map[string]any{"type": "block_actions", "user": map[string]any{"id": user}, "channel": map[string]any{"id": channel}, "actions": []any{map[string]any{"type": "button", "block_id": "b1", "action_id": "approve", "value": key}}}}
		if err := c.WriteJSON(envelope); err != nil {
			t.Fatal(err)
		}
		var ack map[string]string
		if err := c.ReadJSON(&ack); err != nil || ack["envelope_id"] != "e1" {
			t.Fatalf("%v %v", ack, err)
		}
	}
	press("U1", "C2") // another channel
	press("U2", "C1") // somebody else
	f.want(t, "a refusal", func(c call) bool {
		return c.path == "/chat.postEphemeral" && strings.Contains(text(c.body), "not linked")
	})
	for _, from := range [][2]string{{"U1", "C2"}, {"U2", "C1"}, {"U1", "C1"}} {
		if err := c.WriteJSON(map[string]any{"type": "slash_commands", "envelope_id": "e2", "payload": map[string]any{"command": "/freeze", "is_enterprise_install": "false", "text": "release day", "user_id": from[0], "channel_id": from[1]}}); err != nil {
			t.Fatal(err)
		}
		var ack map[string]string
		if err := c.ReadJSON(&ack); err != nil || ack["envelope_id"] != "e2" {
			t.Fatalf("%v %v", ack, err)
		}
	}
	g.frozen(t, "release day", "alice")
	press("U1", "C1")
	g.answered(t, "approve", "alice")
	g.say(&wire.ToolApproveResolved{ToolCallID: "c1", Decision: "approve", By: "custom:channels/alice"})
	over := f.want(t, "the end", func(c call) bool { return c.path == "/chat.update" })
	if s := text(over.body); strings.Contains(s, "action_id") || over.body["ts"] != "17.1" {
		t.Errorf("%s", s)
	}
	if len(g.answers) > 0 {
		t.Error("a foreign press counts")
	}
}

func TestDiscord(t *testing.T) {
	socket := make(chan *websocket.Conn, 1)
	var f *fake
	f = newFake(t, "Bot tok", upgrades(socket), func(c call) any {
		return map[string]any{"url": strings.Replace(f.URL, "http", "ws", 1) + "/socket", "id": "m1"}
	})
	place, err := NewDiscord(f.URL, "C1", "tok")
	if err != nil {
		t.Fatal(err)
	}
	g := newGate()
	stop := start(t, g, Channel{Name: "d", Place: place, People: map[string]string{"9": "bob"}})
	defer stop()
	g.ask("c1", "medium", func(f *wire.ToolApproveRequest) { f.Client.Name = "\\[page](https://evil.example) <@1> @everyone **" })
	posted := f.want(t, "a message", func(c call) bool { return c.method == "POST" && c.path == "/channels/C1/messages" })
	if title, _, _ := strings.Cut(posted.body["content"].(string), "\n"); title != "**\\[page](https://evil.example) \\<@\u200b1> @\u200beveryone  asks: sh\\_run (medium risk)**" {
		t.Errorf("the title is %s", title)
	}
	id := posted.body["components"].([]any)[0].(map[string]any)["components"].([]any)[1].(map[string]any)["custom_id"].(string)
	c := <-socket
	defer c.Close()
	if err := c.WriteJSON(map[string]any{"op": 10, "d": map[string]any{"heartbeat_interval": 60000}}); err != nil {
		t.Fatal(err)
	}
	var identify struct {
		Op int
		D  struct{ Token string }
	}
	if err := c.ReadJSON(&identify); err != nil || identify.Op != 2 || identify.D.Token != "tok" {
		t.Fatalf("%+v %v", identify, err)
	}
	press := func(user, channel string) {
		t.Helper()
		d := map[string]any{"id": "i" + user, "token": "it", "type": 3, "channel_id": channel, "data": map[string]any{"custom_id": id}, "member": map[string]any{"user": map[string]any{"id": user}}}
		if err := c.WriteJSON(map[string]any{"op": 0, "s": 1, "t": "INTERACTION_CREATE", "d": d}); err != nil {
			t.Fatal(err)
		}
	}
	press("9", "C2")
	press("8", "C1")
	f.want(t, "a refusal", func(c call) bool {
		return c.path == "/interactions/i8/it/callback" && strings.Contains(text(c.body), "not linked")
	})
	says := func(change map[string]any) {
		t.Helper()
		d := map[string]any{"id": "m2", "channel_id": "C1", "author": map[string]any{"id": "9"}, "content": "<@77> freeze release day"}
		maps.Copy(d, change)
		if err := c.WriteJSON(map[string]any{"op": 0, "s": 2, "t": "MESSAGE_CREATE", "d": d}); err != nil {
			t.Fatal(err)
		}
	}
	says(nil) // before the bot knows its name
	if err := c.WriteJSON(map[string]any{"op": 0, "s": 1, "t": "READY", "d": map[string]any{"user": map[string]any{"id": "77"}}}); err != nil {
		t.Fatal(err)
	}
	for _, change := range []map[string]any{
		{"channel_id": "C2"}, {"author": map[string]any{"id": "8"}}, {"author": map[string]any{"id": "9", "bot": true}}, {"webhook_id": "1"}, {"content": "freeze release day"}, {"content": "<@78> freeze"}, {"content": "<@77> freezes"}, {"content": ""},
	} {
		says(change)
	}
	says(nil)
	g.frozen(t, "release day", "bob")
	press("9", "C1")
	g.answered(t, "reject", "bob")
	g.say(&wire.ToolApproveResolved{ToolCallID: "c1", Decision: "reject", By: "custom:channels/bob"})
	f.want(t, "the end", func(c call) bool {
		return c.method == "PATCH" && c.path == "/channels/C1/messages/m1" && strings.Contains(text(c.body), "Denied by")
	})
	if len(g.answers) > 0 {
		t.Error("a foreign press counts")
	}
}

func TestMatrix(t *testing.T) {
	batches := make(chan any, 10)
	f := newFake(t, "Bearer tok", func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/sync") {
			return false
		}
		var filter struct {
			Room struct{ Rooms []string }
		}
		if json.Unmarshal([]byte(r.URL.Query().Get("filter")), &filter) != nil || !slices.Equal(filter.Room.Rooms, []string{"!r:x"}) {
			_, _ = io.WriteString(w, `{"rooms":"`+strings.Repeat("x", 2*maxAnswer)+`"}`) // of a big account
			return true
		}
		if r.URL.Query().Get("since") == "" {
			_ = json.NewEncoder(w).Encode(map[string]any{"next_batch": "b0", "rooms": map[string]any{"join": map[string]any{"!r:x": map[string]any{"timeline": map[string]any{"events": []any{reaction("@alice:x", "$1", "✅")}}}}}})
			return true
		}
		select {
		case b := <-batches:
			_ = json.NewEncoder(w).Encode(b)
		case <-r.Context().Done():
		}
		return true
	}, func(c call) any { return map[string]any{"event_id": "$1"} })
	place, err := NewMatrix(f.URL, "!r:x", "tok")
	if err != nil {
		t.Fatal(err)
	}
	g := newGate()
	stop := start(t, g, Channel{Name: "m", Place: place, People: map[string]string{"@alice:x": "alice"}})
	defer stop()
	g.ask("c1", "low", func(f *wire.ToolApproveRequest) { f.Summary = "<b>x" })
	posted := f.want(t, "a message", func(c call) bool { return c.method == "PUT" })
	if s := posted.body["formatted_body"].(string); strings.Contains(s, "<b>x") || !strings.Contains(s, "✅") {
		t.Errorf("%s", s)
	}
	events := func(list ...any) {
		batches <- map[string]any{"next_batch": "b1", "rooms": map[string]any{"join": map[string]any{"!r:x": map[string]any{"timeline": map[string]any{"events": list}}}}}
	}
	batches <- map[string]any{"next_batch": "b1", "rooms": map[string]any{"join": map[string]any{"!other:x": map[string]any{"timeline": map[string]any{"events": []any{reaction("@alice:x", "$1", "✅")}}}}}}
	events(reaction("@eve:x", "$1", "✅"), reaction("@alice:x", "$2", "✅"), reaction("@alice:x", "$1", "🎉"))
	says := func(sender string) any {
		return map[string]any{"type": "m.room.message", "sender": sender, "content": map[string]any{"body": "!freeze release day"}}
	}
	events(says("@eve:x"), says("@alice:x"))
	g.frozen(t, "release day", "alice")
	events(reaction("@alice:x", "$1", "❌"))
	g.answered(t, "reject", "alice")
	g.say(&wire.ToolApproveResolved{ToolCallID: "c1", Decision: "reject", By: "custom:channels/alice"})
	f.want(t, "the end", func(c call) bool {
		return strings.Contains(text(c.body), "m.replace") && strings.Contains(text(c.body), "Denied by")
	})
}

func reaction(sender, event, key string) any {
	return map[string]any{"type": "m.reaction", "sender": sender, "content": map[string]any{"m.relates_to": map[string]any{"rel_type": "m.annotation", "event_id": event, "key": key}}}
}

func TestNtfy(t *testing.T) {
	lines := make(chan string, 10)
	f := newFake(t, "Bearer tok", func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/calls-answers/json" {
			return false
		}
		w.WriteHeader(http.StatusOK)
		for {
			select {
			case line := <-lines:
				_, _ = io.WriteString(w, line+"\n")
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return true
			}
		}
	}, func(call) any { return map[string]any{"id": "n1"} })
	place, err := NewNtfy(f.URL, "calls", "tok")
	if err != nil {
		t.Fatal(err)
	}
	g := newGate()
	stop := start(t, g, Channel{Name: "n", Place: place, People: map[string]string{TopicUser: "alice"}})
	defer stop()
	g.ask("long", "medium", func(f *wire.ToolApproveRequest) { f.Reason = strings.Repeat("<&>\"", 5000) })
	if long := f.want(t, "a long message", func(c call) bool { return c.body["topic"] == "calls" }); long.size > 8192 || len(long.body["message"].(string)) > 4096 {
		t.Errorf("%d bytes, and ntfy takes 8192; %d of text, and it takes 4096", long.size, len(long.body["message"].(string)))
	}
	g.ask("c1", "medium", nil)
	posted := f.want(t, "a message", func(c call) bool { return c.body["topic"] == "calls" && c.size < 2000 })
	action := posted.body["actions"].([]any)[0].(map[string]any)
	if action["url"] != f.URL+"/calls-answers" || posted.body["priority"] != 4.0 {
		t.Errorf("%v", posted.body)
	}
	freeze := posted.body["actions"].([]any)[2].(map[string]any)
	for _, message := range []string{"x approve", "", "freeze", "freeze release day", "x freeze", freeze["body"].(string), action["body"].(string)} {
		lines <- text(map[string]string{"event": "message", "message": message})
	}
	g.frozen(t, "", "alice")
	g.answered(t, "approve", "alice")
	g.say(&wire.ToolApproveResolved{ToolCallID: "c1", Decision: "approve", By: "custom:channels/alice"})
	f.want(t, "the end", func(c call) bool { return strings.Contains(text(c.body), "Approved by") && c.body["actions"] == nil })
}

// dead is a network that accepts what is sent and answers nothing. Until keepalive is over it delivers one of ntfy's
// lines every 45 seconds.
type dead struct{ keepalive time.Duration }

func (d dead) RoundTrip(r *http.Request) (*http.Response, error) {
	if d.keepalive == 0 {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	body, lines := io.Pipe()
	context.AfterFunc(r.Context(), func() { _ = body.CloseWithError(r.Context().Err()) })
	go func() { // ends with the body
		for end := time.Now().Add(d.keepalive); time.Now().Before(end); time.Sleep(45 * time.Second) {
			_, _ = io.WriteString(lines, `{"event": "keepalive"}`+"\n")
		}
	}()
	return &http.Response{StatusCode: http.StatusOK, Body: body}, nil
}

// A dead connection is noticed within minutes.
func TestDeadConnections(t *testing.T) {
	ntfy, err := NewNtfy("https://ntfy.example.com", "calls", "tok")
	if err != nil {
		t.Fatal(err)
	}
	matrix, err := NewMatrix("https://matrix.example.com", "!r:example.com", "tok")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { client.Transport = nil }()
	for name, c := range map[string]struct {
		place   Place
		network dead
		after   time.Duration
	}{
		"matrix": {matrix, dead{}, time.Minute}, "ntfy": {ntfy, dead{}, 3 * time.Minute}, "ntfy after an hour": {ntfy, dead{time.Hour}, time.Hour + 3*time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client.Transport = c.network
				ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
				defer cancel()
				begun := time.Now()
				if err := c.place.Listen(ctx, nil); err == nil || time.Since(begun) > c.after || time.Since(begun) < c.network.keepalive {
					t.Errorf("after %s: %v", time.Since(begun), err)
				}
			})
		})
	}
}

// The client leaves a Discord gateway that does not answer heartbeats.
func TestDeadDiscord(t *testing.T) {
	socket := make(chan *websocket.Conn, 1)
	var f *fake
	f = newFake(t, "Bot tok", upgrades(socket), func(c call) any {
		return map[string]any{"url": strings.Replace(f.URL, "http", "ws", 1) + "/socket"}
	})
	place, err := NewDiscord(f.URL, "C1", "tok")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- place.Listen(t.Context(), nil) }()
	c := <-socket
	defer c.Close()
	if err := c.WriteJSON(map[string]any{"op": 10, "d": map[string]any{"heartbeat_interval": 500}}); err != nil {
		t.Fatal(err)
	}
	for beats := 0; beats < 3; {
		var frame struct{ Op int }
		if err := c.ReadJSON(&frame); err != nil {
			t.Fatal(err)
		}
		if frame.Op != discordHeartbeat {
			continue
		}
		if beats++; beats == 3 { // the first two are answered
			break
		}
		if err := c.WriteJSON(map[string]any{"op": 11}); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "silent") {
			t.Error(err)
		}
	case <-time.After(waits.Limit):
		t.Error("it waits")
	}
}

func TestWebhook(t *testing.T) {
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	signer, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	f := newFake(t, "", func(w http.ResponseWriter, r *http.Request) bool {
		body, _ := io.ReadAll(r.Body)
		if signer.Verify(body, r.Header) != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		return false
	}, func(call) any { return map[string]any{} })
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	place, err := NewWebhook(f.URL, "https://gate.example.com/answer", secret, listen)
	if err != nil {
		t.Fatal(err)
	}
	g := newGate()
	stop := start(t, g, Channel{Name: "w", Place: place, People: map[string]string{"u": "alice"}})
	defer stop()
	g.ask("c1", "low", nil)
	posted := f.want(t, "a question", func(c call) bool { return c.body["answer"] == "https://gate.example.com/answer" })
	key := posted.body["message"].(map[string]any)["key"].(string)
	post := func(id string, at time.Time, sign *standardwebhooks.Webhook, body string) int {
		t.Helper()
		r, err := http.NewRequest(http.MethodPost, "http://"+listen.Addr().String()+"/answer", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		signature, err := sign.Sign(id, at, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("webhook-id", id)
		r.Header.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
		r.Header.Set("webhook-signature", signature)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		return response.StatusCode
	}
	other, err := standardwebhooks.NewWebhook("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	if err != nil {
		t.Fatal(err)
	}
	yes := text(Press{Key: key, Action: Approve, User: "u"})
	if status := post("a1", time.Now(), other, yes); status != http.StatusUnauthorized {
		t.Errorf("a forged answer: %d", status)
	}
	if status := post("a2", time.Now().Add(-time.Hour), signer, yes); status != http.StatusUnauthorized {
		t.Errorf("a late answer: %d", status)
	}
	if status := post("a3", time.Now(), signer, text(Press{Key: key, Action: Approve, User: "eve"})); status != http.StatusOK || len(g.answers) > 0 {
		t.Errorf("somebody else: %d", status)
	}
	if status := post("a3", time.Now(), signer, yes); status != http.StatusConflict || len(g.answers) > 0 {
		t.Errorf("a replayed id: %d", status)
	}
	for id, user := range map[string]string{"f1": "eve", "f2": "u"} {
		if status := post(id, time.Now(), signer, text(Press{Action: Freeze, User: user, Reason: "release day"})); status != http.StatusOK {
			t.Errorf("a freeze: %d", status)
		}
	}
	g.frozen(t, "release day", "alice")
	if status := post("a4", time.Now(), signer, yes); status != http.StatusOK {
		t.Errorf("a good answer: %d", status)
	}
	g.answered(t, "approve", "alice")
	where := posted.body["where"]
	g.say(&wire.ToolApproveResolved{ToolCallID: "c1", Decision: "approve", By: "custom:channels/alice"})
	f.want(t, "the end", func(c call) bool { return c.body["where"] == where && strings.Contains(text(c.body), "Approved by") })
}

// A Webhook listens again after its listener failed.
func TestWebhookListensAgain(t *testing.T) {
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	place, err := NewWebhook("https://x.example.com", "", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", listen)
	if err != nil {
		t.Fatal(err)
	}
	listen.Close()
	if err := place.Listen(t.Context(), nil); err == nil {
		t.Error("no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- place.Listen(ctx, nil) }()
	waits.Until(t, "it answers", func() bool {
		response, err := http.Get("http://" + listen.Addr().String())
		if err != nil {
			return false
		}
		response.Body.Close()
		return response.StatusCode == http.StatusBadRequest
	})
	cancel()
	<-ended
}

func TestAddressesThatWouldShowCalls(t *testing.T) {
	if _, err := NewSlack("http://slack.example.com", "C", "xapp-a", "xoxb-b"); err == nil {
		t.Error("http is taken")
	}
	if _, err := NewSlack("", "C", "xoxb-b", "xapp-a"); err == nil {
		t.Error("tokens in the wrong order are taken")
	}
	for _, secret := range []string{"secret", "", "whsec_", "whsec_c2VjcmV0", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"} {
		if _, err := NewWebhook("https://x.example.com", "", secret, nil); err == nil {
			t.Errorf("the secret %q is taken", secret)
		}
	}
	for _, address := range []string{"", "ftp://x", "http://10.0.0.1"} {
		if _, err := NewNtfy(address, "t", "k"); err == nil {
			t.Errorf("%q is taken", address)
		}
	}
}

// Nothing in a message can hide or imitate something else.
func TestMessagesHideNothing(t *testing.T) {
	a := &approver{Options: Options{Channels: []Channel{{Name: "b"}}}}
	shown := func(change func(*wire.ToolApproveRequest)) Message {
		g := newGate()
		g.ask("c1", "low", change)
		f, _ := (<-g.events).Frame.(*wire.ToolApproveRequest)
		return a.message(&question{request: f, key: "k"}, 0)
	}
	for hidden, seen := range map[string]string{`a\u202eb`: "202e", `a\u200bb`: "200b", "a\u202eb": "⟨U+202E⟩", "a\u200bb": "⟨U+200B⟩", "a\u00a0b": "⟨U+00A0⟩", `r\u006d`: "rm", `a\r\nb`: `\r`} {
		m := shown(func(f *wire.ToolApproveRequest) {
			f.Args = []byte(`{"command": "` + hidden + `"}`)
			f.Summary, f.Reason, f.Origin.Folder = hidden, hidden, hidden
		})
		if text := m.Title + m.Text(); !strings.Contains(text, seen) || strings.ContainsAny(text, "\u202e\u200b\u00a0\r") {
			t.Errorf("%q is shown as %s", hidden, text)
		}
	}
	for what, change := range map[string]func(*wire.ToolApproveRequest){
		"a fence, which is shown as quotes": func(f *wire.ToolApproveRequest) {
			f.Args = []byte(`{"command": "echo ` + fence + `rm x` + fence + `"}`)
		},
		"a fence in what it says":     func(f *wire.ToolApproveRequest) { f.Summary = fence },
		"more than there is room for": func(f *wire.ToolApproveRequest) { f.Summary = strings.Repeat("x", room) },
		"what takes more room when escaped": func(f *wire.ToolApproveRequest) {
			f.Args = []byte(`{"command": "` + strings.Repeat("&", room/3) + `"}`)
		},
	} {
		if m := shown(change); slices.Contains(m.Actions, Approve) {
			t.Errorf("%s can be approved: %s", what, m.Text())
		}
	}
	if m := shown(func(f *wire.ToolApproveRequest) {
		f.Client.Name, f.Tool = strings.Repeat("y", 5000), strings.Repeat("z", 5000)
	}); len(m.Title) > 250 {
		t.Errorf("a title of %d bytes", len(m.Title))
	}
}

// A message that the place refuses does not keep other questions from being asked.
func TestARefusedMessageHoldsNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, b := newGate(), newBoard()
		b.refuses = func(m Message) bool { return strings.Contains(m.Text(), "cursed") }
		stop := start(t, g, Channel{Name: "b", Place: b})
		defer stop()
		for i := range 3 {
			g.ask(fmt.Sprint("bad", i), "low", func(f *wire.ToolApproveRequest) { f.Summary = "cursed" })
		}
		time.Sleep(5 * lookAgain)
		for i := range 3 {
			g.ask(fmt.Sprint("c", i), "low", nil)
		}
		time.Sleep(20 * lookAgain)
		synctest.Wait()
		if len(b.all()) != 3 {
			t.Errorf("%d messages", len(b.all()))
		}
	})
}

// slow is a place that needs a while for a new message.
type slow struct{ *board }

func (s slow) Show(ctx context.Context, where string, m Message) (string, error) {
	if where == "" {
		time.Sleep(5 * lookAgain)
	}
	return s.board.Show(ctx, where, m)
}

// A question that ends while its message is on its way ends there too, though another channel has forgotten it.
func TestAQuestionEndsWhileItIsPosted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, late := newGate(), slow{newBoard()}
		stop := start(t, g, Channel{Name: "1", Place: newBoard()}, Channel{Name: "2", Place: late})
		defer stop()
		g.ask("c1", "low", nil)
		time.Sleep(2 * lookAgain)
		g.say(&wire.ToolApproveResolved{ToolCallID: "c1", Decision: "approve", By: "web:alice"})
		time.Sleep(10 * lookAgain)
		synctest.Wait()
		if all := late.all(); len(all) != 1 || all[0].Over == "" || all[0].Actions != nil {
			t.Errorf("%+v", all)
		}
	})
}

// An answer that the connection lost can be given again.
func TestALostAnswerCanBeGivenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, b := newGate(), newBoard()
		stop := start(t, g, Channel{Name: "b", Place: b, People: map[string]string{"U1": "alice"}})
		defer stop()
		take := <-b.take
		for range 2 { // asked, answered, and asked again because the answer did not arrive
			g.ask("c1", "low", nil)
			time.Sleep(2 * lookAgain)
			synctest.Wait()
			all := b.all()
			take(Press{all[len(all)-1].Key, Approve, "U1", ""})
			if len(g.answers) != 1 {
				t.Fatalf("%d answers", len(g.answers))
			}
			<-g.answers
			g.say(wire.Disconnected{})
		}
	})
}

// A message that somebody deleted is left alone: it needs no change, and asking for one would go on for ever.
func TestDeletedMessages(t *testing.T) {
	gone := func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.Method == http.MethodPatch:
			w.WriteHeader(http.StatusNotFound)
		case r.URL.Path == "/chat.update":
			_, _ = io.WriteString(w, `{"ok":false,"error":"message_not_found"}`)
		default:
			return false
		}
		return true
	}
	f := newFake(t, "", gone, nil)
	slack, err := NewSlack(f.URL, "C1", "xapp-a", "xoxb-b")
	if err != nil {
		t.Fatal(err)
	}
	discord, err := NewDiscord(f.URL, "C1", "tok")
	if err != nil {
		t.Fatal(err)
	}
	for name, place := range map[string]Place{"slack": slack, "discord": discord} {
		if where, err := place.Show(t.Context(), "17.1", Message{Key: "k", Over: "Approved by alice"}); where != "17.1" || err != nil {
			t.Errorf("%s: %q, %v", name, where, err)
		}
	}
}

// A key is valid only in the channels that showed it, and only for its call.
func TestAnswersOfAnotherChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, first, later := newGate(), newBoard(), newBoard()
		people := map[string]string{"U1": "alice"}
		stop := start(t, g, Channel{Name: "1", Place: first, People: people}, Channel{Name: "2", Place: later, People: people, After: time.Hour})
		defer stop()
		g.ask("c1", "low", nil)
		g.ask("c2", "low", func(f *wire.ToolApproveRequest) { f.SessionID = "s2" })
		time.Sleep(2 * lookAgain)
		synctest.Wait()
		here, there := <-first.take, <-later.take
		for _, m := range first.all() {
			if there(Press{m.Key, Approve, "U1", ""}); len(g.answers) > 0 {
				t.Fatal("a channel answers what it was not asked")
			}
			if there(Press{m.Key, Freeze, "U1", ""}); len(g.froze) > 0 {
				t.Fatal("a channel freezes by a key that it was not shown")
			}
			here(Press{m.Key, Approve, "U1", ""})
			_, call, _ := strings.Cut(m.Link, "/#/approvals/")
			if a := <-g.answers; a.ArgsDigest != "d-"+a.ToolCallID || (a.SessionID == "s2") != (a.ToolCallID == "c2") || call != "" {
				t.Errorf("%+v", a)
			}
		}
	})
}

// eager is a place where somebody answers before Show has returned.
type eager chan func(Press) string

func (e eager) Show(_ context.Context, where string, m Message) (string, error) {
	if where == "" && len(m.Actions) > 0 {
		take := <-e
		take(Press{m.Key, Approve, "U1", ""})
		e <- take
	}
	return "1", nil
}

func (e eager) Listen(ctx context.Context, take func(Press) string) error {
	e <- take
	<-ctx.Done()
	return ctx.Err()
}

func TestAnswersBeforeThePostIsThrough(t *testing.T) {
	g := newGate()
	stop := start(t, g, Channel{Name: "e", Place: make(eager, 1), People: map[string]string{"U1": "alice"}})
	defer stop()
	g.ask("c1", "low", nil)
	g.answered(t, "approve", "alice")
}

// Only people on call are asked and heard.
func TestOnlyWhoIsOnCallAnswers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "oncall.ics")
	event := func(name string) string {
		return "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nDTSTAMP:20200101T000000Z\r\nUID:" + name + "\r\nSUMMARY:" + name + "\r\nDTSTART:19990101T000000Z\r\nDTEND:20990101T000000Z\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
	}
	if err := os.WriteFile(path, []byte(event("Bob")), 0o600); err != nil {
		t.Fatal(err)
	}
	calendar, err := oncall.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		g, asked, silent := newGate(), newBoard(), newBoard()
		stop := start(t, g,
			Channel{Name: "asked", Place: asked, People: map[string]string{"U1": "alice", "U2": "bob"}, OnCall: calendar},
			Channel{Name: "silent", Place: silent, People: map[string]string{"U1": "alice"}, OnCall: calendar})
		defer stop()
		take := <-asked.take
		g.ask("c1", "low", nil)
		time.Sleep(2 * lookAgain)
		synctest.Wait()
		if len(silent.all()) > 0 || len(asked.all()) != 1 {
			t.Fatalf("%d and %d messages", len(asked.all()), len(silent.all()))
		}
		key := asked.all()[0].Key
		if said := take(Press{key, Approve, "U1", ""}); !strings.Contains(said, "not on call") || len(g.answers) > 0 {
			t.Errorf("alice is told %q", said)
		}
		if take(Press{"", Freeze, "U1", ""}); len(g.froze) > 0 {
			t.Error("alice freezes")
		}
		take(Press{key, Approve, "U2", ""})
		g.answered(t, "approve", "bob")
	})
}
