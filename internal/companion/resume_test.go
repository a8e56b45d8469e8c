package companion

import (
	"testing"
	"time"

	"callgate/internal/companion/wire"
	"callgate/internal/testserver/waits"
)

// TestATakeoverIsNoEventForAClient checks that a takeover shows pending approvals only once, and reports ended ones.
func TestATakeoverIsNoEventForAClient(t *testing.T) {
	first := start(t, newFakeBackend("s1"))
	first.backend.ask(approval("call_1")) // from the process that ends
	b := newFakeBackend("s2")
	b.ask(approvalOf("s2", "call_2"))
	b.ask(approvalOf("s2", "call_3"))
	first.joined(t, b)
	meet(t, first, 1)
	c := dial(t, first.target())
	for range 3 {
		await[*wire.ToolApproveRequest](t, c, nil)
	}
	time.Sleep(400 * time.Millisecond) // a connection that breaks sooner is not resumed
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	b.resolve("call_3", "timeout", "callgate")
	var over, ended []string
	for deadline := time.After(waits.Limit); len(over) < 2 || len(ended) < 1; {
		select {
		case e := <-c.Events():
			switch f := e.Frame.(type) {
			case wire.Connected, wire.Disconnected, *wire.ToolApproveRequest:
				t.Errorf("%T %s", f, e.Raw)
			case *wire.ToolApproveResolved:
				over = append(over, f.ToolCallID+" "+f.Decision)
			case *wire.TeamUpdate:
				if len(f.Agents) == 0 {
					ended = append(ended, f.SessionID)
				}
			}
		case <-deadline:
			t.Fatalf("over are %v, ended %v", over, ended)
		}
	}
	if len(ended) != 1 || ended[0] != "s1" {
		t.Errorf("these sessions ended: %s", ended)
	}
	answer := wire.ToolApprove{Head: wire.Head{SessionID: "s2"}, ToolCallID: "call_2", ArgsDigest: "d-call_2", Decision: "approve"}
	if err := c.Answer(answer); err != nil {
		t.Error(err)
	}
	if f := await[*wire.ToolApproveResolved](t, c, nil); f.ToolCallID != "call_2" || f.Decision != "approve" {
		t.Errorf("%+v", f)
	}
}
