package config

import (
	"slices"
	"testing"
)

// A hook's matcher may mean each of callgate's own tools, and a call of call_tool is a call of another tool.
func TestKnownNamesHaveOwnTools(t *testing.T) {
	c, err := load(t, "servers: []\n")
	if err != nil {
		t.Fatal(err)
	}
	names, err := KnownNames(c)
	for name, known := range map[string]bool{"kb_list": true, "callgate_kb_remove": true, "callgate_rollback_checkpoint": true, "search": true, "rollback": false, "call_tool": false} {
		if err != nil || slices.Contains(names, name) != known {
			t.Errorf("%s: %v, in %q", name, err, names)
		}
	}
}
