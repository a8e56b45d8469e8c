package tui

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"callgate/internal/companion/wire"
)

func TestAnswers(t *testing.T) {
	for _, k := range []string{"y", "Y"} {
		story(t, k+" approves once", func(t *testing.T, p *person) {
			f := push()
			p.event(f)
			p.rests()
			p.types(k)
			want := wire.ToolApprove{Head: wire.Head{SessionID: "s-1"}, ToolCallID: f.ToolCallID, ArgsDigest: f.ArgsDigest, Decision: "approve"}
			if diff := cmp.Diff(want, p.sentOne()); diff != "" {
				t.Error(diff)
			}
			p.sees("Your answer is being sent")
			p.types(k, "enter", "a", "n", "e")
			p.sentOne()
			p.sees("An answer is being sent.")
			p.event(over(f, "approve", "tui:ann", ""))
			p.sees("No pending approvals.", "demo_shell_exec was approved by tui:ann.")
		})
	}
	for _, k := range []string{"n", "N", "enter"} {
		story(t, k+" denies with feedback", func(t *testing.T, p *person) {
			p.event(push())
			p.rests()
			p.types(k)
			p.sentNothing()
			p.sees("The model gets this text")
			p.types("n", "o", " ", "y", "backspace", "y")
			p.update(tea.PasteMsg{Content: "\x1b[31mpasted\nlines"})
			p.types("enter")
			if f := p.sentOne(); f.Decision != "reject" || !strings.HasPrefix(f.Feedback, "no y") || strings.ContainsAny(f.Feedback, "\n\x1b") {
				t.Errorf("sent %+v", f)
			}
		})
	}
	story(t, "a denial needs no reading and no text", func(t *testing.T, p *person) {
		p.update(tea.WindowSizeMsg{Width: 60, Height: 12})
		p.event(push())
		p.rests()
		p.types("enter", "enter")
		if f := p.sentOne(); f.Decision != "reject" || f.Feedback != "" {
			t.Errorf("sent %+v", f)
		}
	})
	story(t, "Esc goes back", func(t *testing.T, p *person) {
		p.event(push())
		p.rests()
		for _, k := range []string{"n", "a", "u", "?"} {
			p.types(k, "esc")
			if p.m.dialog != nil {
				t.Errorf("after %s and Esc a dialog is open", k)
			}
		}
		p.sentNothing()
	})
	story(t, "arrows choose, Enter takes what is chosen", func(t *testing.T, p *person) {
		p.event(push())
		p.rests()
		p.sees("[ Deny… ]")
		p.types("right", "right", "right", "right", "right")
		p.sees("[ Edit… ]")
		p.types("left", "left", "l", "h")
		p.sees("[ Approve ]")
		p.types("enter")
		if f := p.sentOne(); f.Decision != "approve" {
			t.Errorf("sent %+v", f)
		}
	})
	story(t, "an answer that was refused can be given again", func(t *testing.T, p *person) {
		f := push()
		p.event(f)
		p.rests()
		p.types("y")
		p.event(&wire.Error{ToolCallID: f.ToolCallID, Code: wire.CodeInternal, Message: "the record cannot be written"})
		p.sees("callgate says: the record cannot be written")
		p.types("y")
		p.sentOne() // the error popped up, so the keyboard has to rest
		p.rests()
		p.types("y")
		if len(p.answers) != 2 {
			t.Errorf("%d answers were sent", len(p.answers))
		}
	})
	story(t, "a frame that could not be written is told", func(t *testing.T, p *person) {
		p.sendErr = wire.ErrClosed
		p.event(push())
		p.rests()
		p.types("y")
		p.sees("There is no connection. Nothing was sent.")
		p.sendErr = errors.New("broken pipe")
		p.types("y")
		p.sees("It may not have arrived: broken pipe")
	})
}

