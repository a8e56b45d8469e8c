package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	companionclient "callgate/internal/companion/client"
	"callgate/internal/testserver/waits"
)

// stateless makes a request at a replica as a host of the revision without sessions. session tells it from others with
// its token.
func (team *team) stateless(m *member, session, method, params string) ([]byte, error) {
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"h","version":"1"},` +
		`"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":{%s%s}}`, method, params, meta)
	r, err := http.NewRequestWithContext(team.t.Context(), "POST", m.at()+"/mcp", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header = http.Header{
		"Authorization": {"Bearer " + team.token(m)}, "Content-Type": {"application/json"}, "Accept": {"application/json"},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {method}, "Callgate-Session": {session},
	}
	var named struct{ Name, TaskID string }
	if err := json.Unmarshal([]byte("{"+strings.TrimSuffix(params, ",")+"}"), &named); err != nil {
		return nil, err
	}
	if name := named.Name + named.TaskID; name != "" {
		r.Header.Set("Mcp-Name", name)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}

// becomesTask makes a call that asks a person, and returns the id of the task that the call becomes.
func (team *team) becomesTask(m *member, command string) string {
	team.t.Helper()
	answer, err := team.stateless(m, "", "tools/call", fmt.Sprintf(`"name":"demo_shell_exec","arguments":{"command":%q},`, command))
	var task struct {
		Result struct{ TaskID string }
	}
	if err != nil || json.Unmarshal(answer, &task) != nil || task.Result.TaskID == "" {
		team.t.Fatalf("no task: %s, %v", answer, err)
	}
	return task.Result.TaskID
}

// TestStatelessAtAnyReplica sends the requests of hosts without sessions to one replica after another.
func TestStatelessAtAnyReplica(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts three callgates with a NATS each")
	}
	t.Parallel()
	team := startTeam(t, 3)
	config, err := os.ReadFile(team.config)
	if err != nil {
		t.Fatal(err)
	}
	const budget = 8
	write(t, team.config, fmt.Sprintf("%slimits: {callsPerTurn: %d, turnIdle: 1h}\n", config, budget))
	team.startAll()
	first, second, third := team.members[0], team.members[1], team.members[2]
	for _, m := range team.members[1:] {
		waits.Until(t, "all replicas have the same credentials", func() bool { return team.token(m) == team.token(first) })
	}
	look := func(m *member, task string) string {
		answer, err := team.stateless(m, "", "tasks/get", fmt.Sprintf(`"taskId":%q,`, task))
		if err != nil {
			t.Fatal(err)
		}
		return string(answer)
	}
	person := func(m *member) (w waiting) {
		waits.Until(t, "a person sees it", func() bool {
			list, _ := m.pending(t)
			if len(list) == 1 {
				w = list[0]
			}
			return len(list) == 1
		})
		return w
	}

	t.Run("a task opens anywhere", func(t *testing.T) {
		task := team.becomesTask(first, "echo task >> ran")
		for _, m := range team.members {
			if now := look(m, task); !strings.Contains(now, `"working"`) {
				t.Fatalf("at %s: %s", m.name, now)
			}
		}
		if err := second.answer(t, person(second), "approve"); err != nil {
			t.Fatal(err)
		}
		waits.Until(t, "it has ended, as a third replica sees it", func() bool { return strings.Contains(look(third, task), `"completed"`) })
		if ran := team.ran()["task"]; ran != 1 {
			t.Fatalf("it ran %d times", ran)
		}
		if now := look(second, "task-none"); !strings.Contains(now, "there is no such task") {
			t.Fatal(now)
		}
	})

	t.Run("a budget is one", func(t *testing.T) {
		ran := 0
		call := func(m *member) bool {
			answer, err := team.stateless(m, "budget", "tools/call", `"name":"demo_read_file","arguments":{"path":"hello.txt"},`)
			switch {
			case err != nil:
				t.Fatal(err)
			case bytes.Contains(answer, []byte("budget of 8 calls is used up")):
				return false
			case !bytes.Contains(answer, []byte("Hello")):
				t.Fatalf("%s", answer)
			}
			ran++
			return true
		}
		waits.Until(t, "the budget is used up everywhere", func() bool {
			more := false
			for _, m := range team.members {
				for call(m) {
					more = true
				}
			}
			return !more && ran >= budget
		})
		if ran != budget {
			t.Fatalf("%d calls ran of %d that may", ran, budget)
		}
	})

	t.Run("the status shows what is shared", func(t *testing.T) {
		var out string
		waits.Until(t, "every copy is current", func() (current bool) {
			var err error
			out, err = team.command(second, "cluster", "status")
			return err == nil
		})
		if !strings.Contains(out, "pins 1") || !strings.Contains(out, "limits counted together") || strings.Contains(out, "; 0 limits") {
			t.Fatal(out)
		}
	})

	t.Run("a level holds everywhere", func(t *testing.T) {
		person := companionclient.Target{DataDir: first.data}
		open := func() map[string]bool {
			var answer struct{ Sessions []struct{ SessionID string } }
			if err := person.Ask(t.Context(), "GET", "/api/sessions", nil, &answer); err != nil {
				t.Fatal(err)
			}
			ids := map[string]bool{}
			for _, s := range answer.Sessions {
				ids[s.SessionID] = true
			}
			return ids
		}
		read := func(m *member) string {
			answer, err := team.stateless(m, "levels", "tools/call", `"name":"demo_read_file","arguments":{"path":"hello.txt"},`)
			if err != nil {
				t.Fatal(err)
			}
			return string(answer)
		}
		before := open()
		for _, m := range []*member{second, first} {
			if answer := read(m); !strings.Contains(answer, "Hello") {
				t.Fatal(answer)
			}
		}
		waits.Until(t, "both sessions are shown", func() bool { return len(open()) == len(before)+2 })
		for id := range open() {
			if before[id] {
				continue
			}
			if err := person.Ask(t.Context(), "PUT", "/api/sessions/"+id+"/autonomy", map[string]string{"level": "MANUAL"}, nil); err != nil {
				t.Fatal(err)
			}
			break
		}
		for _, m := range team.members {
			waits.Until(t, m.name+" asks", func() bool { return strings.Contains(read(m), "taskId") })
		}
	})

	t.Run("a task of a dead replica is lost", func(t *testing.T) {
		task := team.becomesTask(first, "echo lost >> ran")
		waits.Until(t, "another replica tells of it", func() bool { return strings.Contains(look(second, task), `"working"`) })
		team.kill(first)
		waits.Until(t, "the host is told that it is lost", func() bool { return strings.Contains(look(second, task), "the task is lost") })
	})
}
