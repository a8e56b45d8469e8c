package tools

import (
	"testing"

	"callgate/permissions"
)

// What the rules of a benign case allow runs, with all that the gate makes of the text: files that it reads and writes,
// what an allow reaches, what the program does.
func TestBenignCorpus(t *testing.T) {
	place := Place{Dir: "/w/app", Roots: []string{"/w/app"}, Home: "/home/u"}
	for _, c := range shellCases(t, "benign") {
		if got := verdict(c.policy(t), analyze(t, KindShell, place, "command", c.Cmd)); got != permissions.Allow {
			t.Errorf("%s: %q: %v, want allow", c.ID, c.Cmd, got)
		}
	}
}
