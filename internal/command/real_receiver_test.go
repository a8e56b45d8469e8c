package command

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// received is what a host on the TypeScript SDK reports to have done for a server.
type received struct {
	Texts  []string
	Asked  []map[string]any
	IDs    []string
	States []string
}

// TestRealReceiver has the reference server give a host on the TypeScript SDK sampling and an elicitation as tasks,
// directly and behind callgate, with the server and then the host on each of three transports. It compares what both
// sides learn.
func TestRealReceiver(t *testing.T) {
	t.Parallel()
	command, env := npmServer(t, "server-everything"), environment(t)
	run := func(t *testing.T, prefix string, way map[string]any) received {
		t.Helper()
		way["prefix"], way["calls"] = prefix, []string{"trigger-sampling-request-async", "trigger-elicitation-request-async"}
		text, err := json.Marshal(way)
		if err != nil {
			t.Fatal(err)
		}
		node, err := exec.LookPath("node")
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), node, filepath.Join("..", "..", "testdata", "npm", "receiver.mjs"), string(text))
		cmd.Env = env
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.Output()
		var r received
		if err == nil {
			err = json.Unmarshal(out, &r)
		}
		if err != nil {
			t.Fatalf("%v: %s %s", err, out, said.String())
		}
		ids := regexp.MustCompile(`Task created: \S+`)
		for i, text := range r.Texts {
			for _, id := range r.IDs {
				if prefix != "" && strings.Contains(text, id) {
					t.Errorf("the server knows the host's own name of the task: %s", text)
				}
			}
			r.Texts[i] = regexp.MustCompile(`"taskId": "[^"]+"`).ReplaceAllString(ids.ReplaceAllString(text, "Task created: ID"), `"taskId": "ID"`)
		}
		r.IDs = nil
		return r
	}
	want := run(t, "", map[string]any{"command": command})
	if len(want.States) != 2 || !strings.Contains(want.Texts[0], "[COMPLETED]") || !strings.Contains(want.Texts[0], "sampled") || !strings.Contains(want.Texts[1], "Ada") {
		t.Fatalf("directly it went like this: %+v", want)
	}
	for transport, server := range everywhere(t, command, env) {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			got := run(t, "s_", map[string]any{"command": append([]string{callgateProgram(t)}, runsServer(t, allowAll, server)...)})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-direct +gated:\n%s", diff)
			}
		})
	}
	gate := serveConfigured(t, fmt.Sprintf("servers:\n  - {name: s, command: %q, args: [%q]}\n", command[0], command[1]))
	for kind, url := range map[string]string{"http": gate.url, "sse": strings.TrimSuffix(gate.url, "/mcp") + "/sse"} {
		t.Run("host over "+kind, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(want, run(t, "s_", map[string]any{"kind": kind, "url": url, "token": gate.token})); diff != "" {
				t.Errorf("-direct +gated:\n%s", diff)
			}
		})
	}
}
