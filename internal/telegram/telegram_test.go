package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-telegram/bot/models"

	"callgate/internal/companion/wire"
	"callgate/internal/testserver/botapi"
	"callgate/internal/testserver/waits"
)

// gate is a callgate as an approver sees it: frames come, answers go.
type gate struct {
	events  chan wire.Event
	answers chan wire.ToolApprove
	err     error // what Answer returns
}

func (g *gate) Events() <-chan wire.Event { return g.events }

func (g *gate) Answer(f wire.ToolApprove) error {
	if g.err == nil {
		g.answers <- f
	}
	return g.err
}

func (g *gate) say(frame any) { g.events <- wire.Event{Frame: frame} }

const home = 42 // the chat that is allowed

// run starts an approver and returns what ends it.
func run(t *testing.T, g *gate, a *botapi.API, chats ...int64) (log *lockedBuffer, stop func()) {
	t.Helper()
	log = new(lockedBuffer)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := Run(ctx, Options{Client: g, Token: botapi.Token, Chats: chats, API: a.URL, Logger: slog.New(slog.NewTextHandler(log, nil))}); err != nil {
			t.Error(err)
		}
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(func() {
		stop()
		if strings.Contains(log.String(), botapi.Token) {
			t.Errorf("the log holds the token:\n%s", log)
		}
	})
	return log, stop
}

// api is a Bot API that the bot has to please.
func api(t *testing.T) *botapi.API {
	a := botapi.Start()
	t.Cleanup(func() {
		a.Close()
		for _, c := range a.Complaints() {
			t.Error(c)
		}
	})
	return a
}

// want waits for a message that fits.
func want(t *testing.T, a *botapi.API, what string, fits func(botapi.Message) bool) botapi.Message {
	t.Helper()
	m, err := a.Wait(fits)
	if err != nil {
		t.Fatalf("no message %s: %v", what, err)
	}
	return m
}

// press presses a button of a message.
func press(t *testing.T, a *botapi.API, m botapi.Message, button string) {
	t.Helper()
	if err := a.Press(m, button); err != nil {
		t.Fatal(err)
	}
}

func toast(t *testing.T, a *botapi.API, text string) {
	t.Helper()
	if err := a.Toast(text); err != nil {
		t.Fatalf("no button says %q: %v", text, err)
	}
}

func newGate() *gate {
	return &gate{events: make(chan wire.Event, 100), answers: make(chan wire.ToolApprove, 100)}
}

func (g *gate) want(t *testing.T, want wire.ToolApprove) {
	t.Helper()
	select {
	case got := <-g.answers:
		if !reflect.DeepEqual(got, want) {
			t.Errorf("answered %+v, want %+v", got, want)
		}
	case <-time.After(waits.Limit):
		t.Fatalf("no answer %+v", want)
	}
}

func push(id string) *wire.ToolApproveRequest {
	return &wire.ToolApproveRequest{
		Head: wire.Head{SessionID: "s1"}, AgentID: "default", ToolCallID: id, ArgsDigest: "d-" + id, WorkerID: "default",
		Server: "commands", Tool: "commands_run", Kind: "shell_exec", Args: json.RawMessage(`{"command":"git push <origin> && echo \"é\u202e\""}`),
		Summary: "Runs git push.", Risk: wire.Risk{Class: "NETWORK", Label: "medium"}, Reason: "The rule asks.",
		Commands:  []wire.Command{{Argv: []string{"git", "push", "<origin>"}, Risk: "NETWORK"}},
		Always:    []wire.Offer{{Tool: "shell_exec", Pattern: "git push *", Default: true}, {Tool: "shell_exec", Pattern: "git *"}},
		ExpiresAt: time.Now().Add(2 * time.Minute),
	}
}

func has(text string) func(botapi.Message) bool {
	return func(m botapi.Message) bool { return strings.Contains(m.Text, text) }
}

func answerTo(id, decision string) wire.ToolApprove {
	return wire.ToolApprove{Head: wire.Head{SessionID: "s1"}, ToolCallID: id, ArgsDigest: "d-" + id, Decision: decision, Person: "alice#7"}
}

