package companion

import (
	"testing"
	"time"
)

// TestATakeoverIsNoEventForAClient: what waits is shown once, whoever the hub is; what ended meanwhile is told.
func TestATakeoverIsNoEventForAClient(t *testing.T) {
	first := start(t, newFakeBackend("s1"))
	first.backend.ask(approval("call_1")) // of the process that ends
	b := newFakeBackend("s2")
	b.ask(approvalOf("s2", "call_2"))
	b.ask(approvalOf("s2", "call_3"))
	first.joined(t, b)
	meet(t, first, 1)
	c := dial(t, first.target())
	for range 3 {
		await[*ToolApproveRequest](t, c, nil)
	}
	time.Sleep(resumeAfter)
	// An answer that does not arrive, as far as the client can know.
	c.ledger.answered("call_2")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	b.resolve("call_3", "timeout", "callgate")
	var over, ended []string
	failed := false
	for deadline := time.After(time.Minute); len(over) < 3 || len(ended) < 1; {
		select {
		case e := <-c.Events():
			switch f := e.Frame.(type) {
			case Connected, Disconnected, *ToolApproveRequest:
				t.Errorf("%T %s", f, e.Raw)
			case *ToolApproveResolved:
				over = append(over, f.ToolCallID+" "+f.Decision)
			case *TeamUpdate:
				if len(f.Agents) == 0 {
					ended = append(ended, f.SessionID)
				}
			case *Error:
				if f.ToolCallID == "call_2" && !failed {
					failed = true
					if err := c.Answer(ToolApprove{Head: Head{SessionID: "s2"}, ToolCallID: "call_2", ArgsDigest: "d-call_2", Decision: "approve"}); err != nil {
						t.Error(err)
					}
				}
			}
		case <-deadline:
			t.Fatalf("over are %v, ended %v", over, ended)
		}
	}
	if len(ended) != 1 || ended[0] != "s1" {
		t.Errorf("these sessions ended: %s", ended)
	}
	if !failed {
		t.Error("the client was not told that its answer may be lost")
	}
	if len(b.applied()) != 1 {
		t.Errorf("%d answers were applied", len(b.applied()))
	}
}
