package cluster

import (
	"encoding/json"
	"testing"
)

// If a replica takes over an approval without hearing the answer to its write, it takes it over again.
func TestTakenOverUnheard(t *testing.T) {
	a := newApprovals(&Cluster{o: Options{Name: "r1"}, epoch: "e1"})
	change := func(state, replica, epoch string) bool {
		body, err := json.Marshal(entry{State: state, Replica: replica, Epoch: epoch})
		if err != nil {
			t.Fatal(err)
		}
		a.changed("ask.call.id", value{body: body, rev: 1})
		return a.orphan["ask.call.id"]
	}
	for _, c := range []struct {
		what, state, replica, epoch string
		orphan                      bool
	}{
		{"asked here", statePending, "r1", "e1", false}, {"asked elsewhere", statePending, "r0", "e0", true},
		{"taken over unheard", statePending, "r1", "e1", true}, {"and claimed by a call that runs here", stateClaimed, "r1", "e1", false},
		{"asked elsewhere", statePending, "r0", "e0", true}, {"taken over unheard", statePending, "r1", "e1", true},
	} {
		if got := change(c.state, c.replica, c.epoch); got != c.orphan {
			t.Errorf("%s: an orphan: %v", c.what, got)
		}
	}
	a.owned["id"] = held{key: "ask.call.id", rev: 1}
	if change(statePending, "r1", "e1") {
		t.Error("taken over and heard: an orphan")
	}
}
