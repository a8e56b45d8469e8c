package command

import (
	"testing"

	"callgate/internal/command/connect"
	"callgate/internal/install"
)

// TestBesideMeansThatItMoves holds --watch --yes back from taking in, again and again, what cannot be changed.
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
		if got := connect.Beside(&install.Plan{Hosts: []install.HostPlan{{Changes: []install.Change{c.change}}}}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
