//go:build linux

package desktop

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"callgate/internal/companion/wire"
	"callgate/internal/testserver/waits"
)

// shown is a notification that the service was asked to show.
type shown struct {
	id      uint32
	title   string
	text    string
	actions []string
}

// notifications is a desktop's notification service on a real bus.
type notifications struct {
	bus  *dbus.Conn
	show chan shown
	hide chan uint32
	last uint32
	can  []string
}

func (s *notifications) GetCapabilities() ([]string, *dbus.Error) { return s.can, nil }

func (s *notifications) Notify(app string, replaces uint32, icon, title, text string, actions []string, hints map[string]dbus.Variant, timeout int32) (uint32, *dbus.Error) {
	if app != "callgate" || replaces != 0 || timeout != 0 || hints["urgency"].Value() != byte(2) {
		return 0, dbus.MakeFailedError(errors.New("the notification may vanish"))
	}
	s.last++
	s.show <- shown{s.last, title, text, actions}
	return s.last, nil
}

func (s *notifications) CloseNotification(id uint32) *dbus.Error {
	s.hide <- id
	return nil
}

func (s *notifications) click(t *testing.T, id uint32, action string) {
	t.Helper()
	if err := s.bus.Emit(object, service+".ActionInvoked", id, action); err != nil {
		t.Fatal(err)
	}
}

// newDesktop starts a bus with a notification service that has these capabilities.
func newDesktop(t *testing.T, can ...string) *notifications {
	t.Helper()
	if _, err := exec.LookPath("dbus-daemon"); err != nil {
		t.Skip("dbus-daemon is not installed")
	}
	daemon := exec.Command("dbus-daemon", "--session", "--nofork", "--print-address")
	out, err := daemon.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = daemon.Process.Kill() // the test is over
		_ = daemon.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", strings.TrimSpace(address))
	s := &notifications{show: make(chan shown, 100), hide: make(chan uint32, 100), can: can}
	if s.bus, err = dbus.Connect(strings.TrimSpace(address)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.bus.Close() })
	if err := s.bus.Export(s, object, service); err != nil {
		t.Fatal(err)
	}
	if reply, err := s.bus.RequestName(service, dbus.NameFlagDoNotQueue); err != nil || reply != dbus.RequestNameReplyPrimaryOwner {
		t.Fatalf("%v, %v", reply, err)
	}
	return s
}

// gate plays callgate for an approver.
type gate struct {
	events  chan wire.Event
	answers chan wire.ToolApprove
	opened  chan bool
}

func (g *gate) Events() <-chan wire.Event { return g.events }

func (g *gate) Answer(f wire.ToolApprove) error {
	g.answers <- f
	return nil
}

func (g *gate) say(frame any) { g.events <- wire.Event{Frame: frame} }

