package connect

import (
	"context"
	"fmt"
	"os"
	"runtime"
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

// Ctrl-C answers no at once; what is typed after it answers nothing.
func TestAgreed(t *testing.T) {
	for _, c := range []struct {
		typed string
		ends  bool
		want  bool
	}{{"y\n", false, true}, {" YES\n", false, true}, {"n\n", false, false}, {"\n", false, false}, {"", true, false}} {
		if c.ends && runtime.GOOS == "windows" {
			continue // only a console can be left there
		}
		in, keys, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if c.ends {
			cancel()
		}
		fmt.Fprint(keys, c.typed)
		var out strings.Builder
		ok, err := agreed(ctx, in, &out, "Make these changes?")
		if ok != c.want || err != nil || strings.Contains(out.String(), "Nothing was changed.") == c.want {
			t.Errorf("%q: %v, %v: %s", c.typed, ok, err, out.String())
		}
		cancel()
		keys.Close()
		in.Close()
	}
}
