package command

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	companionclient "callgate/internal/companion/client"
	"callgate/internal/companion/wire"
)

// TestClusterCost measures the cost of a cluster if CALLGATE_TEST_COST is set, for the figures in docs/cluster.md.
func TestClusterCost(t *testing.T) {
	if os.Getenv("CALLGATE_TEST_COST") == "" {
		t.Skip("it measures; set CALLGATE_TEST_COST=1")
	}
	const calls = 600
	medians := func(url, token string) time.Duration {
		s := &served{t: t, url: url, token: token}
		client := &http.Client{}
		session, err := s.connect(client)
		if err != nil {
			t.Fatal(err)
		}
		var took []time.Duration
		for i := range calls {
			began := time.Now()
			if err := s.call(client, session); err != nil {
				t.Fatal(err)
			}
			if i >= calls/6 {
				took = append(took, time.Since(began))
			}
		}
		slices.Sort(took)
		return took[len(took)/2]
	}
	alone := serve(t, "--listen", "127.0.0.1:0")
	team := startTeam(t, 3)
	team.startAll()
	first, third := team.members[0], team.members[2]
	for range 3 {
		t.Logf("p50 of an allowed call: %s without a cluster, %s at one of three replicas", medians(alone.url, alone.token), medians(first.at()+"/mcp", team.token(first)))
	}
	write(t, filepath.Join(alone.data, "workers", "default", "permissions.jsonc"), `{ "*": "allow", "demo_shell_exec": "ask" }`)
	here, there := newQuestioner(t, alone, alone.data), newQuestioner(t, &served{t: t, url: first.at() + "/mcp", token: team.token(first)}, third.data)
	for i := range 301 { // alternately, so that other load on the machine affects both alike
		here.ask(i)
		there.ask(i)
	}
	t.Logf("ask to frame, of 300 and one before: in one process %s, at another replica %s", here, there)
	for _, m := range team.members {
		if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.c.cmd.Process.Pid)); err == nil {
			for line := range strings.Lines(string(status)) {
				if strings.HasPrefix(line, "VmRSS") {
					t.Logf("%s: %s", m.name, strings.TrimSpace(line))
				}
			}
		}
	}
}

// questioner has a host at one place and a person at the same or another place. It measures how long questions take
// between them.
type questioner struct {
	*served
	host    *http.Client
	session string
	person  *companionclient.Client
	shown   []time.Duration
}

func newQuestioner(t *testing.T, s *served, data string) *questioner {
	t.Helper()
	person, err := companionclient.Dial(t.Context(), companionclient.Target{DataDir: data, Client: wire.ClientInfo{Name: "ada", Kind: "custom"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { person.Close() })
	host := &http.Client{}
	session, err := s.connect(host)
	if err != nil {
		t.Fatal(err)
	}
	return &questioner{served: s, host: host, session: session, person: person}
}

// ask makes the host ask, and the person approve.
func (a *questioner) ask(i int) {
	began := time.Now()
	done := make(chan error, 1)
	go func() {
		_, _, err := a.send(a.host, "POST", a.session, shellCall(fmt.Sprintf("echo %d", i)))
		done <- err
	}()
	for seen := false; !seen; {
		e, ok := <-a.person.Events()
		if !ok {
			a.t.Fatal("the person was cut off")
		}
		if f, ok := e.Frame.(*wire.ToolApproveRequest); ok {
			seen = true
			a.shown = append(a.shown, time.Since(began))
			if err := a.person.Answer(wire.ToolApprove{Head: wire.Head{SessionID: f.SessionID}, ToolCallID: f.ToolCallID, ArgsDigest: f.ArgsDigest, Decision: "approve"}); err != nil {
				a.t.Fatal(err)
			}
		}
	}
	if err := <-done; err != nil {
		a.t.Fatal(err)
	}
}

func (a *questioner) String() string {
	first, later := a.shown[0], slices.Sorted(slices.Values(a.shown[1:]))
	return fmt.Sprintf("first %s, p50 %s, p95 %s, p99 %s", first, later[len(later)/2], later[len(later)*95/100], later[len(later)*99/100])
}
