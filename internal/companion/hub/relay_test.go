package hub

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

func TestFramesThatReadTwoWaysEndTheLink(t *testing.T) {
	for _, frame := range []string{
		`{"v":1,"type":"team_update","sessionId":"s9","sessionId":"s1","agents":[]}`,
		`{"v":1,"type":"team_update","sessionId":"s9","sessionID":"s1","agents":[]}`,
		`{"v":1,"type":"team_update","SessionId":"s1","agents":[]}`,
		`{"v":1,"Type":"team_update","sessionId":"s1","agents":[]}`,
		`{"v":1,"type":"tool_result","sessionId":"s9","args":{},"ToolCallId":"call_1"}`,
		`["team_update"]`, `{`, ``,
	} {
		if f, err := glance([]byte(frame)); err == nil {
			t.Errorf("%s reads as %+v", frame, f)
		}
	}
	f, err := glance([]byte(`{"v":1,"type":"team_update","sessionId":"s9","toolCallId":"c","args":{"a":1,"a":2,"sessionId":"s1"},"agents":[]}`))
	if want := (glimpse{"team_update", "s9", "c", true}); err != nil || f != want {
		t.Errorf("%+v, %v", f, err)
	}
}

// A tenant with too many questions does not hide those of the others.
func TestAFloodTakesNobodysPlace(t *testing.T) {
	gone, end := context.WithCancel(t.Context())
	end()
	r := &Relay{hub: &Hub{}, ctx: gone, owners: map[string]owned{}, counts: map[*Link]int{}}
	flood, small := &Link{relay: r, process: &Process{}}, &Link{relay: r, process: &Process{}}
	frame := func(session string, call int) []byte {
		return fmt.Appendf(nil, `{"v":1,"type":"tool_approve_request","sessionId":%q,"toolCallId":"%s-%d"}`, session, session, call)
	}
	n := 0
	for ; ; n++ {
		mine, err := flood.owns(frame("s1", n))
		if errors.Is(err, errFlood) {
			break
		}
		if !mine || err != nil || n > maxOwned {
			t.Fatalf("question %d: %t, %v", n, mine, err)
		}
	}
	if mine, err := small.owns(frame("s2", 0)); !mine || err != nil {
		t.Errorf("the other's question: %t, %v", mine, err)
	}
	if mine, err := small.owns(frame("s1", 0)); mine || err != nil {
		t.Errorf("another's question is its own: %t, %v", mine, err)
	}
	flood.retract()
	if len(r.owners) != 2 || len(r.counts) != 1 {
		t.Errorf("%d are left of %d processes", len(r.owners), len(r.counts))
	}
}
