package command

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	companionclient "callgate/internal/companion/client"
	"callgate/internal/companion/wire"
)

// TestClusterCost measures what a cluster costs, where CALLGATE_TEST_COST is set: the figures of docs/cluster.md.
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
	alone := serve(t)
	team := startTeam(t, 3)
	team.startAll()
	first, third := team.members[0], team.members[2]
	for range 3 {
		t.Logf("p50 of an allowed call: %s without a cluster, %s at one of three replicas", medians(alone.url, alone.token), medians(first.at()+"/mcp", team.token(first)))
	}
	person, err := companionclient.Dial(t.Context(), companionclient.Target{DataDir: third.data, Client: wire.ClientInfo{Name: "ada", Kind: "custom"}})
	if err != nil {
		t.Fatal(err)
	}
	defer person.Close()
	var shown []time.Duration
	s := &served{t: t, url: first.at() + "/mcp", token: team.token(first)}
	for i := range 100 {
		client := &http.Client{}
		session, err := s.connect(client)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		done := make(chan error, 1)
		go func() {
			_, _, err := s.send(client, "POST", session, shellCall(fmt.Sprintf("echo %d", i)))
			done <- err
		}()
		for seen := false; !seen; {
			e := <-person.Events()
			if f, ok := e.Frame.(*wire.ToolApproveRequest); ok {
				seen = true
				shown = append(shown, time.Since(began))
				if err := person.Answer(wire.ToolApprove{Head: wire.Head{SessionID: f.SessionID}, ToolCallID: f.ToolCallID, ArgsDigest: f.ArgsDigest, Decision: "approve"}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.send(client, "DELETE", session, ""); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(shown)
	t.Logf("ask to frame at another replica, of %d: p50 %s, p99 %s", len(shown), shown[len(shown)/2], shown[len(shown)*99/100])
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
