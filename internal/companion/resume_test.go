package companion

import (
	"errors"
	"testing"
	"time"

	"callgate/internal/testserver/waits"
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
	for deadline := time.After(waits.Limit); len(over) < 3 || len(ended) < 1; {
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

// TestAnAnswerWaitsForTheApprovalsProcess: a person answers what is on the screen while the next hub does not know it
// yet, because its process has not joined again. The hub would say that it does not wait, and what is shown again as it
// was is not delivered again, so nobody would answer it any more.
func TestAnAnswerWaitsForTheApprovalsProcess(t *testing.T) {
	s := start(t, newFakeBackend("s1"))
	b := newFakeBackend("s2")
	b.ask(approvalOf("s2", "call_1"))
	c := dial(t, s.target())
	await[*TeamUpdate](t, c, nil)
	shown, err := encode(approveRequest(approvalOf("s2", "call_1")))
	if err != nil {
		t.Fatal(err)
	}
	frame, err := decodeServer(shown)
	if err != nil {
		t.Fatal(err)
	}
	c.ledger.take(Event{Frame: frame, Raw: shown}) // by the hub before
	c.ledger.renewed()
	answer := ToolApprove{Head: Head{SessionID: "s2"}, ToolCallID: "call_1", ArgsDigest: "d-call_1", Decision: "approve"}
	if err := c.Answer(answer); !errors.Is(err, ErrNotBack) || !errors.Is(err, ErrClosed) {
		t.Errorf("the answer was sent to a hub that does not know the call: %v", err)
	}
	s.joined(t, b)
	meet(t, s, 1)
	for deadline := time.Now().Add(waits.Limit); ; time.Sleep(time.Millisecond) {
		err := c.Answer(answer)
		if err == nil {
			break
		}
		if !errors.Is(err, ErrNotBack) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	for {
		switch f := (<-c.Events()).Frame.(type) {
		case *ToolApproveRequest, *Error:
			t.Fatalf("%+v", f)
		case *ToolApproveResolved:
			if f.ToolCallID != "call_1" || f.Decision != "approve" {
				t.Errorf("%+v", f)
			}
			return
		case Connected, Disconnected:
			t.Fatalf("%+v", f)
		}
	}
}