func TestAlways(t *testing.T) {
	type grant struct{ Tool, Pattern string }
	grants := func(f wire.ToolApprove) (out []grant) {
		for _, g := range f.Grants {
			out = append(out, grant{g.Tool, g.Pattern})
		}
		return out
	}
	story(t, "Enter alone never allows", func(t *testing.T, p *person) {
		p.event(push())
		p.rests()
		for _, k := range []string{"a", "A"} {
			p.types(k, "down", "down", "down", "down", "down", "enter")
			p.sentNothing()
			if p.m.dialog != nil {
				t.Error("Enter on the button that goes back left the dialog open")
			}
		}
	})
	story(t, "the defaults", func(t *testing.T, p *person) {
		p.event(push())
		p.rests()
		p.types("a", "tab", "tab", "tab", "tab", "tab", "right", "enter")
		f := p.sentOne()
		want := []grant{{"shell_exec", "git push *"}} // a part that may lose data has no default
		if diff := cmp.Diff(want, grants(f)); diff != "" || f.Decision != "always" || f.Scope != "worker" || f.ExpiresIn != 0 {
			t.Errorf("sent %+v\n%s", f, diff)
		}
	})
	story(t, "another pattern, for the session, for an hour", func(t *testing.T, p *person) {
		p.event(push())
		p.rests()
		p.types("a", "space", "down", "down") // the narrow pattern for the push, and none for rm
		p.types("down", "right", "right", "enter", "right", "down", "l", "enter")
		f := p.sentOne()
		if diff := cmp.Diff([]grant{{"shell_exec", "git push origin main"}}, grants(f)); diff != "" || f.Scope != "session" || f.ExpiresIn != 3600 {
			t.Errorf("sent %+v\n%s", f, diff)
		}
	})
	story(t, "nothing picked", func(t *testing.T, p *person) {
		p.event(push())
		p.rests()
		p.types("a", "down", "space", "down", "down", "down", "down", "right", "enter")
		p.sentNothing()
		p.sees("pick a pattern with Space")
		p.types("left", "up", "up", "up", "up", "k", "j", "shift+tab", "q")
		if p.m.dialog != nil {
			t.Error("q did not close the dialog")
		}
	})
	story(t, "nothing offered", func(t *testing.T, p *person) {
		f := push()
		f.Always = nil
		p.event(f)
		p.rests()
		p.types("a")
		p.sees("this call cannot be allowed always.")
		if p.m.dialog != nil {
			t.Error("a dialog opened")
		}
	})
}

func TestReading(t *testing.T) {
	long := func() *wire.ToolApproveRequest {
		f := push()
		f.Args = json.RawMessage(`{"content":"` + strings.Repeat(`line\n`, 500) + `"}`)
		return f
	}
	for _, keys := range [][]string{{"end"}, {"G"}, slices.Repeat([]string{"space"}, 12), slices.Repeat([]string{"pgdown"}, 12), slices.Repeat([]string{"f"}, 12), slices.Repeat([]string{"ctrl+d"}, 24), slices.Repeat([]string{"J"}, 520)} {
		story(t, "long arguments and "+keys[0], func(t *testing.T, p *person) {
			p.event(long())
			p.rests()
			p.types("y", "a", "e", "right", "enter", "left")
			p.sentNothing()
			if p.m.dialog != nil || len(p.started) > 0 {
				t.Fatal("a dialog opened for arguments that were not read")
			}
			p.sees("read all arguments first")
			p.types(keys...)
			p.types("home", "g", "b", "K", "ctrl+u", "pgup", "y")
			p.sentOne()
		})
	}
	story(t, "what was read counts for the one call", func(t *testing.T, p *person) {
		f := long()
		p.event(f)
		p.rests()
		p.types("end")
		edited := long()
		edited.ArgsDigest = "sha256:3333"
		p.event(edited)
		p.sees("The arguments of this call changed.")
		p.rests()
		p.types("y")
		p.sentNothing()
		p.types("end", "y")
		if got := p.sentOne().ArgsDigest; got != "sha256:3333" {
			t.Errorf("answered for %s", got)
		}
	})
	story(t, "another screen is no reading", func(t *testing.T, p *person) {
		p.update(tea.WindowSizeMsg{Width: 80, Height: 12})
		p.event(push())
		p.rests()
		p.types("2")
		p.update(tea.WindowSizeMsg{Width: 80, Height: 60})
		p.update(tea.WindowSizeMsg{Width: 80, Height: 12})
		p.types("1", "y")
		p.sentNothing()
	})
	story(t, "a window too small to decide in", func(t *testing.T, p *person) {
		p.event(push())
		p.rests()
		p.update(tea.WindowSizeMsg{Width: 20, Height: 5})
		p.sees("too", "small")
		p.types("y", "a", "enter", "enter", "n", "enter")
		p.sentNothing()
		p.types("q")
		if !p.quit {
			t.Error("q did not leave")
		}
	})
}

