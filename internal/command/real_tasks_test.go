package command

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRealTasks has the reference server run a task that asks in the middle, directly and behind callgate on three
// transports, and compares what the host learns about it.
func TestRealTasks(t *testing.T) {
	t.Parallel()
	command, env := npmServer(t, "server-everything"), environment(t)
	want := runTask(t, beginWithTasks(t, command[0], command[1:], env), "")
	if len(want.statuses) < 3 || !strings.Contains(want.result, "User accepted") {
		t.Fatalf("directly the task went like this: %+v", want)
	}
	for transport, server := range everywhere(t, command, env) {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			got := runTask(t, beginWithTasks(t, callgateProgram(t), runsServer(t, allowAll, server), env), "s_")
			if diff := cmp.Diff(want.result, got.result); diff != "" {
				t.Errorf("the result (-direct +gated):\n%s", diff)
			}
			if diff := cmp.Diff(want.statuses, got.statuses); diff != "" {
				t.Errorf("the states (-direct +gated):\n%s", diff)
			}
		})
	}
}

// taskRun is what a host learns about a task.
type taskRun struct {
	statuses []string // announced statuses, without repetitions
	result   string   // without the name of the task
}

func beginWithTasks(t *testing.T, path string, args, env []string) *client {
	t.Helper()
	c, err := startClient(path, args, t.TempDir(), env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.kill)
	c.mu.Lock()
	c.answers = map[string]string{"elicitation/create": `"result":{"action":"accept","content":{}}`}
	c.mu.Unlock()
	response, err := c.request("init", "initialize", `{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"story","version":"1"}}`)
	if err != nil || !strings.Contains(string(response), `"tasks":{`) {
		t.Fatalf("the handshake: %s, %v", response, err)
	}
	if err := c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); err != nil {
		t.Fatal(err)
	}
	return c
}

func runTask(t *testing.T, c *client, prefix string) (run taskRun) {
	t.Helper()
	const tool = "simulate-research-query"
	untilListed(t, c, prefix+tool)
	ask := func(id, method, params string) (result struct {
		Task    struct{ TaskID string }
		Status  string
		Content []struct{ Text string }
	}) {
		t.Helper()
		response, err := c.request(id, method, params)
		var m struct{ Result json.RawMessage }
		if err == nil {
			err = json.Unmarshal(response, &m)
		}
		if err == nil {
			err = json.Unmarshal(m.Result, &result)
		}
		if err != nil {
			t.Fatalf("%s: %s, %v", method, response, err)
		}
		return result
	}
	id := ask("call", "tools/call", fmt.Sprintf(`{"name":%q,"arguments":{"topic":"gates","ambiguous":true},"task":{"ttl":60000}}`, prefix+tool)).Task.TaskID
	named := fmt.Sprintf(`{"taskId":%q}`, id)
	result := ask("result", "tasks/result", named)
	if len(result.Content) != 1 {
		t.Fatalf("the result is %+v", result)
	}
	run.result = result.Content[0].Text
	if status := ask("get", "tasks/get", named).Status; status != "completed" {
		t.Errorf("the task is %s", status)
	}
	for _, line := range c.everything() {
		var m struct {
			Method string
			Params struct{ TaskID, Status string }
		}
		if json.Unmarshal([]byte(line), &m) != nil || m.Method != "notifications/tasks/status" || m.Params.TaskID != id {
			continue
		}
		if n := len(run.statuses); n == 0 || run.statuses[n-1] != m.Params.Status {
			run.statuses = append(run.statuses, m.Params.Status)
		}
	}
	return run
}
