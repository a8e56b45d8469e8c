package companion

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/companion/console"
	"callgate/internal/companion/wire"
	"callgate/internal/testserver/waits"
	"callgate/permissions"
)

// terminal is a person at a terminal that runs Watch.
type terminal struct {
	t       *testing.T
	keys    *io.PipeWriter
	screen  *lockedBuffer
	seen    int // bytes of the screen that expect has checked
	outcome wire.Outcome
	err     error
	done    chan struct{}
}

// restBetweenKeys replaces quietTime, so that tests do not have to wait for it.
const restBetweenKeys = 10 * time.Millisecond

func watch(t *testing.T, r *rig, once bool) *terminal {
	t.Helper()
	approver := dial(t, r.target())
	in, keys := io.Pipe()
	x := &terminal{t: t, keys: keys, screen: new(lockedBuffer), done: make(chan struct{})}
	c := console.NewConsole(in, x.screen, func() (int, int, error) { return 200, 50, nil })
	c.Rest(restBetweenKeys)
	go func() {
		defer close(x.done)
		x.outcome, x.err = console.Watch(t.Context(), approver, c, once)
	}()
	t.Cleanup(func() {
		keys.Close()
		<-x.done
		c.Close()
	})
	return x
}

// expect waits until all texts have appeared on the screen, in order, after what was expected before.
func (x *terminal) expect(texts ...string) {
	x.t.Helper()
	for _, text := range texts {
		for deadline := time.Now().Add(waits.Limit); ; time.Sleep(time.Millisecond) {
			screen := x.screen.String()
			if at := strings.Index(screen[x.seen:], text); at >= 0 {
				x.seen += at + len(text)
				break
			}
			if time.Now().After(deadline) {
				x.t.Fatalf("%q did not come; the screen since is\n%s", text, screen[x.seen:])
			}
		}
	}
}

// types waits like a person who reads first, then types a line.
func (x *terminal) types(line string) {
	x.t.Helper()
	time.Sleep(3 * restBetweenKeys)
	if _, err := x.keys.Write([]byte(line + "\r")); err != nil {
		x.t.Fatal(err)
	}
}

func (x *terminal) ends(want wire.Outcome) {
	x.t.Helper()
	select {
	case <-x.done:
	case <-time.After(waits.Limit):
		x.t.Fatal("Watch did not end")
	}
	if x.err != nil || x.outcome != want {
		x.t.Errorf("ended with %v, %v; want %v", x.outcome, x.err, want)
	}
}

// Prompts of a new turn. The console clears the line, starting with ~, once it takes keys. A prompt that is redrawn
// below a message has no ~, and belongs to the turn before.
const (
	prompt       = "commands_run: y n a s ? > ~"
	nothingWaits = "(no approvals) ~"
)

func shellApproval(id, command string) *gate.Approval {
	a := approval(id)
	args, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		panic(err)
	}
	a.Arguments = args
	a.CreatedAt = time.Now()
	a.ExpiresAt = a.CreatedAt.Add(2 * time.Minute)
	a.Analysis = &tools.Analysis{
		Summary: "Runs a command.", Risk: permissions.Network, Category: "network",
		Commands: []tools.CommandView{{Argv: []string{"git", "commit message", "\u202ehsup"}, Via: []string{"xargs"}, Writes: []string{"a b"}, Risk: permissions.Network}},
	}
	a.Marks = []tools.Mark{{Code: "confirm", Text: "A rule wants a person."}}
	a.Reasons = []gate.Reason{{Subject: "git push", Rule: `shell_exec "*" ask`, Layer: permissions.LayerFile, Action: permissions.Ask}}
	a.Offers = []tools.Offer{
		{Tool: "shell_exec", Pattern: "git push", Risk: permissions.Network},
		{Tool: "shell_exec", Pattern: "git push *", Risk: permissions.Network, Default: true},
	}
	return a
}

