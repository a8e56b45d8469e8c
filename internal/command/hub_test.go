package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/audit"
	companionclient "callgate/internal/companion/client"
	"callgate/internal/companion/wire"
	"callgate/internal/testserver/waits"
)

const (
	crowdProcesses = 20
	crowdCalls     = 5 // that wait in each process
	crowdAll       = crowdProcesses * crowdCalls
)

// TestTheHubIsKilled: twenty callgates, each with a host and a server, have a hundred calls wait. While a person
// answers them, the hub is killed twice: first a hub without a host, then one that serves a host, whose own calls are
// already answered. Every call is shown once and answered once, at one address.
func TestTheHubIsKilled(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it starts forty processes")
	}
	data, sandbox := filepath.Join(t.TempDir(), "data"), t.TempDir()
	config := filepath.Join(data, "callgate.yaml")
	write(t, config, fmt.Sprintf(`{"servers": [{"name": "demo", "command": %q, "args": ["."], "package": "callgate-demo", "cwd": %q}]}`, filepath.Join(servers(t), "demo"), sandbox))
	if err := plainRules(filepath.Join(data, "workers", "default", "permissions.jsonc")); err != nil {
		t.Fatal(err)
	}
	program := callgateProgram(t)
	env := append(environment(t), "XDG_CONFIG_HOME="+t.TempDir())
	flags := []string{"--config", config, "--data-dir", data, "--listen", "127.0.0.1:0"}

	hub, err := startClient(program, append([]string{"hub"}, flags...), sandbox, env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.kill)
	first := awaitHub(t, data, 0)
	hosts := make([]*client, crowdProcesses)
	for i := range hosts {
		h := begin(t, program, append([]string{"run", "--timeout", "5m"}, flags...), env)
		hosts[i] = h
		for j := range crowdCalls {
			if err := h.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"c%d","method":"tools/call","params":{"name":"demo_shell_exec","arguments":{"command":"echo %d-%d"}}}`, j, i, j)); err != nil {
				t.Fatal(err)
			}
		}
	}
	person, err := companionclient.Dial(t.Context(), companionclient.Target{DataDir: data, Client: wire.ClientInfo{Name: "ada", Kind: "custom"}})
	if err != nil {
		t.Fatal(err)
	}
	defer person.Close()
	c := crowd{t: t, person: person, data: data, asked: map[string]*question{}}
	c.until("all calls are shown", func() bool { return len(c.asked) == crowdAll })

	c.answer(20, "")
	c.until("the first answers count", func() bool { return c.over() == 20 })
	c.answer(10, "")
	began := time.Now()
	hub.kill()
	c.until("the next hub shows what there is", func() bool { return c.rostered.After(began) })
	t.Logf("the person saw the second hub %v after the first was killed", c.rostered.Sub(began).Round(time.Millisecond))
	second := awaitHub(t, data, first.PID)
	if second.Address != first.Address {
		t.Errorf("the second hub is at %s, the first was at %s", second.Address, first.Address)
	}
	at := slices.IndexFunc(hosts, func(h *client) bool { return h.cmd.Process.Pid == second.PID })
	if at < 0 {
		t.Fatalf("the second hub is process %d, which serves no host", second.PID)
	}
	leader, session := hosts[at], c.sessionOf(fmt.Sprintf("echo %d-", at))
	c.until("the calls of the second hub's host are over", func() bool {
		c.answer(crowdAll, session)
		return c.left(session) == 0
	})
	for j := range crowdCalls {
		if _, err := leader.response(fmt.Sprintf("c%d", j)); err != nil {
			t.Fatal(err)
		}
	}
	c.answer(10, "")
	began = time.Now()
	leader.kill()
	c.until("all calls are over", func() bool {
		c.answer(crowdAll, "")
		return c.over() == crowdAll
	})
	t.Logf("the person saw the third hub %v after the second was killed", c.rostered.Sub(began).Round(time.Millisecond))
	if third := awaitHub(t, data, second.PID); third.Address != first.Address {
		t.Errorf("the third hub is at %s, the first was at %s", third.Address, first.Address)
	}

	for id, q := range c.asked {
		unheard := q.shown == 0 && q.ended == 0 // the record, below, says how it ended
		if !unheard && (q.shown != 1 || q.ended != 1 || q.decision != "approve") {
			t.Errorf("%s was shown %d times and ended %d times, with %q", id, q.shown, q.ended, q.decision)
		}
	}
	for _, h := range hosts {
		for j := range crowdCalls {
			id := fmt.Sprintf("c%d", j)
			if response, err := h.response(id); err != nil || strings.Contains(string(response), `"isError":true`) {
				t.Errorf("%s %v", response, err)
			}
			if n := len(h.matches(`"id":"` + id + `"`)); n != 1 {
				t.Errorf("a call was answered %d times", n)
			}
		}
	}
	recorded := c.approved()
	for id := range c.asked {
		if recorded[id] != 1 {
			t.Errorf("%s is on record %d times", id, recorded[id])
		}
	}
}

// hubAt is what companion.json says about the hub.
type hubAt struct {
	PID     int
	Address string
}

// awaitHub waits until another process than before is announced as the hub.
func awaitHub(t *testing.T, data string, before int) (at hubAt) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		text, err := os.ReadFile(filepath.Join(data, "companion.json"))
		if err == nil && json.Unmarshal(text, &at) == nil && at.PID != before {
			return at
		}
		if time.Now().After(deadline) {
			t.Fatalf("no hub but process %d is announced: %s %v", before, text, err)
		}
	}
}

// question is one call as the person sees it.
type question struct {
	frame    *wire.ToolApproveRequest
	shown    int // how often
	sent     bool
	ended    int // how often
	decision string
}

// crowd is a person who answers what many processes ask.
type crowd struct {
	t        *testing.T
	data     string // directory
	person   *companionclient.Client
	asked    map[string]*question
	rostered time.Time // when a session was last shown, with which a new connection begins
}

// until handles events until done returns true. It calls done again after each event.
func (c *crowd) until(what string, done func() bool) {
	c.t.Helper()
	deadline := time.After(waits.Limit)
	for !done() {
		select {
		case e, ok := <-c.person.Events():
			if !ok {
				c.t.Fatalf("the events ended before %s", what)
			}
			c.take(e)
		case <-time.After(50 * time.Millisecond):
		case <-deadline:
			c.t.Fatalf("waited in vain: %s; %d shown, %d over", what, len(c.asked), c.over())
		}
	}
}

func (c *crowd) take(e wire.Event) {
	switch f := e.Frame.(type) {
	case wire.Disconnected, wire.Connected:
		c.t.Logf("%T: what was known is void", f)
		for _, q := range c.asked {
			if q.ended == 0 {
				q.shown, q.sent = 0, false
			}
		}
	case *wire.ToolApproveRequest:
		q := c.asked[f.ToolCallID]
		if q == nil {
			q = &question{}
			c.asked[f.ToolCallID] = q
		}
		q.frame, q.sent = f, false
		q.shown++
	case *wire.ToolApproveResolved:
		q := c.asked[f.ToolCallID]
		if q == nil {
			break
		}
		if f.Decision == "withdrawn" { // while the connection was renewed: an answer that counted, or the call is shown again
			c.t.Logf("%s: %s", f.ToolCallID, f.Reason)
			q.shown, q.sent = 0, false
			break
		}
		q.ended++
		q.decision = f.Decision
	case *wire.TeamUpdate:
		c.rostered = time.Now()
	case *wire.Error:
		c.t.Logf("%s: %s", f.Code, f.Message)
		if q := c.asked[f.ToolCallID]; q != nil && f.Code == wire.CodeInternal { // the call still waits
			q.sent = false
		}
	}
}

// answer approves up to n unanswered calls of one session, or of any for "".
func (c *crowd) answer(n int, session string) {
	for id, q := range c.asked {
		if n == 0 {
			return
		}
		if q.sent || q.ended > 0 || q.shown == 0 || session != "" && q.frame.SessionID != session {
			continue
		}
		err := c.person.Answer(wire.ToolApprove{
			Head: wire.Head{SessionID: q.frame.SessionID}, ToolCallID: id, ArgsDigest: q.frame.ArgsDigest, Decision: "approve",
		})
		if errors.Is(err, wire.ErrClosed) {
			return // between two hubs; the test answers again later
		}
		q.sent = err == nil
		n--
	}
}

// over counts the calls that have ended: the person heard so, or missed it between two hubs and it is on record.
func (c *crowd) over() (n int) {
	return len(c.asked) - c.open(func(*question) bool { return true })
}

// left counts the calls that wait in a session.
func (c *crowd) left(session string) (n int) {
	return c.open(func(q *question) bool { return q.frame.SessionID == session })
}

// open counts the calls that fit and have not ended.
func (c *crowd) open(fits func(*question) bool) (n int) {
	var recorded map[string]int
	for id, q := range c.asked {
		if q.ended > 0 || !fits(q) {
			continue
		}
		if q.shown == 0 && recorded == nil {
			recorded = c.approved()
		}
		if q.shown > 0 || recorded[id] == 0 {
			n++
		}
	}
	return n
}

// approved counts, by call, how often the trail says that the person approved it.
func (c *crowd) approved() map[string]int {
	c.t.Helper()
	recorded := map[string]int{}
	for r, err := range audit.Read(audit.Dir(c.data), audit.Filter{Limit: 10000}) {
		if err != nil {
			c.t.Fatal(err)
		}
		if r.Event == audit.Decision && r.Decision == "approved" && r.By == "custom:ada" {
			recorded[r.CallID]++
		}
	}
	return recorded
}

// sessionOf returns the session of the host whose commands contain what.
func (c *crowd) sessionOf(what string) string {
	for _, q := range c.asked {
		if strings.Contains(string(q.frame.Args), what) {
			return q.frame.SessionID
		}
	}
	c.t.Fatalf("no call has %q", what)
	return ""
}
