//go:build unix

package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"callgate/internal/testserver/waits"
)

// A call that runs too long ends with an error that says so. A real server is told to cancel it, and stays alive.
func TestATimeoutLeavesTheServerAlive(t *testing.T) {
	t.Parallel()
	command, env := npmServer(t, "server-everything"), environment(t)
	dir := t.TempDir()
	sent := filepath.Join(dir, "sent")
	config, err := json.Marshal(map[string]any{
		"servers": []any{map[string]any{
			"name": "s", "command": "sh", "args": append([]string{"-c", `tee "$0" | { echo $$ > "$0.pid"; exec "$@"; }`, sent}, command...),
			"tools": []any{map[string]any{"name": "*", "risk": "READ_ONLY", "roles": []any{
				map[string]any{"argument": "duration", "role": "plain"}, map[string]any{"argument": "steps", "role": "plain"}, map[string]any{"argument": "message", "role": "plain"}}}},
		}},
		"limits": map[string]any{"timeouts": []any{map[string]any{"tool": "s_*", "after": "10m"}, map[string]any{"tool": "s_*long*", "after": "700ms"}}, "maxResultBytes": 300},
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "callgate.yaml")
	write(t, file, string(config))
	data := filepath.Join(dir, "data")
	write(t, filepath.Join(data, "workers", "default", "permissions.jsonc"), `{ "*": "allow" }`)
	c := begin(t, callgateProgram(t), []string{"run", "--config", file, "--data-dir", data, "--listen", "off", "--mode", "no-prompt"}, env)
	untilListed(t, c, "s_trigger-long-running-operation")

	began := time.Now()
	response, err := c.request("1", "tools/call", `{"name":"s_trigger-long-running-operation","arguments":{"duration":3600,"steps":3}}`)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(response); !strings.Contains(text, `"isError":true`) || !strings.Contains(text, "it ran longer than its limit of 700ms; the server was told to stop") {
		t.Errorf("the response is %s", text)
	}
	if took := time.Since(began); took < 700*time.Millisecond || took > waits.Limit {
		t.Errorf("it took %v", took)
	}
	waits.Until(t, "the server is told", func() bool {
		text, err := os.ReadFile(sent)
		return err == nil && strings.Contains(string(text), `"method":"notifications/cancelled"`)
	})

	// The same process answers the next call, whose result is cut because it is too large.
	text, err := os.ReadFile(sent + ".pid")
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || syscall.Kill(pid, 0) != nil {
		t.Fatalf("the server is gone: %v", err)
	}
	response, err = c.request("2", "tools/call", `{"name":"s_echo","arguments":{"message":"`+strings.Repeat("long ", 200)+`"}}`)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(response); !strings.Contains(text, "Echo: long long") || !strings.Contains(text, "(maxResultBytes)") || !strings.Contains(text, "ask for less") || len(text) > 900 {
		t.Errorf("the response is %s", text)
	}
	after, err := os.ReadFile(sent + ".pid")
	if err != nil || string(after) != strconv.Itoa(pid)+"\n" {
		t.Errorf("another process answered: %q, %v", after, err)
	}
}