func TestMoving(t *testing.T) {
	story(t, "the only one is scrolled", func(t *testing.T, p *person) {
		p.update(tea.WindowSizeMsg{Width: 80, Height: 24})
		p.event(push())
		p.rests()
		for _, k := range []string{"down", "j", "down", "up", "k"} {
			p.types(k)
		}
		if p.m.detail.top != 1 {
			t.Errorf("scrolled to line %d", p.m.detail.top)
		}
	})
	story(t, "up and down", func(t *testing.T, p *person) {
		p.event(push())
		p.event(edits())
		p.rests()
		p.types("right", "down")
		if p.m.current.ToolCallID != "call_0002" || p.m.choice != chooseDeny {
			t.Errorf("on %s with choice %d", p.m.current.ToolCallID, p.m.choice)
		}
		p.types("down", "j", "up", "k", "k", "j", "y")
		if f := p.sentOne(); f.ToolCallID != "call_0002" || f.SessionID != "s-2" {
			t.Errorf("answered %+v", f)
		}
	})
	story(t, "a narrow window shows which screen it is", func(t *testing.T, p *person) {
		p.update(tea.WindowSizeMsg{Width: 40, Height: 24})
		p.event(push())
		p.rests()
		p.types("3")
		p.sees("[3 Audit]")
		p.types("4")
		p.sees("[4 Tools]")
		p.types("1")
		p.sees("[1 Approvals")
	})
	story(t, "what comes does not move the cursor", func(t *testing.T, p *person) {
		p.event(edits())
		p.rests()
		for _, id := range []string{"x1", "x2"} {
			f := push()
			f.ToolCallID = id
			p.event(f)
		}
		same := edits()
		same.ToolCallID = "call_0003"
		p.event(same)
		p.sees("3 Audit", "1 Approvals (4)", "demo_edit_file waits too (4 in all).")
		p.types("y")
		if got := p.sentOne().ToolCallID; got != "call_0002" {
			t.Errorf("answered %s", got)
		}
	})
	story(t, "the next takes the place of what is over, and keys rest", func(t *testing.T, p *person) {
		first, second := push(), edits()
		p.event(first)
		p.event(second)
		p.rests()
		p.types("n")
		p.event(over(first, "approve", "cascade:web:bob", "Covered by the always given for call_0009."))
		p.sees("demo_shell_exec was approved by cascade:web:bob. Covered by")
		if p.m.dialog != nil {
			t.Error("the dialog of a call that is over is open")
		}
		p.types("y")
		p.sentNothing()
		p.rests()
		p.types("y")
		if got := p.sentOne().ToolCallID; got != "call_0002" {
			t.Errorf("answered %s", got)
		}
	})
	story(t, "screens", func(t *testing.T, p *person) {
		p.rests()
		var got []screen
		for _, k := range []string{"tab", "tab", "tab", "tab", "shift+tab", "2", "3", "1"} {
			p.types(k)
			got = append(got, p.m.screen)
		}
		if want := []screen{sessions, trail, toolbox, approvals, toolbox, sessions, trail, approvals}; !slices.Equal(got, want) {
			t.Errorf("went to %v", got)
		}
		p.types("3")
		p.event(push())
		if p.m.screen != approvals {
			t.Error("a question did not come to the front")
		}
	})
	for _, k := range []string{"q", "ctrl+c"} {
		story(t, k+" leaves", func(t *testing.T, p *person) {
			p.event(push())
			if p.types(k); p.quit != (k == "ctrl+c") {
				t.Errorf("while keys rest: quit %v", p.quit)
			}
			p.rests()
			if p.types(k); !p.quit {
				t.Error("did not leave")
			}
		})
	}
	story(t, "ctrl+z suspends, and a return is a prompt", func(t *testing.T, p *person) {
		p.event(push())
		p.rests()
		p.types("ctrl+z")
		if !slices.Contains(p.started, "tea.SuspendMsg") {
			t.Errorf("started %v", p.started)
		}
		p.update(tea.ResumeMsg{})
		p.types("y")
		p.sentNothing()
	})
	story(t, "help", func(t *testing.T, p *person) {
		p.update(tea.WindowSizeMsg{Width: 60, Height: 12})
		p.rests()
		p.types("?", "down", "pgdown", "up", "k")
		p.sees("Keys")
		p.event(push())
		p.sees("Keys") // a question does not close it
		p.rests()
		p.types("y")
		p.sentNothing()
		p.seesNot("any key closes")
	})
}

