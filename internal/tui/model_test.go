package tui

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"callgate/internal/companion/wire"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC // the screens show times of day
	os.Exit(m.Run())
}

// person sits in front of a model, types, reads the screen, and records what was sent.
type person struct {
	t       testing.TB
	m       *model
	answers []wire.ToolApprove
	levels  []string
	cancels []string
	asked   []string // questions to models
	sendErr error
	quit    bool
	raw     string   // what went to the terminal besides the screen
	started []string // other messages to the program: an editor, a suspension
	msgs    chan tea.Msg
}

func (p *person) Answer(f wire.ToolApprove) error {
	p.answers = append(p.answers, f)
	return p.sendErr
}

func (p *person) SetAutonomy(session, level string) error {
	p.levels = append(p.levels, session+" "+level)
	return p.sendErr
}

func (p *person) Cancel(session string) error {
	p.cancels = append(p.cancels, session)
	return p.sendErr
}

func (p *person) Chat(f wire.Chat) error {
	text := f.SessionID + " " + f.Message
	if f.Context != nil && !*f.Context {
		text += " (plain)"
	}
	p.asked = append(p.asked, text)
	return p.sendErr
}

func (p *person) ResetChat(session string) error {
	p.asked = append(p.asked, "reset "+session)
	return p.sendErr
}

// sit returns a person in front of a screen of that size, connected to callgate.
func sit(t testing.TB, width, height int) *person {
	p := &person{t: t, msgs: make(chan tea.Msg, 1000)}
	t.Cleanup(func() { p.waits(time.Minute) }) // until no timer of a command is left
	p.m = newModel(p, false, false)
	p.update(tea.WindowSizeMsg{Width: width, Height: height})
	p.event(wire.Connected{Address: "127.0.0.1:7777"})
	return p
}

// event delivers a frame like the client.
func (p *person) event(frame any) {
	p.t.Helper()
	events := make(chan wire.Event) // closed, so that the listening command ends
	close(events)
	p.m.events = events
	p.update(wire.Event{Frame: frame})
}

func (p *person) update(msg tea.Msg) {
	_, cmd := p.m.Update(msg)
	p.run(cmd)
}

// run starts a command and handles its immediate messages. rests handles later ones.
func (p *person) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() { p.msgs <- cmd() }()
	p.drain()
}

func (p *person) drain() {
	for {
		synctest.Wait()
		select {
		case msg := <-p.msgs:
			p.take(msg)
		default:
			return
		}
	}
}

func (p *person) take(msg tea.Msg) {
	switch msg := msg.(type) {
	case nil, closedMsg:
	case tea.BatchMsg:
		for _, cmd := range msg {
			p.run(cmd)
		}
	case tea.QuitMsg:
		p.quit = true
	case tea.RawMsg:
		p.raw += msg.Msg.(string)
	case sentMsg, wakeMsg, changesMsg, toolsMsg, acceptedMsg, ownMsg:
		p.update(msg)
	default:
		p.started = append(p.started, reflect.TypeOf(msg).String())
	}
}

// rests waits like somebody who reads first.
func (p *person) rests() { p.waits(quietTime) }

func (p *person) waits(d time.Duration) {
	time.Sleep(d)
	p.drain()
}

var named = map[string]tea.KeyPressMsg{
	"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown},
	"left": {Code: tea.KeyLeft}, "right": {Code: tea.KeyRight}, "tab": {Code: tea.KeyTab}, "shift+tab": {Code: tea.KeyTab, Mod: tea.ModShift},
	"space": {Code: tea.KeySpace, Text: " "}, "pgdown": {Code: tea.KeyPgDown}, "pgup": {Code: tea.KeyPgUp}, "home": {Code: tea.KeyHome}, "end": {Code: tea.KeyEnd},
	"ctrl+c": {Code: 'c', Mod: tea.ModCtrl}, "ctrl+d": {Code: 'd', Mod: tea.ModCtrl}, "ctrl+u": {Code: 'u', Mod: tea.ModCtrl},
	"ctrl+z": {Code: 'z', Mod: tea.ModCtrl}, "ctrl+p": {Code: 'p', Mod: tea.ModCtrl}, "ctrl+r": {Code: 'r', Mod: tea.ModCtrl}, "ctrl+x": {Code: 'x', Mod: tea.ModCtrl}, "backspace": {Code: tea.KeyBackspace},
}

// types presses keys one after another: names of keys, or single characters.
func (p *person) types(keys ...string) {
	p.t.Helper()
	for _, k := range keys {
		msg, ok := named[k]
		if !ok {
			if len([]rune(k)) != 1 {
				p.t.Fatalf("no key is called %q", k)
			}
			msg = tea.KeyPressMsg{Code: []rune(k)[0], Text: k}
		}
		p.update(msg)
	}
}

