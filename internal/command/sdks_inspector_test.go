package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/internal/testserver/waits"
)

// TestInspector has the CLI of the MCP Inspector list the tools and call one, over every transport with every server of
// TestSDKs. `make conformance` installs the Inspector and the newer Node.js that it needs, and runs this test.
func TestInspector(t *testing.T) {
	npm, err := filepath.Abs(filepath.Join("..", "..", "testdata", "conformance", "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	inspector := []string{filepath.Join(npm, "node", "bin", "node"), filepath.Join(npm, "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")}
	for _, file := range inspector {
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			t.Skip("the Inspector is not installed: `make conformance` does it")
		}
	}
	upstreams := sdkUpstreams(t, npmServer(t, "server-everything"))
	g := newSDKGates(t, upstreams, func(config string) *served { return serveConfigured(t, config) })
	entries := map[string]any{}
	doors := sdkDoors(g, sdkClient{}, upstreams, sdkKinds...)
	for i, d := range doors {
		entry := map[string]any{"type": d.Kind, "url": d.URL, "headers": map[string]string{"Authorization": "Bearer " + d.Token}}
		switch d.Kind {
		case "stdio":
			entry = map[string]any{"command": d.Command[0], "args": d.Command[1:]}
		case "http":
			entry["type"] = "streamable-http"
		}
		entries[fmt.Sprint(i)] = entry
	}
	text, err := json.Marshal(map[string]any{"mcpServers": entries})
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	config := filepath.Join(home, "servers.json")
	write(t, config, string(text))
	busy := make(chan struct{}, 3)
	for i, d := range doors {
		t.Run(d.Kind+" "+upstreams[i%len(upstreams)].name, func(t *testing.T) {
			t.Parallel()
			busy <- struct{}{}
			defer func() { <-busy }()
			inspect := func(args ...string) (answer []byte) {
				ctx, cancel := context.WithTimeout(t.Context(), sdkCell)
				defer cancel()
				cmd := exec.CommandContext(ctx, inspector[0], append([]string{inspector[1], "--cli", "--config", config, "--server", fmt.Sprint(i)}, args...)...)
				cmd.Env = append(slices.Clone(os.Environ()), "HOME="+home, "MCP_INSPECTOR_SECRET_STORE=memory")
				var said strings.Builder
				cmd.Stderr = &said
				answer, err := cmd.Output()
				if err != nil {
					t.Fatalf("%v: %s\n%s", err, answer, &said)
				}
				return answer
			}
			c := d.Calls[0]
			// The Inspector does not wait for a server that starts for the first time.
			waits.Until(t, d.Prefix+c.Tool+" is offered", func() bool {
				var list struct{ Tools []struct{ Name string } }
				if err := json.Unmarshal(inspect("--method", "tools/list"), &list); err != nil {
					t.Fatal(err)
				}
				return slices.ContainsFunc(list.Tools, func(tool struct{ Name string }) bool { return tool.Name == d.Prefix+c.Tool })
			})
			call := []string{"--method", "tools/call", "--tool-name", d.Prefix + c.Tool}
			for name, value := range c.Arguments {
				call = append(call, "--tool-arg", fmt.Sprintf("%s=%v", name, value))
			}
			var result struct{ Content json.RawMessage }
			if err := json.Unmarshal(inspect(call...), &result); err != nil {
				t.Fatal(err)
			}
			o := sdkOutcome{Results: []sdkResult{{Content: string(result.Content)}}}
			if err := o.judge(d.Calls[:1], sdkClient{codes: true}); err != nil {
				t.Error(err)
			}
		})
	}
}