func TestSessions(t *testing.T) {
	story(t, "autonomy", func(t *testing.T, p *person) {
		host(p)
		p.event(push())
		p.rests()
		p.types("u", "enter") // the cursor starts at the current level
		p.types("u", "down", "j", "up", "enter")
		p.types("2", "enter", "up", "up", "enter")
		want := []string{"s-1 GUIDED", "s-1 NONE"}
		if !slices.Equal(p.levels, want) {
			t.Errorf("set %q, want %q", p.levels, want)
		}
		p.event(&wire.AutonomyChanged{Head: wire.Head{SessionID: "s-1"}, Level: "GUIDED", By: "tui:ann"})
		p.sees("Autonomy of session s-1 is now GUIDED, set by tui:ann.", "autonomy GUIDED")
	})
	story(t, "stopping what runs", func(t *testing.T, p *person) {
		host(p)
		p.event(&wire.TeamUpdate{Head: wire.Head{SessionID: "s-2"}, Agents: []wire.TeamAgent{{AgentID: "explore"}}})
		p.rests()
		p.types("2", "down", "j", "k", "down", "x", "enter", "x", "right", "left", "enter", "x", "n", "x", "right", "enter")
		if !slices.Equal(p.cancels, []string{"s-2"}) {
			t.Errorf("stopped %q", p.cancels)
		}
		p.event(&wire.TeamUpdate{Head: wire.Head{SessionID: "s-2"}})
		p.seesNot("s-2")
		p.types("x", "esc", "u", "esc", "y")
	})
	story(t, "a call that another session repeats", func(t *testing.T, p *person) {
		f := push()
		p.event(f)
		again := *f
		again.SessionID = "s-2"
		p.event(&again)
		p.sees("The details of this call changed", "session s-2", "Approvals (1)")
		p.seesNot("session s-1")
		p.event(over(&again, "withdrawn", "host", "The session ended."))
		p.sees("No pending approvals")
	})
	story(t, "no session", func(t *testing.T, p *person) {
		p.rests()
		p.types("2", "u", "x", "enter", "up", "down")
		if p.m.dialog != nil {
			t.Error("a dialog opened")
		}
	})
	story(t, "servers", func(t *testing.T, p *person) {
		p.update(statusMsg{p.m.address, status{servers: []server{{Name: "git\u202Ehub", State: "starting"}}}})
		p.rests()
		p.types("2")
		p.sees("git⟨U+202E⟩hub", "starting", "0/1 up")
		p.update(statusMsg{"127.0.0.1:1", status{err: errors.New("of a connection that is gone")}})
		p.seesNot("gone")
		p.update(statusMsg{p.m.address, status{err: wire.ErrImpostor}})
		p.sees("Their state is unknown")
	})
}

