package tui

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"callgate/internal/companion/wire"
)

func TestOwnCommand(t *testing.T) {
	story(t, "a command of one's own is on record before it runs, and when it has ended", func(t *testing.T, p *person) {
		d := &desktop{}
		p.m.rest = d
		p.rests()
		p.types("!")
		p.sees("Your own shell command", "outside the gate")
		p.types("g", "i", "t", "enter")
		p.rests()
		if len(d.recorded) != 1 || d.recorded[0].command != "git" || d.recorded[0].ended {
			t.Fatalf("%+v", d.recorded)
		}
		if len(p.started) != 1 {
			t.Errorf("started %q", p.started)
		}
		p.update(ownEndedMsg{ownCommand{command: "git", ended: true, took: time.Second}})
		p.rests()
		if len(d.recorded) != 2 || !d.recorded[1].ended {
			t.Errorf("%+v", d.recorded)
		}
		p.sees("Your command ended with exit code 0.")
	})
	story(t, "an outcome is recorded when the connection is back", func(t *testing.T, p *person) {
		d := &desktop{}
		p.m.rest = d
		p.event(wire.Disconnected{Err: wire.ErrUnreachable})
		p.update(ownEndedMsg{ownCommand{command: "git", ended: true}})
		p.sees("could not record how your command ended: there is no connection.")
		p.seesNot("did not run")
		d.err = errors.New("disk full")
		p.event(wire.Connected{Address: "127.0.0.1:7778"})
		p.sees("could not record how your command ended: disk full.")
		d.err, d.recorded = nil, nil
		p.event(wire.Connected{Address: "127.0.0.1:7779"})
		p.event(wire.Connected{Address: "127.0.0.1:7780"})
		if len(d.recorded) != 1 || !d.recorded[0].ended {
			t.Errorf("%+v", d.recorded)
		}
		p.sees("Your command ended with exit code 0.")
	})
	story(t, "what cannot be put on record does not run", func(t *testing.T, p *person) {
		p.m.rest = &desktop{err: errors.New("disk full")}
		p.rests()
		p.types("!", "l", "s", "enter")
		p.rests()
		p.sees("did not run", "disk full")
		if len(p.started) != 0 {
			t.Errorf("started %q", p.started)
		}
		p.types("!", "esc")
		p.seesNot("Your own shell command")
	})
}

// The command runs in the person's shell, without callgate's variables, and its outcome is reported.
func TestOwnCommandRuns(t *testing.T) {
	t.Setenv("SHELL", "/bin/sh")
	t.Setenv("CALLGATE_TELEGRAM_TOKEN", "secret")
	var out bytes.Buffer
	r := &running{text: `echo "token:$CALLGATE_TELEGRAM_TOKEN:"; exit 3`}
	r.SetStdin(strings.NewReader("\n"))
	r.SetStdout(&out)
	r.SetStderr(&out)
	err := r.Run()
	if got := out.String(); !strings.Contains(got, "token::") || !strings.Contains(got, "It ended with exit code 3.") {
		t.Errorf("%q", got)
	}
	if c := (ownCommand{err: err}); c.outcome() != "ended with exit code 3" {
		t.Errorf("%s", c.outcome())
	}
}

func TestTalk(t *testing.T) {
	story(t, "a person asks the model of a session", func(t *testing.T, p *person) {
		host(p)
		p.rests()
		p.types("c", "H", "i", "enter")
		if len(p.asked) != 1 || p.asked[0] != "s-1 Hi" {
			t.Fatalf("%q", p.asked)
		}
		head := wire.Head{SessionID: "s-1"}
		p.event(&wire.ChatAsked{Head: head, ChatTurn: wire.ChatTurn{Role: "user", Text: "Hi", By: "tui:alice"}})
		p.sees("tui:alice", "Hi", "The model is thinking")
		p.types("x", "enter") // one question at a time
		p.event(&wire.Token{Head: head, Content: "Hello there"})
		p.event(&wire.Done{Head: head})
		p.sees("Hello there")
		p.seesNot("thinking")
		p.types("ctrl+p", "enter")
		if len(p.asked) != 2 || p.asked[1] != "s-1 x (plain)" {
			t.Errorf("%q", p.asked)
		}
		p.event(&wire.ChatAsked{Head: head, ChatTurn: wire.ChatTurn{Role: "user", Text: "x", By: "tui:alice"}})
		p.event(&wire.Error{Head: head, Code: wire.CodeRefused, Message: "refused: not now"})
		p.sees("refused: not now")
		p.seesNot("thinking")
		p.types("ctrl+r", "ctrl+x") // which ends the session's other calls too
		p.sees("withdraws its pending approvals")
		if len(p.cancels) > 0 {
			t.Error("cancelled without a question")
		}
		p.types("right", "enter")
		if len(p.asked) != 3 || p.asked[2] != "reset s-1" || len(p.cancels) != 1 {
			t.Errorf("%q, %q", p.asked, p.cancels)
		}
		p.event(&wire.ChatCleared{Head: head})
		p.seesNot("Hello there")
	})
}

// A server is listed once, no matter how many hosts have one of that name, with the worst of their states.
func TestServersTogether(t *testing.T) {
	got := together([]server{{Name: "files", State: "up", Tools: 3}, {Name: "github", State: "up"}, {Name: "files", State: "down", Error: "exit status 1"}, {Name: "files", State: "idle"}})
	if len(got) != 2 || got[0] != (server{Name: "files", State: "down", Tools: 3, Error: "exit status 1"}) || got[1].State != "up" {
		t.Errorf("%+v", got)
	}
}
