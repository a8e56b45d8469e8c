package tui

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"callgate/internal/companion/wire"
)

var update = flag.Bool("update", false, "write the golden screens")

// scenes lists what the golden screens show.
var scenes = []struct {
	name string
	set  func(p *person)
}{
	{"idle", func(p *person) {}},
	{"question", func(p *person) { p.event(push()); p.rests() }},
	{"several", func(p *person) {
		host(p)
		p.event(push())
		p.event(edits())
		p.rests()
		p.types("down")
	}},
	{"deny", func(p *person) { p.event(push()); p.rests(); p.types("n", "u", "s", "e", " ", "p", "r") }},
	{"always", func(p *person) { p.event(push()); p.rests(); p.types("end", "a", "down") }},
	{"autonomy", func(p *person) { host(p); p.event(push()); p.rests(); p.types("u") }},
	{"sessions", func(p *person) {
		host(p)
		p.event(push())
		p.rests()
		p.update(statusMsg{p.m.address, status{servers: []server{{Name: "demo", State: "up", Tools: 6}, {Name: "github", State: "down", Error: "there is no program \"github-mcp\" on the PATH"}}}})
		p.types("2")
	}},
	{"team", func(p *person) {
		host(p)
		head := wire.Head{SessionID: "s-1"}
		p.event(&wire.TeamUpdate{Head: head, Agents: []wire.TeamAgent{
			{AgentID: "main", Role: "main", Permissions: "ask", Client: wire.Host{Name: "claude-code", Version: "2.1"}},
			{AgentID: "rev-5f0e12ab", Role: "reviewer", Goal: "Look through the change before it is pushed", Domain: "go", Provider: "local", Model: "m-1", Roles: []wire.AgentRole{{Name: "critic", Domain: "tests"}}},
			{AgentID: "fix-00112233", Role: "fixer"},
		}})
		p.event(&wire.AgentState{Head: head, AgentID: "main", Status: "running"})
		p.event(&wire.AgentState{Head: head, AgentID: "rev-5f0e12ab", Status: "idle"})
		p.event(&wire.AgentState{Head: head, AgentID: "fix-00112233", Status: "running"})
		p.rests()
		p.types("2")
	}},
	{"audit", func(p *person) {
		for i, decision := range []string{"auto_approved", "denied", "approved", "timeout"} {
			p.event(&wire.AuditEntry{ToolCallID: fmt.Sprint(i), Tool: "demo_shell_exec", Risk: "NETWORK", Decision: decision, Timestamp: at(), Summary: "Runs git push origin main", By: "tui:ann"})
		}
		p.types("3")
	}},
	{"tools", func(p *person) { host(p); p.rests(); p.types("4"); p.update(offers(p)); p.types("down") }},
	{"definition", func(p *person) {
		host(p)
		p.rests()
		p.types("4")
		p.update(offers(p))
		p.types("enter", "space", "space", "right")
	}},
	{"disk", func(p *person) {
		p.event(edits())
		p.update(changesMsg{p.m.current, []wire.FileChange{{
			Path: "/home/ann/src/app/src/main.go", State: wire.ChangeEdited,
			Before: "package main\n\nfunc main() {\n\tprintln(\"hello\")\n}\n", After: "package main\n\nfunc main() {\n\tprintln(\"good bye\")\n}\n",
		}}})
		p.rests()
	}},
	{"help", func(p *person) { p.rests(); p.types("?") }},
	{"cascade", func(p *person) {
		f := push()
		p.event(f)
		p.event(edits())
		p.event(over(f, "approve", "cascade:web:bob", "Covered by the always given for call_0009."))
	}},
	{"lost", func(p *person) {
		p.event(push())
		p.event(wire.Disconnected{Err: wire.ErrUnreachable})
	}},
}

// host adds a session whose host has a name.
func host(p *person) {
	p.event(&wire.TeamUpdate{Head: wire.Head{SessionID: "s-1"}, Agents: []wire.TeamAgent{{AgentID: "main", Role: "main", Permissions: "ask"}}})
	p.m.roster.sessions["s-1"] = session{client: "claude-code 2.1", agent: "main", mode: "ask", status: "waiting"}
	p.event(&wire.AutonomyChanged{Head: wire.Head{SessionID: "s-1"}, Level: "CAUTIOUS"})
}

func TestScreens(t *testing.T) {
	for _, scene := range scenes {
		for _, size := range [][2]int{{60, 20}, {80, 24}, {120, 40}, {200, 50}} {
			t.Run(fmt.Sprintf("%s_%d", scene.name, size[0]), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := sit(t, size[0], size[1])
					scene.set(p)
					fits(t, p.m)
					golden(t, fmt.Sprintf("%s_%d", scene.name, size[0]), p.screen())
				})
			})
		}
	}
}

// fits checks that the screen is exactly as high as the window, and that no line is wider.
func fits(t testing.TB, m *model) {
	t.Helper()
	lines := view{m}.lines()
	if !(view{m}).tooSmall() && len(lines) != m.height || len(lines) > max(0, m.height) {
		t.Errorf("%d lines in a window of %d×%d", len(lines), m.width, m.height)
	}
	for i, line := range lines {
		if w := ansi.StringWidth(line); w > m.width {
			t.Errorf("line %d is %d wide in a window of %d×%d: %q", i, w, m.width, m.height, line)
		}
	}
}

func golden(t *testing.T, name, screen string) {
	t.Helper()
	var trimmed strings.Builder
	for line := range strings.Lines(screen + "\n") {
		trimmed.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(trimmed.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), trimmed.String()); diff != "" {
		t.Errorf("the screen is not the one in %s (-want +got; -update writes it):\n%s", path, diff)
	}
}

// A person can decide about an ordinary call without scrolling in the smallest usual window.
func TestAnOrdinaryCallFitsTheUsualWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := sit(t, 80, 24)
		f := push()
		f.Args = []byte(`{"command":"npm install left-pad","timeout_seconds":30}`)
		f.Summary, f.Risk = "Runs npm install left-pad", wire.Risk{Class: "NETWORK", Label: "medium", Category: "package-install"}
		f.Commands, f.Marks = []wire.Command{{Argv: []string{"npm", "install", "left-pad"}, Risk: "NETWORK", Writes: []string{"node_modules"}}}, nil
		f.Client = wire.Host{Name: "claude-code", Version: "2.1"}
		f.Origin = wire.Origin{Folder: "/home/ann/src/app", Branch: "main", Terminal: "pts/3"}
		f.Undo = &wire.Undo{Kept: true, Text: "The files are kept before it runs."}
		p.event(f)
		p.rests()
		fits(t, p.m)
		p.sees("/home/ann/src/app on main from pts/3", "npm install left-pad", "MEDIUM talks to other machines", "The files are kept", "Deny…", "Approve", "Always…", "y approve")
		if p.m.detail.top != 0 || p.m.unread() != 0 {
			t.Errorf("%d lines have to be scrolled to:\n%s", p.m.unread(), p.screen())
		}
	})
}
