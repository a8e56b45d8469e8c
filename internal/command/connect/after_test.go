package connect

import (
	"context"
	"strings"
	"testing"

	"callgate/internal/install"
)

// A plan without changes says whether there is nothing to do or no host to do it for.
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

// Ctrl-C answers no at once. What is typed after it is no answer.
func TestAgreed(t *testing.T) {
	for _, c := range []struct {
		answer string
		err    error
		want   bool
	}{{"y", nil, true}, {" YES", nil, true}, {"n", nil, false}, {"", nil, false}, {"", context.Canceled, false}} {
		var out strings.Builder
		ok, err := agreed(&out, c.answer, c.err)
		if ok != c.want || err != nil || strings.Contains(out.String(), "Nothing was changed.") == c.want {
			t.Errorf("%q: %v, %v: %s", c.answer, ok, err, out.String())
		}
	}
}