func TestButtons(t *testing.T) {
	a, g := api(t), newGate()
	run(t, g, a, home)
	for _, tt := range []struct {
		name    string
		press   []string
		answer  func(*wire.ToolApprove)
		toast   string
		decided string
	}{
		{"approve", []string{"Approve"}, func(f *wire.ToolApprove) { f.Decision = "approve" }, "Approved.", "approve"},
		{"deny", []string{"Deny"}, func(f *wire.ToolApprove) { f.Decision = "reject" }, "Denied.", "reject"},
		{"always, session", []string{"Always …", "Always, in this session"}, func(f *wire.ToolApprove) { f.Decision, f.Scope = "always", "session" }, "Approved, always.", "always"},
		{"always, worker", []string{"Always …", "Back", "Always …", "Always, for this worker"}, func(f *wire.ToolApprove) { f.Decision, f.Scope = "always", "worker" }, "Approved, always.", "always"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g.say(push(tt.name))
			edits := -1
			for _, button := range tt.press {
				m := want(t, a, "with "+button, func(m botapi.Message) bool {
					_, ok := m.Buttons[button]
					return ok && m.Chat == home && (edits < 0 || m.Edits > edits)
				})
				edits = m.Edits
				for _, part := range []string{"commands_run", "🟡", "MEDIUM", "git push &lt;origin&gt;", `\u202e`, "shell_exec &#34;git push *&#34;"} {
					if !strings.Contains(m.Text, part) {
						t.Errorf("%q is missing in %s", part, m.Text)
					}
				}
				press(t, a, m, button)
			}
			answer := answerTo(tt.name, "")
			tt.answer(&answer)
			g.want(t, answer)
			toast(t, a, tt.toast)
			g.say(&wire.ToolApproveResolved{ToolCallID: tt.name, Decision: tt.decided, By: "custom:telegram/alice#7<b>"})
			want(t, a, "that says it is over", func(m botapi.Message) bool {
				return len(m.Buttons) == 0 && strings.Contains(m.Text, "alice#7&lt;b&gt;")
			})
			a.Clear()
		})
	}
}

func TestReplyDenies(t *testing.T) {
	a, g := api(t), newGate()
	run(t, g, a, home)
	g.say(push("c1"))
	m := want(t, a, "about the call", has("commands_run"))
	a.Say(home, 0, "what is that?") // talk
	a.Say(home, m.ID, "yes, approve it & use make release")
	denial := answerTo("c1", "reject")
	denial.Feedback, denial.Person = "yes, approve it & use make release", "Alice#7"
	g.want(t, denial)
	want(t, a, "that confirms", func(m botapi.Message) bool { return m.ReplyTo == botapi.Said && m.Text == "Denied." })
	g.say(&wire.ToolApproveResolved{ToolCallID: "c1", Decision: "reject", By: "custom:telegram"})
	want(t, a, "that is over", has("Denied by"))
	a.Say(home, m.ID, "no!")
	want(t, a, "that says so", has("over already"))
	if len(g.answers) != 0 {
		t.Errorf("answered %+v", <-g.answers)
	}
}

// Whoever is in no allowed chat is neither shown anything nor heard, whatever they know.
func TestOtherChatsAreNotHeard(t *testing.T) {
	a, g := api(t), newGate()
	log, _ := run(t, g, a, home)
	g.say(push("c1"))
	m := want(t, a, "about the call", has("commands_run"))
	a.PressData(666, m.ID, m.Buttons["Approve"])
	a.Say(666, m.ID, "approve")
	a.Happen(models.Update{CallbackQuery: &models.CallbackQuery{ID: "q", From: models.User{ID: 7}, Data: m.Buttons["Approve"]}}) // of an inline message
	press(t, a, m, "Deny")                                                                                                       // comes after them
	g.want(t, answerTo("c1", "reject"))
	if n := a.Clear(); n != 1 || len(g.answers) != 0 {
		t.Errorf("%d messages, %d more answers", n, len(g.answers))
	}
	if !strings.Contains(log.String(), "chat=666") {
		t.Errorf("the log does not name the chat:\n%s", log)
	}
}

// A button is good for the arguments that it was shown with: not after they changed, not after the end, and
// not for what it does not offer.
func TestOldButtons(t *testing.T) {
	a, g := api(t), newGate()
	run(t, g, a, home)
	g.say(push("c1"))
	first := want(t, a, "about the call", has("commands_run"))
	edited := push("c1")
	edited.Args, edited.ArgsDigest = json.RawMessage(`{"command":"rm -rf /"}`), "d-other"
	g.say(edited)
	second := want(t, a, "about the change", has("rm -rf /"))
	if second.ID != first.ID || !strings.Contains(second.Text, "changed") {
		t.Errorf("%+v", second)
	}
	a.PressData(home, first.ID, first.Buttons["Approve"])
	toast(t, a, "not good any more")
	key, _, _ := strings.Cut(second.Buttons["Approve"], ":")
	for _, forged := range []string{key + ":worker", key + ":session", key + ":back", key + ":", ":approve", "approve"} {
		a.PressData(home, second.ID, forged)
	}
	g.say(edited) // told again after a break: nothing changes
	press(t, a, second, "Approve")
	answer := answerTo("c1", "approve")
	answer.ArgsDigest = "d-other"
	g.want(t, answer)
	g.say(&wire.Error{ToolCallID: "c1", Code: wire.CodeNotPending, Message: "no such approval is pending"})
	want(t, a, "that is over", has("It was over already"))
	a.PressData(home, second.ID, second.Buttons["Approve"])
	a.Say(home, second.ID, "too late")
	want(t, a, "that says so", has("over already."))
	if len(g.answers) != 0 {
		t.Errorf("answered %+v", <-g.answers)
	}
}