func TestTrail(t *testing.T) {
	story(t, "old and new, each once", func(t *testing.T, p *person) {
		now := at()
		entries := func(from, to int) (list []entry) {
			for i := from; i < to; i++ {
				list = append(list, entry{Time: now.Add(time.Duration(i) * time.Second), CallID: string(rune('A' + i)), Tool: "tool_" + string(rune('A'+i)), Decision: "approved"})
			}
			return list
		}
		p.event(&wire.AuditEntry{ToolCallID: "C", Tool: "tool_C", Decision: "approved", Timestamp: now.Add(2 * time.Second)})
		p.update(statusMsg{p.m.address, status{records: entries(0, 3)}})
		p.event(&wire.AuditEntry{ToolCallID: "D", Tool: "tool_D", Decision: "approved", Timestamp: now.Add(3 * time.Second)})
		var got []string
		for _, e := range p.m.log.entries {
			got = append(got, e.CallID)
		}
		if diff := cmp.Diff([]string{"A", "B", "C", "D"}, got); diff != "" {
			t.Error(diff)
		}
		p.rests()
		p.types("3")
		p.sees("tool_A", "tool_D")
	})
	story(t, "a call that could not be read shows why", func(t *testing.T, p *person) {
		p.event(&wire.AuditEntry{ToolCallID: "x", Decision: "denied", Timestamp: time.Now(), By: "callgate", Rule: "unknown tool"})
		p.rests()
		p.types("3")
		p.sees("denied", "unknown tool")
	})
	story(t, "it follows until one scrolls up", func(t *testing.T, p *person) {
		p.update(tea.WindowSizeMsg{Width: 80, Height: 12})
		add := func(n int) {
			for range n {
				p.event(&wire.AuditEntry{ToolCallID: "x", Tool: "tool", Decision: "denied", Timestamp: time.Now(), Summary: time.Now().Format("05.000")})
				p.waits(time.Millisecond)
			}
		}
		add(600)
		if len(p.m.log.entries) != maxEntries {
			t.Errorf("keeps %d entries", len(p.m.log.entries))
		}
		p.rests()
		p.types("3")
		last := p.m.log.entries[maxEntries-1].Summary
		p.sees(last)
		p.types("up")
		add(3)
		p.seesNot(p.m.log.entries[maxEntries-1].Summary)
		p.types("end")
		add(1)
		p.sees(p.m.log.entries[maxEntries-1].Summary)
	})
}

// One session may be frozen already.
func TestFreeze(t *testing.T) {
	story(t, "all sessions are frozen and unfrozen", func(t *testing.T, p *person) {
		d := &desktop{}
		p.m.rest = d
		host(p)
		p.event(&wire.TeamUpdate{Head: wire.Head{SessionID: "s-2"}, Agents: []wire.TeamAgent{{AgentID: "main", Permissions: "FROZEN"}}})
		p.rests()
		p.sees("FROZEN")
		p.types("2", "z")
		p.sees("Freeze all sessions")
		p.types("enter")
		p.types("z", "right", "enter")
		p.sees("All sessions are frozen: only reading goes on.")
		p.types("Z")
		p.sees("Unfreeze all sessions")
		p.types("right", "enter")
		p.sees("The freeze of all sessions has ended.")
		p.event(&wire.TeamUpdate{Head: wire.Head{SessionID: "s-3"}, Agents: []wire.TeamAgent{{AgentID: "main", Permissions: "GATE OFF"}}})
		p.types("1")
		p.sees("GATE OFF")
		if !slices.Equal(d.frozen, []bool{true, false}) {
			t.Errorf("%v", d.frozen)
		}
	})
}

