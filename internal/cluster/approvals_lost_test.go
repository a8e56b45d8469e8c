package cluster

import (
	"encoding/json"
	"testing"
)

// An approval that a replica took over without hearing the answer to its write is taken over again.
func TestTakenOverUnheard(t *testing.T) {
	a := newApprovals(&Cluster{o: Options{Name: "r1"}, epoch: "e1"})
	change := func(rev uint64, replica, epoch string) bool {
		body, err := json.Marshal(entry{State: statePending, Replica: replica, Epoch: epoch})
		if err != nil {
			t.Fatal(err)
		}
		a.changed("ask.call.id", value{body: body, rev: rev})
		return a.orphan["ask.call.id"]
	}
	for _, c := range []struct {
		what, replica, epoch string
		orphan               bool
	}{
		{"asked here", "r1", "e1", false}, {"asked elsewhere", "r0", "e0", true}, {"taken over unheard", "r1", "e1", true},
	} {
		if got := change(1, c.replica, c.epoch); got != c.orphan {
			t.Errorf("%s: an orphan: %v", c.what, got)
		}
	}
	a.owned["id"] = held{key: "ask.call.id", rev: 1}
	if change(1, "r1", "e1") {
		t.Error("taken over and heard: an orphan")
	}
}