// What is not shown whole cannot be approved here, and a changed definition has to be looked at elsewhere.
func TestOnlyDenyWhatIsNotShownWhole(t *testing.T) {
	long, marked, many, redefined := push("c1"), push("c2"), push("c3"), push("c4")
	long.Args = json.RawMessage(`{"content":"` + strings.Repeat("é<", 5000) + `"}`)
	marked.Marks = []wire.Mark{{Text: strings.Repeat("m", 400)}}
	many.Commands = slices.Repeat(many.Commands, 30)
	redefined.DefinitionChanged = &wire.DefinitionChange{Why: "changed"}
	for _, f := range []*wire.ToolApproveRequest{long, marked, many, redefined} {
		q := question{request: f, key: "k"}
		if got := q.face(); !slices.Equal(got.actions(), []string{actionDeny}) {
			t.Errorf("%s: %v", f.ToolCallID, got.actions())
		}
		if shown, _ := clip(q.face().html, 1<<20); len([]rune(shown)) > 3*4096 {
			t.Errorf("%s: %d characters", f.ToolCallID, len([]rune(shown)))
		}
	}
	none := push("c5")
	none.Always = nil
	if got := (&question{request: none, key: "k"}).face().actions(); !slices.Equal(got, []string{actionApprove, actionDeny}) {
		t.Errorf("without offers: %v", got)
	}
}

// A Telegram that does not answer, wants a pause, or a chat that threw the bot out loses nothing and holds
// nobody up.
func TestTroubleWithTelegram(t *testing.T) {
	a, g := api(t), newGate()
	failures := 0
	a.Fail = func(method string) (int, string) {
		if method != "sendMessage" {
			return 0, ""
		}
		switch failures++; failures {
		case 1:
			return 403, `{"ok":false,"error_code":403,"description":"Forbidden: bot was blocked by the user"}`
		case 2:
			return 429, `{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":1}}`
		case 4:
			return 502, `<html>bad gateway</html>`
		}
		return 0, ""
	}
	run(t, g, a, 41, home)
	for _, id := range []string{"c1", "c2", "c3"} {
		f := push(id)
		f.Summary = "This is " + id
		g.say(f)
	}
	for _, id := range []string{"c1", "c2", "c3"} {
		m := want(t, a, "about "+id, func(m botapi.Message) bool { return m.Chat == home && strings.Contains(m.Text, "This is "+id) })
		press(t, a, m, "Approve")
		g.want(t, answerTo(id, "approve"))
	}
}

// When the approver ends, its buttons do not stay behind.
func TestFarewell(t *testing.T) {
	a, g := api(t), newGate()
	_, stop := run(t, g, a, home)
	g.say(push("c1"))
	want(t, a, "about the call", has("commands_run"))
	stop()
	if m := want(t, a, "without buttons", has("The bot has left")); len(m.Buttons) != 0 {
		t.Errorf("%+v", m)
	}
}

func TestNotSent(t *testing.T) {
	a, g := api(t), newGate()
	g.err = wire.ErrClosed
	run(t, g, a, home)
	g.say(push("c1"))
	press(t, a, want(t, a, "about the call", has("commands_run")), "Approve")
	toast(t, a, "Not sent")
}

func TestRunRefuses(t *testing.T) {
	a := api(t)
	if err := Run(t.Context(), Options{Client: newGate(), Token: botapi.Token, API: a.URL, Logger: slog.New(slog.DiscardHandler)}); err == nil || !strings.Contains(err.Error(), "--telegram-chats") {
		t.Error(err)
	}
	err := Run(t.Context(), Options{Client: newGate(), Token: "1:wrong", Chats: []int64{1}, API: a.URL, Logger: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "token is not valid") || strings.Contains(err.Error(), "1:wrong") {
		t.Error(err)
	}
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
