package companion

import (
	"slices"
	"testing"

	"callgate/audit"
	"callgate/gate"
	"callgate/internal/companion/wire"
)

// Every agent of a session has its own state. The session's own agent has the state of the whole session.
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
		{asked("main", "0"), nil}, // from an unknown session
		{team(), []string{"main main idle"}},
		{team(rev), []string{"main main idle", "rev-1 reviewer idle"}},
		{asked("rev-1", "1"), []string{"main main waiting", "rev-1 reviewer waiting"}},
		{asked("main", "2"), nil},
		{over("1"), []string{"rev-1 reviewer idle"}},
		{gate.Started{SessionID: "s", Agent: "rev-1", ID: "1"}, []string{"rev-1 reviewer running"}},
		{over("2"), []string{"main main running"}},
		{asked("nobody", "3"), []string{"main main waiting"}}, // a profile from the configuration
		{over("3"), []string{"main main running"}},
		{gate.Finished{SessionID: "s", Agent: "rev-1", ID: "1"}, []string{"main main idle", "rev-1 reviewer idle"}},
		{team(fix), []string{"main main idle", "fix-1 fixer running"}}, // rev-1 is gone; fix-1 was already running something
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

// An agent is thinking if all its calls go to the host's model.
func TestRosterThinks(t *testing.T) {
	r := roster{}
	r.apply(gate.SessionOpened{Info: gate.SessionInfo{ID: "s1", Agent: "main", Status: "idle"}})
	for _, step := range []struct {
		event gate.Event
		want  string
	}{
		{gate.Started{SessionID: "s1", Agent: "main", ID: "a", Thinks: true}, "thinking"},
		{gate.Started{SessionID: "s1", Agent: "main", ID: "b"}, "running"},
		{gate.Finished{SessionID: "s1", Agent: "main", ID: "b"}, "thinking"},
		{gate.Finished{SessionID: "s1", Agent: "main", ID: "a"}, "idle"},
	} {
		if got := r.apply(step.event); len(got) != 1 || got[0].Status != step.want {
			t.Errorf("%+v: %+v, want %s", step.event, got, step.want)
		}
	}
}

// A call that would raise privileges is refused without asking, and everybody is told.
func TestEscalationIsBroadcast(t *testing.T) {
	refused := audit.Record{Event: audit.Decision, SessionID: "s1", CallID: "call_1", Risk: "ESCALATION", Decision: gate.DecidedRejected, By: "risk", Reason: "The call gains privileges."}
	approved, person := refused, refused
	approved.Decision, person.By = "approved", "web:alice"
	for name, tt := range map[string]struct {
		record audit.Record
		errors int
	}{"refused": {refused, 1}, "approved": {approved, 0}, "a person's no": {person, 0}} {
		told := 0
		for _, frame := range frames(gate.Recorded{Record: tt.record}) {
			if e, ok := frame.(wire.Error); ok {
				told++
				if e.Code != wire.CodeEscalation || e.ToolCallID != "call_1" || e.Message == "" {
					t.Errorf("%+v", e)
				}
			}
		}
		if told != tt.errors {
			t.Errorf("%s: %d errors", name, told)
		}
	}
}

func TestStrategy(t *testing.T) {
	one := gate.SessionInfo{ID: "s1", Tools: []string{"a_b"}, Agents: []gate.AgentInfo{{ID: "main", Name: "m"}}}
	if f := teamUpdate(one); f.Strategy != "single" || f.Agents[0].Name != "m" || len(f.Agents[0].Tools) != 1 {
		t.Errorf("%+v", f)
	}
	one.Agents = append(one.Agents, gate.AgentInfo{ID: "rev"})
	if f := teamUpdate(one); f.Strategy != "delegate" {
		t.Errorf("%+v", f)
	}
}