func TestWatchAnswers(t *testing.T) {
	b := newFakeBackend("s1")
	r := start(t, b)
	x := watch(t, r, false)
	x.expect("Connected to callgate at " + r.Address())

	b.ask(shellApproval("call_1", "git push && <b>\x1b[2J"))
	x.expect(
		"── commands_run ──", "Server commands, session s1, agent main, worker default, 119 s left",
		"Risk   MEDIUM: talks to other machines (network)", "What   Runs a command.", "Why    no rule matched",
		"!      A rule wants a person.", `"command": "git push && <b>\u001b[2J"`,
		`git "commit message" "⟨U+202E⟩hsup"  [talks to other machines, via xargs, writes "a b"]`,
		`git push: shell_exec "*" ask`,
		`1. shell_exec "git push", at worst: talks to other machines`, `2. shell_exec "git push *"`, "(default)", prompt,
	)
	x.types("")
	x.types("yes please")
	x.expect("y                              approve this call, once")
	x.types("y now")
	x.expect("Nothing was sent.")
	x.types("a 3")
	x.expect("neither a number from 1 to 2")
	if got := b.applied(); len(got) != 0 {
		t.Fatalf("applied %+v", got)
	}
	x.types("y")
	x.expect("commands_run was approved by tui:alice.", nothingWaits)
	x.types("y")
	x.expect("No pending approvals.")

	b.ask(shellApproval("call_2", "git push"))
	x.expect(prompt)
	x.types("n use make release")
	x.expect("was rejected by tui:alice")

	b.ask(shellApproval("call_3", "git push"))
	x.expect(prompt)
	x.types("a 1 session")
	x.expect("was approved, always by tui:alice")

	b.ask(shellApproval("call_4", "git push"))
	x.expect(prompt)
	x.types("s")
	x.expect(nothingWaits)
	b.resolve("call_4", "timeout", "timeout")
	x.expect("timed out and was denied")
	x.types("q")
	x.ends(wire.Ended)

	got, want := b.applied(), []gate.Answer{
		{SessionID: "s1", Digest: "d-call_1", Decision: "approve", By: "tui:alice"},
		{SessionID: "s1", Digest: "d-call_2", Decision: "reject", Feedback: "use make release", By: "tui:alice"},
		{SessionID: "s1", Digest: "d-call_3", Decision: "always", Grants: []gate.GrantChoice{{Tool: "shell_exec", Pattern: "git push"}}, Scope: "session", By: "tui:alice"},
	}
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("applied\n%+v\nwant\n%+v", got, want)
	}
}

// A half-typed answer to one call must not go to the call that takes its place.
func TestWatchNeverAnswersAnotherCall(t *testing.T) {
	b := newFakeBackend("s1")
	r := start(t, b)
	x := watch(t, r, false)
	b.ask(shellApproval("call_1", "ls"))
	x.expect(prompt)
	time.Sleep(3 * restBetweenKeys)
	if _, err := x.keys.Write([]byte("y")); err != nil {
		t.Fatal(err)
	}
	x.expect("y")
	b.ask(shellApproval("call_2", "rm -rf /"))
	x.expect("commands_run waits too")
	b.resolve("call_1", "withdrawn", "host")
	x.expect("was withdrawn by host", "rm -rf /", strings.TrimSuffix(prompt, "~")+"y~") // the y is still on the line
	x.types("")
	x.types("n")
	x.expect("was rejected")
	if got := b.applied(); len(got) != 1 || got[0].Decision != "reject" || got[0].Digest != "d-call_2" {
		t.Errorf("applied %+v", got)
	}
}

// Arguments too large for one screen must be viewed before they are approved.
func TestWatchWantsLargeArgumentsViewed(t *testing.T) {
	b := newFakeBackend("s1")
	r := start(t, b)
	x := watch(t, r, false)
	b.ask(shellApproval("call_1", strings.Repeat("x", 8<<10)+"THE END"))
	x.expect("… and more", prompt)
	x.types("y")
	x.expect("Type v first. Nothing was sent.")
	x.types("a")
	x.expect("Type v first. Nothing was sent.")
	x.types("v")
	x.expect("THE END", prompt)
	x.types("y")
	x.expect("was approved by tui:alice")
}

// Riskier edited arguments are asked about again under the same id. The old prompt is void.
func TestWatchShowsChangedArguments(t *testing.T) {
	b := newFakeBackend("s1")
	r := start(t, b)
	x := watch(t, r, false)
	b.ask(shellApproval("call_1", "ls"))
	x.expect(prompt)
	changed := shellApproval("call_1", "rm -rf /")
	changed.Digest = "d-changed"
	b.mu.Lock()
	b.pending[0] = changed
	b.send(gate.Asked{Approval: changed})
	b.mu.Unlock()
	x.expect("The arguments of this call changed", "rm -rf /", prompt)
	x.types("n")
	x.expect("was rejected")
	if got := b.applied(); len(got) != 1 || got[0].Digest != "d-changed" {
		t.Errorf("applied %+v", got)
	}
}