// run starts an approver; stop ends it.
func run(t *testing.T, rest time.Duration) (g *gate, stop func()) {
	t.Helper()
	g = &gate{events: make(chan wire.Event, 100), answers: make(chan wire.ToolApprove, 100), opened: make(chan bool, 100)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- Run(ctx, Options{Client: g, Rest: rest, Open: func() error { g.opened <- true; return nil }, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	}()
	stop = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	return g, stop
}

func take[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	select {
	case got := <-from:
		return got
	case <-time.After(waits.Limit):
		t.Fatalf("nothing came for %s", what)
		panic("not reached")
	}
}

func request(id, label string, args string, marks ...wire.Mark) *wire.ToolApproveRequest {
	return &wire.ToolApproveRequest{
		Head: wire.Head{SessionID: "s1"}, ToolCallID: id, ArgsDigest: "d-" + id, Tool: "files_read", Summary: "Reads <b>a</b>\x1b[2J.",
		Args: json.RawMessage(args), Risk: wire.Risk{Class: "READ_ONLY", Label: label}, Marks: marks,
	}
}

// TestNotifications checks what is shown, what it offers, and that only a shown button answers.
func TestNotifications(t *testing.T) {
	s := newDesktop(t, "actions", "body", "body-markup")
	g, stop := run(t, time.Nanosecond)

	g.say(request("low", "low", `{"path":"a"}`))
	low := take(t, s.show, "low risk")
	if want := "Reads &lt;b&gt;a&lt;/b&gt;⟨U+001B⟩[2J.\n{\"path\":\"a\"}"; low.text != want || !slices.Equal(low.actions, []string{"approve", "Approve", "reject", "Deny", "default", "Open"}) {
		t.Errorf("%q %q", low.text, low.actions)
	}
	s.click(t, low.id, "approve")
	if got := take(t, g.answers, "approve"); got.Decision != "approve" || got.ToolCallID != "low" || got.ArgsDigest != "d-low" || got.SessionID != "s1" {
		t.Errorf("%+v", got)
	}
	g.say(&wire.ToolApproveResolved{ToolCallID: "low", Decision: "approve"})
	if id := take(t, s.hide, "an answered call"); id != low.id {
		t.Errorf("hides %d", id)
	}
	s.click(t, low.id, "approve") // the call is over, so this answers nothing

	for name, f := range map[string]*wire.ToolApproveRequest{
		"medium":   request("x", "medium", `{}`),
		"marked":   request("x", "low", `{}`, wire.Mark{Code: "floor", Text: "It is marked."}),
		"too long": request("x", "low", `{"text":"`+strings.Repeat("x", longestArguments)+`"}`),
	} {
		g.say(f)
		n := take(t, s.show, name)
		if slices.Contains(n.actions, "approve") || !slices.Contains(n.actions, "reject") {
			t.Errorf("%s: %q", name, n.actions)
		}
		s.click(t, n.id, "approve") // a button that was not shown
		s.click(t, n.id, "default")
		take(t, g.opened, name+": the page")
		s.click(t, n.id, "reject")
		if got := take(t, g.answers, name); got.Decision != "reject" {
			t.Errorf("%s: %+v", name, got)
		}
		g.say(&wire.ToolApproveResolved{ToolCallID: "x", Decision: "reject"})
		take(t, s.hide, name)
	}

	// An edited call is shown again, and waiting calls leave nothing behind.
	g.say(request("edited", "low", `{"n":1}`))
	first := take(t, s.show, "before the edit")
	g.say(request("edited", "low", `{"n":2}`))
	if id := take(t, s.hide, "the old one"); id != first.id {
		t.Errorf("hides %d", id)
	}
	second := take(t, s.show, "after the edit")
	stop()
	if id := take(t, s.hide, "at the end"); id != second.id {
		t.Errorf("hides %d", id)
	}
	if len(g.answers) > 0 || len(s.show) > 0 {
		t.Errorf("%d answers and %d notifications too many", len(g.answers), len(s.show))
	}
}

// TestClicksOnWhatJustAppeared checks that an early Approve answers nothing and shows the call again.
func TestClicksOnWhatJustAppeared(t *testing.T) {
	s := newDesktop(t, "actions")
	g, stop := run(t, time.Hour)
	g.say(request("low", "low", `{}`))
	first := take(t, s.show, "a call")
	s.click(t, first.id, "approve")
	take(t, s.hide, "the old one")
	again := take(t, s.show, "the call again")
	s.click(t, again.id, "reject")
	if got := take(t, g.answers, "deny"); got.Decision != "reject" {
		t.Errorf("%+v", got)
	}
	stop()
}

// TestNoButtons checks that a service without buttons and markup gets plain text.
func TestNoButtons(t *testing.T) {
	s := newDesktop(t, "body")
	g, stop := run(t, time.Nanosecond)
	g.say(request("low", "low", `{}`))
	if n := take(t, s.show, "a call"); len(n.actions) > 0 || !strings.Contains(n.text, "<b>") {
		t.Errorf("%+v", n)
	}
	stop()
}

// TestNoDesktop checks that Run fails at once if nothing can be shown.
func TestNoDesktop(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path="+t.TempDir()+"/none")
	err := Run(t.Context(), Options{Client: &gate{}, Logger: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "no notifications can be shown") {
		t.Error(err)
	}
}
