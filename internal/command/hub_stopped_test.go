//go:build unix

package command

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"callgate/internal/testserver/waits"
)

// TestTheHubIsStopped stops a hub, which keeps its lock and its address and answers nobody. The person's client moves
// to a process that answers, sees its calls, and hears that others cannot be seen. When the hub goes on, the client
// sees everything again.
func TestTheHubIsStopped(t *testing.T) {
	t.Parallel()
	data, sandbox := filepath.Join(t.TempDir(), "data"), t.TempDir()
	config := filepath.Join(data, "callgate.yaml")
	write(t, config, fmt.Sprintf(`{"servers": [{"name": "demo", "command": %q, "args": ["."], "package": "callgate-demo", "cwd": %q}]}`, filepath.Join(servers(t), "demo"), sandbox))
	if err := plainRules(filepath.Join(data, "workers", "default", "permissions.jsonc")); err != nil {
		t.Fatal(err)
	}
	program := callgateProgram(t)
	env := append(environment(t), "XDG_CONFIG_HOME="+t.TempDir())
	flags := []string{"--config", config, "--data-dir", data, "--listen", "127.0.0.1:0"}
	start := func(args ...string) *client {
		c, err := startClient(program, args, sandbox, env)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.kill)
		return c
	}
	hub := start(append([]string{"hub"}, flags...)...)
	awaitHub(t, data, 0)
	host := begin(t, program, append([]string{"run", "--timeout", "5m"}, flags...), env)
	if err := host.send(`{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"demo_shell_exec","arguments":{"command":"make it"}}}`); err != nil {
		t.Fatal(err)
	}
	person := start("approve", "--json", "--data-dir", data)
	await := func(what, pattern string, times int) {
		t.Helper()
		for deadline := time.Now().Add(patience); len(person.matches(pattern)) < times; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: not told\n%v\n%s", what, person.everything(), person.stderr.String())
			}
		}
	}
	const asked = `"tool_approve_request".*make it`
	await("the call through the hub", asked, 1)

	if err := hub.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	late := start("approve", "--json", "--data-dir", data)
	await("that calls elsewhere cannot be seen", `cannot be seen here.*"PROBLEM"`, 1)
	await("the call at its own process", asked, 2)
	waits.Until(t, "who came while the hub was stopped sees the call", func() bool { return len(late.matches(asked)) > 0 })
	if lines := late.everything(); !regexp.MustCompile(`cannot be seen here.*"PROBLEM"`).MatchString(lines[0]) {
		t.Errorf("who came while the hub was stopped took a part for the whole: %v", lines)
	}
	waits.Until(t, "companion.json names a companion that answers", func() bool {
		text, err := os.ReadFile(filepath.Join(data, "companion.json"))
		return err == nil && !strings.Contains(string(text), fmt.Sprintf(`"pid":%d,`, hub.cmd.Process.Pid))
	})
	t.Logf("the person saw the call again %v after the hub was stopped", time.Since(began).Round(time.Millisecond))

	if err := hub.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	await("the session through the hub again", `"team_update"`, 3) // the call is known, and not shown again
}
