package connect

import (
	"strings"
	"testing"

	"callgate/internal/install"
)

// A plan without changes says whether there is nothing to do, or nobody to do it for.
func TestNothing(t *testing.T) {
	found := &install.Plan{Hosts: []install.HostPlan{{ID: "zed", Found: true}, {ID: "codex"}}}
	none := &install.Plan{Hosts: []install.HostPlan{{ID: "zed"}, {ID: "codex"}}}
	for _, c := range []struct {
		plan *install.Plan
		args []string
		want string
	}{
		{found, nil, "Nothing to change."},
		{none, nil, "No host was found on this machine. callgate knows claude, "},
		{none, []string{"zed", "codex"}, "Not found on this machine: zed, codex."},
	} {
		if got := nothing(c.plan, c.args); !strings.HasPrefix(got, c.want) {
			t.Errorf("%v: %s", c.args, got)
		}
	}
}
