package command

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/testserver/features"
)

// outcome is what a host on the official package for the extension reports about a call.
type outcome struct {
	Said string
	Took []string // the requests that it made, without repetitions
}

// runExtension makes such a host call tools of a server at that URL.
func runExtension(t *testing.T, url, token string, calls ...map[string]any) []outcome {
	t.Helper()
	text, err := json.Marshal(map[string]any{"url": url, "token": token, "calls": calls})
	if err != nil {
		t.Fatal(err)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, filepath.Join("..", "..", "testdata", "npm", "extension.mjs"), string(text))
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	var all []outcome
	if err == nil {
		err = json.Unmarshal(out, &all)
	}
	if err != nil || len(all) != len(calls) {
		t.Fatalf("%v: %s %s", err, out, said.String())
	}
	return all
}

// TestRealExtension has a host on the official package for the extension call tools whose calls become tasks: of a
// server that has the extension, directly and behind callgate, and of the reference server, whose tasks are those of
// 2025-11-25.
func TestRealExtension(t *testing.T) {
	t.Parallel()
	everything := npmServer(t, "server-everything")
	server := httptest.NewServer(features.ExtensionHandler())
	t.Cleanup(server.Close)
	calls := []map[string]any{
		{"tool": "greet", "arguments": map[string]any{"name": "x"}},
		{"tool": "slow_compute", "arguments": map[string]any{"seconds": 0.3}},
		{"tool": "failing_job", "arguments": map[string]any{}},
		{"tool": "protocol_error_job", "arguments": map[string]any{}},
		{"tool": "confirm_delete", "arguments": map[string]any{"filename": "f"}},
		{"tool": "multi_input", "arguments": map[string]any{}},
		{"tool": "test_tool_with_task", "arguments": map[string]any{}},
		{"tool": "slow_compute", "arguments": map[string]any{"seconds": 600}, "cancel": true},
	}
	// How often a task is seen working depends on how often it is polled. Only what must be seen is compared.
	once := func(all []outcome) []outcome {
		for i := range all {
			all[i].Took = slices.DeleteFunc(all[i].Took, func(r string) bool { return r == "tasks/get working" || strings.HasPrefix(r, "tools/list") })
		}
		return all
	}
	want := once(runExtension(t, server.URL, "", calls...))
	if want[4].Said != "accept true" || want[7].Said != "cancelled" || !slices.Contains(want[4].Took, "tasks/get input_required") {
		t.Fatalf("directly it went like this: %+v", want)
	}
	gate := serveConfigured(t, fmt.Sprintf("servers:\n  - {name: x, url: %q}\n  - {name: e, command: %q, args: [%q], era: legacy}\n", server.URL, everything[0], everything[1]))
	if diff := cmp.Diff(want, once(runExtension(t, gate.url+"/x", gate.token, calls...))); diff != "" {
		t.Errorf("-direct +gated:\n%s", diff)
	}
	research := runExtension(t, gate.url, gate.token, map[string]any{
		"tool": "e_simulate-research-query", "arguments": map[string]any{"topic": "gates", "ambiguous": true},
	})[0]
	if !strings.Contains(research.Said, "User accepted") || !slices.Contains(research.Took, "tools/call working") || !slices.Contains(research.Took, "tasks/get input_required") {
		t.Errorf("a task of 2025-11-25: %+v", research)
	}
}
