package companion

import (
	"slices"
	"testing"

	"callgate/gate"
)

// Every agent of a session has a state of its own; the session's own agent has the whole session's.
func TestStatesOfAgents(t *testing.T) {
	r := roster{}
	team := func(agents ...gate.AgentInfo) gate.Event {
		return gate.SessionOpened{Info: gate.SessionInfo{ID: "s", Agent: "main", Status: "idle", Agents: append([]gate.AgentInfo{{ID: "main", Role: "main"}}, agents...)}}
	}
	asked := func(agent, id string) gate.Event {
		return gate.Asked{Approval: &gate.Approval{SessionID: "s", Agent: agent, ID: id}}
	}
	over := func(id string) gate.Event { return gate.Resolved{SessionID: "s", ID: id} }
	rev, fix := gate.AgentInfo{ID: "rev-1", Role: "reviewer", Status: "idle"}, gate.AgentInfo{ID: "fix-1", Role: "fixer", Status: "running"}
	for i, step := range []struct {
		event gate.Event
		want  []string
	}{
		{asked("main", "0"), nil}, // of a session that nobody knows
		{team(), []string{"main main idle"}},
		{team(rev), []string{"main main idle", "rev-1 reviewer idle"}},
		{asked("rev-1", "1"), []string{"main main waiting", "rev-1 reviewer waiting"}},
		{asked("main", "2"), nil},
		{over("1"), []string{"rev-1 reviewer idle"}},
		{gate.Started{SessionID: "s", Agent: "rev-1", ID: "1"}, []string{"rev-1 reviewer running"}},
		{over("2"), []string{"main main running"}},
		{asked("nobody", "3"), []string{"main main waiting"}}, // a profile of the configuration
		{over("3"), []string{"main main running"}},
		{gate.Finished{SessionID: "s", Agent: "rev-1", ID: "1"}, []string{"main main idle", "rev-1 reviewer idle"}},
		{team(fix), []string{"main main idle", "fix-1 fixer running"}}, // rev-1 is gone; what fix-1 runs began before
		{asked("rev-1", "4"), []string{"main main waiting"}},
		{gate.Finished{SessionID: "s", Agent: "fix-1", ID: "5"}, []string{"fix-1 fixer idle"}},
		{gate.SessionClosed{Info: gate.SessionInfo{ID: "s"}}, nil},
		{over("4"), nil},
	} {
		var got []string
		for _, f := range r.apply(step.event) {
			got = append(got, f.AgentID+" "+f.Role+" "+f.Status)
		}
		if !slices.Equal(got, step.want) {
			t.Errorf("step %d, %T: %q, want %q", i, step.event, got, step.want)
		}
	}
}