func TestConnection(t *testing.T) {
	story(t, "it is lost and comes back", func(t *testing.T, p *person) {
		f := push()
		p.event(f)
		p.rests()
		p.types("y")
		p.event(wire.Disconnected{Err: wire.ErrUnreachable})
		p.sees("no connection", "The connection is lost; trying again.", "The answer to demo_shell_exec may not have arrived.")
		p.types("y", "n", "enter")
		p.event(wire.Connected{Address: "127.0.0.1:7778"})
		p.event(f)
		p.sees("Connected again to callgate at 127.0.0.1:7778.")
		p.types("y")
		p.sentOne()
		p.rests()
		p.types("y")
		if len(p.answers) != 2 {
			t.Errorf("%d answers", len(p.answers))
		}
	})
	story(t, "it shows a part", func(t *testing.T, p *person) {
		p.event(wire.Notice{Problems: []string{"a log is damaged"}})
		p.sees("● connected")
		p.event(wire.Notice{Problems: []string{wire.UnseenElsewhere}})
		p.sees("not all calls are shown")
		p.event(wire.Notice{})
		p.sees("● connected")
	})
	story(t, "it is lost for good", func(t *testing.T, p *person) {
		p.event(wire.Disconnected{Err: wire.ErrVersion, Final: true})
		if !p.quit || !errors.Is(p.m.err, wire.ErrVersion) {
			t.Errorf("quit %v with %v", p.quit, p.m.err)
		}
	})
	for decision, want := range map[string]wire.Outcome{
		"approve": wire.Approved, "always": wire.Approved, "reject": wire.Rejected, "timeout": wire.Withdrawn, "withdrawn": wire.Withdrawn,
	} {
		story(t, "once: "+decision, func(t *testing.T, p *person) {
			p.m.once = true
			p.event(over(edits(), decision, "rule", "")) // it was never shown
			if p.quit {
				t.Fatal("ended for an approval that was not shown")
			}
			p.event(push())
			if p.event(over(push(), decision, "web:bob", "")); !p.quit || p.m.outcome != want {
				t.Errorf("quit %v with %v, want %v", p.quit, p.m.outcome, want)
			}
		})
	}
	story(t, "the bell rings for each approval once", func(t *testing.T, p *person) {
		p.m.bell = true
		p.event(push())
		p.event(push())
		p.event(edits())
		if p.raw != "\a\a" {
			t.Errorf("rang %q", p.raw)
		}
	})
	story(t, "toasts go away, the countdown goes on", func(t *testing.T, p *person) {
		p.event(push())
		p.sees("Connected to callgate", "denied in 2:00")
		p.waits(110 * time.Second)
		p.update(tickMsg{})
		p.seesNot("Connected to callgate")
		p.sees("denied in 0:10")
		p.waits(20 * time.Second)
		p.update(tickMsg{})
		p.sees("time is up")
	})
	story(t, "a timeout is told once", func(t *testing.T, p *person) {
		p.event(push())
		p.event(over(push(), "timeout", "timeout", ""))
		p.event(&wire.Error{ToolCallID: "call_0001", Code: wire.CodeApprovalTimeout, Message: "nobody answered in time"})
		p.sees("demo_shell_exec timed out and was denied")
		p.seesNot("nobody answered in time")
	})
}

