package client

import (
	"errors"
	"testing"

	"callgate/internal/companion/wire"
)

// asked returns an approval as the server shows it.
func asked(t *testing.T, id string) wire.Event {
	t.Helper()
	raw, err := wire.Encode(wire.ToolApproveRequest{Head: wire.NewHead(wire.TypeToolApproveRequest, "s1"), ToolCallID: id, ArgsDigest: "d"})
	if err != nil {
		t.Fatal(err)
	}
	frame, err := wire.DecodeServer(raw)
	if err != nil {
		t.Fatal(err)
	}
	return wire.Event{Frame: frame, Raw: raw}
}

// An answer that was being sent when the connection broke may be lost. If the call still waits, the person is told.
func TestALostAnswerIsTold(t *testing.T) {
	var l ledger
	if got := l.take(asked(t, "call_1")); len(got) != 1 {
		t.Fatalf("%+v", got)
	}
	if err := l.answered("call_1"); err != nil {
		t.Fatal(err)
	}
	l.renewed()
	got := l.take(asked(t, "call_1"))
	if len(got) != 1 {
		t.Fatalf("%+v", got)
	}
	if e, ok := got[0].Frame.(*wire.Error); !ok || e.ToolCallID != "call_1" || e.SessionID != "s1" {
		t.Errorf("%+v", got[0].Frame)
	}
	if over := l.settle(); len(over) != 0 {
		t.Errorf("what still waits is said to be over: %+v", over)
	}
}

// A person may answer an approval that the next hub does not know yet, because its process has not rejoined. The hub
// would say that it is not pending. Since an unchanged approval is not delivered again, nobody would answer it any
// more.
func TestAnAnswerWaitsForTheApprovalsProcess(t *testing.T) {
	var l ledger
	l.take(asked(t, "call_1"))
	l.take(asked(t, "call_2"))
	l.renewed()
	if err := l.answered("call_1"); !errors.Is(err, wire.ErrNotBack) || !errors.Is(err, wire.ErrClosed) {
		t.Errorf("the answer would go to a hub that does not know the call: %v", err)
	}
	if got := l.take(asked(t, "call_1")); len(got) != 0 {
		t.Errorf("it was delivered twice: %+v", got)
	}
	if err := l.answered("call_1"); err != nil {
		t.Error(err)
	}
	over := l.settle()
	if len(over) != 1 {
		t.Fatalf("%+v", over)
	}
	if f, ok := over[0].Frame.(*wire.ToolApproveResolved); !ok || f.ToolCallID != "call_2" || f.Decision != "withdrawn" {
		t.Errorf("%+v", over[0].Frame)
	}
}