// screen returns the content of the screen, without colours.
func (p *person) screen() string { return ansi.Strip(p.m.View().Content) }

func (p *person) sees(texts ...string) {
	p.t.Helper()
	for _, text := range texts {
		if !strings.Contains(p.screen(), text) {
			p.t.Fatalf("%q is not on the screen:\n%s", text, p.screen())
		}
	}
}

func (p *person) seesNot(text string) {
	p.t.Helper()
	if strings.Contains(p.screen(), text) {
		p.t.Fatalf("%q is on the screen:\n%s", text, p.screen())
	}
}

// sentOne returns the only answer that was sent.
func (p *person) sentOne() wire.ToolApprove {
	p.t.Helper()
	if len(p.answers) != 1 {
		p.t.Fatalf("%d answers were sent, not one: %+v\n%s", len(p.answers), p.answers, p.screen())
	}
	return p.answers[0]
}

func (p *person) sentNothing() {
	p.t.Helper()
	if len(p.answers) > 0 {
		p.t.Fatalf("sent %+v\n%s", p.answers, p.screen())
	}
}

// at returns the time of everything in these tests: the start of the fake clock.
func at() time.Time { return time.Now().UTC() }

// push returns a question about a shell command, as the companion sends it.
func push() *wire.ToolApproveRequest {
	return &wire.ToolApproveRequest{
		Head:    wire.Head{V: 1, Type: wire.TypeToolApproveRequest, SessionID: "s-1"},
		AgentID: "main", ToolCallID: "call_0001", ApprovalID: "call_0001", WorkerID: "default",
		Server: "demo", Tool: "demo_shell_exec", Kind: "shell_exec",
		Args:       json.RawMessage(`{"command":"git push origin main && rm -rf build","timeout_seconds":30}`),
		ArgsDigest: "sha256:1f0e", Summary: "Runs git push origin main && rm -rf build",
		Risk:    wire.Risk{Class: "DESTRUCTIVE", Label: "high", Category: "terminal-write"},
		Reason:  "The rules ask for shell_exec.",
		Reasons: []wire.Reason{{Subject: "git push origin main", Rule: `shell_exec "*" ask (permissions.jsonc:9, file)`, Layer: "file", Action: "ask"}},
		Commands: []wire.Command{
			{Argv: []string{"git", "push", "origin", "main"}, Risk: "NETWORK", Reads: []string{".git/config"}},
			{Argv: []string{"rm", "-rf", "build"}, Risk: "DESTRUCTIVE", Writes: []string{"build"}},
		},
		Always: []wire.Offer{
			{Tool: "shell_exec", Pattern: "git push origin main", Risk: "NETWORK", Subject: 0},
			{Tool: "shell_exec", Pattern: "git push *", Risk: "NETWORK", Subject: 0, Default: true, NewlyAllows: &wire.Widening{Count: 2, Examples: []string{"git push origin dev", "git push --tags"}}},
			{Tool: "shell_exec", Pattern: "rm -rf build", Risk: "DESTRUCTIVE", Subject: 1, Default: true},
		},
		Marks:     []wire.Mark{{Code: "startup", Text: "It writes a file that a shell runs when it starts."}},
		CreatedAt: at(), ExpiresAt: at().Add(2 * time.Minute),
	}
}

// edits returns a question about a file, from another session.
func edits() *wire.ToolApproveRequest {
	f := push()
	f.SessionID, f.ToolCallID, f.ApprovalID, f.Tool, f.Kind = "s-2", "call_0002", "call_0002", "demo_edit_file", "edit_file"
	f.Args = json.RawMessage(`{"path":"src/main.go","old_text":"func main() {\n\tprintln(\"hello\")\n}\n","new_text":"func main() {\n\tprintln(\"good bye\")\n}\n"}`)
	f.Summary, f.Risk = "Edits src/main.go", wire.Risk{Class: "WRITE", Label: "medium", Category: "workspace-write"}
	f.Commands, f.Marks = nil, nil
	f.Always = []wire.Offer{{Tool: "edit_file", Pattern: "src/*", Risk: "WRITE", Default: true}}
	f.ArgsDigest = "sha256:2222"
	return f
}

func over(f *wire.ToolApproveRequest, decision, by, reason string) *wire.ToolApproveResolved {
	return &wire.ToolApproveResolved{Head: wire.Head{SessionID: f.SessionID}, ToolCallID: f.ToolCallID, Decision: decision, By: by, Reason: reason}
}

// story runs a test with its own clock, in front of a screen that shows all of a question.
func story(t *testing.T, name string, tell func(t *testing.T, p *person)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { tell(t, sit(t, 120, 60)) })
	})
}