func TestEditing(t *testing.T) {
	story(t, "e starts the editor", func(t *testing.T, p *person) {
		p.event(push())
		p.rests()
		p.types("e")
		if !slices.Contains(p.started, "tea.execMsg") {
			t.Errorf("started %v", p.started)
		}
	})
	t.Run("the editor gets the exact arguments, for the person alone", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("the editor is a shell script")
		}
		dir := t.TempDir()
		t.Setenv("TMPDIR", dir)
		t.Setenv("VISUAL", "sh -c 'stat'") // the quotes have no meaning: the command is split at spaces
		if err := (&editing{text: []byte(`{}`)}).Run(); err == nil {
			t.Error("an editor that fails is no error")
		}
		script := filepath.Join(dir, "editor")
		if err := os.WriteFile(script, []byte("#!/bin/sh\ncat \"$1\"\nls -l \"$1\" | cut -c 1-10\necho '{\"new\":1}' >\"$1\"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("VISUAL", script)
		var out strings.Builder
		e := editing{text: []byte(`{"n":1e+02,"s":"\u0061"}`)}
		e.SetStdout(&out)
		if err := e.Run(); err != nil || string(e.text) != "{\"new\":1}\n" {
			t.Errorf("%q %v", e.text, err)
		}
		if want := "{\n  \"n\": 1e+02,\n  \"s\": \"\\u0061\"\n}\n-rw-------\n"; out.String() != want {
			t.Errorf("the editor saw %q, want %q", &out, want)
		}
		if left, err := filepath.Glob(filepath.Join(dir, "callgate-edit-*")); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v %v", left, err)
		}
	})
	review := func(t *testing.T, p *person, text string) {
		p.event(push())
		p.rests()
		p.update(editedMsg{"call_0001", "sha256:1f0e", []byte(text), nil})
	}
	const good = `{"command":"git push origin next","timeout_seconds":30}` + "\n"
	story(t, "what was edited is looked at, then sent", func(t *testing.T, p *person) {
		review(t, p, good)
		p.sees("Run with these arguments?", `-   "command": "git push origin main`, `+   "command": "git push origin next"`, "[ Drop ]")
		p.types("y", "right", "enter")
		p.sentNothing() // it popped up
		p.rests()
		p.types("y")
		if f := p.sentOne(); f.Decision != "approve" || string(f.Arguments)+"\n" != good || f.ArgsDigest != "sha256:1f0e" {
			t.Errorf("sent %+v", f)
		}
	})
	for _, keys := range [][]string{{"enter"}, {"right", "left", "enter"}, {"esc"}, {"n"}, {"q"}} {
		story(t, "dropped by "+keys[len(keys)-1], func(t *testing.T, p *person) {
			review(t, p, good)
			p.rests()
			p.types(keys...)
			p.sentNothing()
			p.sees("the change was discarded.")
		})
	}
	story(t, "a long change is read to its end first", func(t *testing.T, p *person) {
		review(t, p, `{"command":"`+strings.Repeat(`x\n`, 300)+`"}`)
		p.rests()
		p.types("y", "right", "enter")
		p.sentNothing()
		p.sees("more lines to read first")
		p.types("end", "home", "enter")
		p.sentOne()
	})
	for _, bad := range []struct{ text, says string }{
		{"", "not valid JSON"}, {"[1]", "not a JSON object"},
		{`{"command":"git push origin main && rm -rf build","timeout_seconds":30}`, "nothing was changed"},
		{`{"a":"` + strings.Repeat("x", maxEdited) + `"}`, "too large"},
	} {
		story(t, bad.says, func(t *testing.T, p *person) {
			review(t, p, bad.text)
			p.sees(bad.says)
			if p.m.dialog != nil {
				t.Error("a dialog opened")
			}
		})
	}
	story(t, "the editor fails", func(t *testing.T, p *person) {
		p.event(push())
		p.update(editedMsg{"call_0001", "sha256:1f0e", []byte(good), errors.New("exit status 1")})
		p.sees("Nothing was sent: editing failed: exit status 1.")
	})
	story(t, "the call was answered meanwhile", func(t *testing.T, p *person) {
		p.event(push())
		p.event(over(push(), "timeout", "timeout", ""))
		p.update(editedMsg{"call_0001", "sha256:1f0e", []byte(good), nil})
		p.sees("Nothing was sent: the call ended or changed meanwhile.")
	})
	t.Run("which editor", func(t *testing.T) {
		t.Setenv("VISUAL", "")
		t.Setenv("EDITOR", "code --wait")
		if got := editor(); !slices.Equal(got, []string{"code", "--wait"}) {
			t.Error(got)
		}
		t.Setenv("VISUAL", "hx")
		if got := editor(); !slices.Equal(got, []string{"hx"}) {
			t.Error(got)
		}
		t.Setenv("VISUAL", "")
		t.Setenv("EDITOR", "")
		if got := editor(); len(got) != 1 {
			t.Error(got)
		}
	})
}

// TestQuiet types a letter at various moments after a question has popped up.
func TestQuiet(t *testing.T) {
	for _, test := range []struct {
		name  string
		pause []time.Duration // before each y
		sent  bool
	}{
		{"at once", []time.Duration{0}, false},
		{"just before", []time.Duration{quietTime - time.Millisecond}, false},
		{"rested", []time.Duration{quietTime}, true},
		{"typing on", slices.Repeat([]time.Duration{quietTime - time.Millisecond}, 20), false},
		{"typing, then resting", []time.Duration{100 * time.Millisecond, 100 * time.Millisecond, quietTime}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := sit(t, 120, 60)
				p.rests()
				p.event(push())
				for _, pause := range test.pause {
					p.waits(pause)
					p.types("y")
				}
				if got := len(p.answers) == 1; got != test.sent {
					t.Errorf("sent %v, want %v", got, test.sent)
				}
			})
		})
	}
}

// A hook's changes and the server's description of its tool are shown with the call.
func TestWhatCameAndWhatIsSaid(t *testing.T) {
	story(t, "a rewritten call", func(t *testing.T, p *person) {
		f := push()
		f.Marks, f.Commands, f.Always = nil, nil, nil
		f.Description = "Runs a command.\u202E"
		f.Rewritten = &wire.Rewrite{By: "add-dry-run\x1b", Original: json.RawMessage(`{"command":"git push","timeout_seconds":30}`)}
		p.event(f)
		p.sees("Changes that a hook made to the arguments", "add-dry-run⟨U+001B⟩", `-   "command": "git push",`, `+   "command": "git push origin main && rm -rf build",`)
		p.sees("The server's description", "Runs a command.⟨U+202E⟩")
	})
}
