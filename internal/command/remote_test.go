package command

import (
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/testserver/waits"
)

// TestRealServersBehindURLs compares the reference server over stdio with the same server over both kinds of HTTP
// behind callgate, byte for byte.
func TestRealServersBehindURLs(t *testing.T) {
	t.Parallel()
	command, env := npmServer(t, "server-everything"), environment(t)
	// These depend on the process that they run in.
	exchanges := slices.DeleteFunc(everything(), func(e exchange) bool {
		return strings.Contains(e.params, `"get-env"`) || strings.Contains(e.params, `"toggle-`)
	})
	const last = "simulate-research-query"
	c := direct(t, env, command...)
	untilListed(t, c, last)
	want := askAll(t, c, exchanges, "")
	wantSteps := longRunning(t, c, "")
	for transport, path := range map[string]string{"streamableHttp": "/mcp", "sse": "/sse"} {
		t.Run(transport, func(t *testing.T) {
			address := listening(t, append(slices.Clone(command), transport), env)
			c := routed.reach(t, env, "http://"+address+path)
			untilListed(t, c, routed.prefix+last)
			got := askAll(t, c, exchanges, routed.prefix)
			steps := longRunning(t, c, routed.prefix)
			compare(t, exchanges, want, got, routed.prefix)
			if diff := cmp.Diff(wantSteps, steps); diff != "" {
				t.Errorf("notifications and result of a long-running tool (-direct +gated):\n%s", diff)
			}
		})
	}
}

// listening starts a server that takes its port from the environment, and returns its address once it listens.
func listening(t *testing.T, command, env []string) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(slices.Clone(env), "PORT="+port)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(waits.Limit); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			return address
		}
	}
	t.Fatal("the server does not listen")
	return ""
}

// reach starts callgate with the server at that address behind it.
func (b behind) reach(t *testing.T, env []string, address string) *client {
	t.Helper()
	data := t.TempDir()
	write(t, filepath.Join(data, "workers", "default", "permissions.jsonc"), allowAll)
	config := filepath.Join(data, "callgate.yaml")
	write(t, config, fmt.Sprintf("servers: [{name: s, url: %q}]", address))
	return begin(t, callgateProgram(t), []string{"run", "--config", config, "--data-dir", data, "--listen", "off", "--mode", "no-prompt"}, env)
}