func TestWatchOnce(t *testing.T) {
	for _, tt := range []struct {
		decision string
		want     wire.Outcome
	}{{"approve", wire.Approved}, {"always", wire.Approved}, {"reject", wire.Rejected}, {"timeout", wire.Withdrawn}, {"withdrawn", wire.Withdrawn}} {
		t.Run(tt.decision, func(t *testing.T) {
			b := newFakeBackend("s1")
			x := watch(t, start(t, b), true)
			b.ask(shellApproval("call_1", "ls"))
			x.expect(prompt)
			b.resolve("call_1", tt.decision, "web:bob")
			x.expect("by web:bob")
			x.ends(tt.want)
		})
	}
}

func TestWatchTellsThatTheAnswerWasTooLate(t *testing.T) {
	b := newFakeBackend("s1")
	r := start(t, b)
	x := watch(t, r, false)
	b.ask(shellApproval("call_1", "ls"))
	x.expect(prompt)
	b.mu.Lock()
	b.broken = gate.ErrNotPending
	b.mu.Unlock()
	x.types("y")
	x.expect("callgate says: no such approval is pending", prompt)
	x.types("s")
	x.expect(nothingWaits)
}

func TestWatchSurvivesALostConnection(t *testing.T) {
	b := newFakeBackend("s1")
	r := start(t, b)
	x := watch(t, r, false)
	b.ask(shellApproval("call_1", "ls"))
	x.expect(prompt)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	x.expect("The connection is lost; trying again.", nothingWaits)
	x.types("y")
	x.expect("No pending approvals.")
	next, err := Listen(Options{DataDir: r.dir, Address: ":0", Backend: Backend{Gate: b}, Credentials: r.credentials, Logger: r.Server.log})
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	x.expect("Connected to callgate", prompt)
	x.types("y")
	x.expect("was approved")
}

func TestCtrlCLeaves(t *testing.T) {
	b := newFakeBackend("s1")
	x := watch(t, start(t, b), false)
	b.ask(shellApproval("call_1", "ls"))
	x.expect(prompt)
	if _, err := x.keys.Write([]byte{3}); err != nil {
		t.Fatal(err)
	}
	x.ends(wire.Ended)
}

func TestRelay(t *testing.T) {
	b := newFakeBackend("s1")
	r := start(t, b)
	approver := dial(t, r.target())
	in, lines := io.Pipe()
	out, printed := io.Pipe()
	defer lines.Close()
	done := make(chan wire.Outcome, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		defer printed.Close()
		outcome, err := console.Relay(ctx, approver, in, printed, true)
		if err != nil {
			t.Error(err)
		}
		done <- outcome
	}()
	scanner := bufio.NewScanner(out)
	want := func(kind, has string) {
		t.Helper()
		for scanner.Scan() {
			var f wire.Head
			if err := json.Unmarshal(scanner.Bytes(), &f); err != nil {
				t.Fatalf("%s: %v", scanner.Bytes(), err)
			}
			if f.Type == kind {
				if !strings.Contains(scanner.Text(), has) {
					t.Errorf("%s does not have %s", scanner.Bytes(), has)
				}
				return
			}
		}
		t.Fatalf("no %s was printed", kind)
	}
	write := func(line string) {
		t.Helper()
		if _, err := io.WriteString(lines, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	want(wire.TypeAgentState, "idle")
	b.ask(approval("call_1"))
	want(wire.TypeToolApproveRequest, `"args":{"command":"git push","n":1.0e2}`)
	for line, code := range map[string]string{
		`{"type":"hello"}`:                   wire.CodeBadMessage,
		`nonsense`:                           wire.CodeBadMessage,
		`{"v":2,"type":"chat"}`:              wire.CodeProtocolMismatch,
		`{"type":"cancel","sessionId":"s9"}`: wire.CodeSessionNotFound,
		`{"type":"set_autonomy","sessionId":"s9","level":"MANUAL"}`: wire.CodeSessionNotFound,
	} {
		write(line)
		want(wire.TypeError, code)
	}
	write(`{"type":"agent_add","sessionId":"s1","role":"reviewer","name":"rev","permissions":{"*":"deny"}}`)
	want(wire.TypeTeamUpdate, `"agentId":"rev-00000001"`)
	want(wire.TypeAgentState, "idle") // the last of its consequences
	write(`{"type":"agent_remove","sessionId":"s1","agentId":"rev-00000001"}`)
	want(wire.TypeTeamUpdate, `"agents":[]`)
	want(wire.TypeAgentState, "idle")
	write("")
	write(`{"type":"tool_approve","sessionId":"s1","toolCallId":"call_1","argsDigest":"d-call_1","decision":"reject","feedback":"no"}`)
	want(wire.TypeToolApproveResolved, `"reject"`)
	if outcome := <-done; outcome != wire.Rejected {
		t.Errorf("outcome %v", outcome)
	}
}
