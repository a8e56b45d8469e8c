package provenance

import (
	"fmt"
	"testing"

	"callgate/gate/internal/facts"
	"callgate/gate/tools"
	"callgate/internal/flow"
	"callgate/permissions"
)

// TestMadeFilesAreNotForgotten makes so many files of untrusted text that they are not remembered one by one.
func TestMadeFilesAreNotForgotten(t *testing.T) {
	var s Session
	call := facts.Of(tools.Call{Tool: &tools.Tool{Qualified: "shell_exec"}})
	fetch := tools.CommandView{Argv: []string{"curl"}, Risk: permissions.Network}
	runs := &tools.Analysis{Subjects: []permissions.Subject{{Runs: []string{"/w/last.sh"}}}}
	for i := range maxMade {
		s.makes(fmt.Sprint(i), call, &tools.Analysis{Commands: []tools.CommandView{fetch}, Writes: []tools.Written{{Path: fmt.Sprintf("/w/%d", i)}}}, origin{label: flow.Untrusted})
	}
	trusts := func(string) bool { return false }
	if _, _, ok := s.runsMade(runs, trusts); ok {
		t.Error("a file that the session has not made counts")
	}
	s.makes("last", call, &tools.Analysis{Commands: []tools.CommandView{fetch}, Writes: []tools.Written{{Path: "/w/last.sh"}}}, origin{label: flow.Untrusted})
	if _, _, ok := s.runsMade(runs, trusts); !ok {
		t.Error("the last file does not count")
	}
}
