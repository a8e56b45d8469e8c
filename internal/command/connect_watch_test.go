package command

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/command/connect"
	"callgate/internal/install"
)

// TestBesideMeansThatItMoves keeps --watch --yes from trying again and again to move what cannot be changed.
func TestBesideMeansThatItMoves(t *testing.T) {
	for name, c := range map[string]struct {
		change install.Change
		want   bool
	}{
		"it moves":                    {install.Change{After: []byte("x"), Servers: []install.Found{{Name: "a"}}}, true},
		"it stays":                    {install.Change{After: []byte("x"), Servers: []install.Found{{Name: "a", Stays: "it is disabled"}}}, false},
		"the file cannot be read":     {install.Change{Error: "no", Servers: []install.Found{{Name: "a"}}}, false},
		"the file would be as it was": {install.Change{Servers: []install.Found{{Name: "a"}}}, false},
	} {
		if got := connect.HasUngated(&install.Plan{Hosts: []install.HostPlan{{Changes: []install.Change{c.change}}}}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A server that appears while the files of hosts are read is reported too.
func TestWatchMissesNoServer(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	hosts := filepath.Join(home, ".cursor", "mcp.json")
	if err := os.Mkdir(filepath.Dir(hosts), 0o700); err != nil {
		t.Fatal(err)
	}
	has := func(server string) {
		if err := os.WriteFile(hosts, []byte(`{"mcpServers":{"`+server+`":{"command":"`+server+`"}}}`), 0o600); err != nil {
			t.Error(err)
		}
	}
	for _, more := range [][]string{nil, {"--json"}} {
		has("early")
		ctx, end := context.WithTimeout(t.Context(), patience)
		defer end()
		late := false
		root, _ := newRootCommand()
		root.SetOut(lineWriter{func(line string) {
			if json.Valid([]byte(line)) != (more != nil) {
				t.Errorf("%v prints %s", more, line)
			}
			switch {
			case strings.Contains(line, `"early"`):
				has("late")
			case strings.Contains(line, `"late"`):
				late = true
				end()
			}
		}})
		root.SetArgs(append([]string{"connect", "cursor", "--watch", "--no-hooks", "--data-dir", t.TempDir()}, more...))
		if err := root.ExecuteContext(ctx); err != nil || !late {
			t.Errorf("%v, the second server was seen: %v", err, late)
		}
	}
}
