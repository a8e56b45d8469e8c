package gate

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"callgate/permissions"
)

const twoPersons = `{"*": "allow", "shell_exec": {"*": "allow", "npm publish *": {"action": "ask", "approvers": 2}}}`

func as(person string) func(*Answer) {
	return func(a *Answer) { a.Presence.Person, a.By = person, "web:"+person }
}

func TestTwoPersonsApprove(t *testing.T) {
	b := newBench(t, twoPersons, nil)
	end := b.decide(t.Context(), b.shell("1", "npm publish now"))
	a := b.waiting(1)[0]
	if a.Approvers != 2 || len(a.Marks) == 0 {
		t.Fatalf("people are not told: %+v", a)
	}
	for name, answer := range map[string]struct {
		decision string
		change   func(*Answer)
	}{
		"nobody in particular": {"approve", nil},
		"always":               {"always", as("alice")},
		"other arguments":      {"approve", func(a *Answer) { as("alice")(a); a.Arguments = json.RawMessage(`{"command":"npm publish later"}`) }},
	} {
		if err := b.answer(a, answer.decision, answer.change); !errors.Is(err, ErrAnswer) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := b.answer(a, "approve", as("alice")); !errors.Is(err, ErrAnother) {
		t.Fatalf("the first yes: %v", err)
	}
	if err := b.answer(a, "approve", as("alice")); !errors.Is(err, ErrAnother) {
		t.Fatalf("the first yes again: %v", err)
	}
	if a = b.waiting(1)[0]; len(a.ApprovedBy) != 1 || a.ApprovedBy[0] != "alice" || !strings.Contains(a.Reason, "alice approved, 1 more to go") {
		t.Errorf("people see %v, %q", a.ApprovedBy, a.Reason)
	}
	if err := b.answer(a, "approve", as("bob")); err != nil {
		t.Fatalf("the second yes: %v", err)
	}
	if d := <-end; d.verdict.Action != permissions.Allow || d.verdict.By != "web:bob" || d.verdict.Reason != "Approved by alice and bob." {
		t.Errorf("%+v", d.verdict)
	}

	end = b.decide(t.Context(), b.shell("2", "npm publish now"))
	a = b.waiting(1)[0]
	if err := b.answer(a, "approve", as("alice")); !errors.Is(err, ErrAnother) {
		t.Fatal(err)
	}
	if err := b.answer(a, "reject", nil); err != nil {
		t.Fatalf("one no is enough, whoever says it: %v", err)
	}
	if d := <-end; d.verdict.Action != permissions.Deny {
		t.Errorf("%+v", d.verdict)
	}
}

// Neither a level nor a mode replaces two persons.
func TestTwoPersonsUnderALevel(t *testing.T) {
	b := newBench(t, twoPersons, func(o *Options) { o.Autonomy, o.Mode = FullAuto, ModeAutoApprove })
	b.decide(t.Context(), b.shell("1", "npm publish now"))
	b.waiting(1)
}

// One person's yes no longer holds if the rules have come to want two.
func TestTwoPersonsSince(t *testing.T) {
	b := newBench(t, asking, nil)
	end := b.decide(t.Context(), b.shell("1", "npm publish now"))
	a := b.waiting(1)[0]
	b.write(twoPersons)
	if err := b.answer(a, "approve", as("alice")); err == nil {
		t.Error("it is applied")
	}
	if d := <-end; d.verdict.Action != permissions.Deny || !strings.Contains(d.verdict.Reason, "more persons") {
		t.Errorf("%+v", d.verdict)
	}
}

// A call that names another agent needs what the rules want for either agent.
func TestTwoPersonsForAnotherAgent(t *testing.T) {
	b := newBench(t, `{"*": "ask", "shell_exec": {"*": "ask", "npm publish *": {"action": "ask", "approvers": 2, "when": {"agent": "explore"}}}}`, func(o *Options) {
		o.Agents = []permissions.Agent{{Name: "explore"}}
	})
	call := b.shell("1", "npm publish now")
	call.Agent = "explore"
	end := b.decide(t.Context(), call)
	a := b.waiting(1)[0]
	if err := b.answer(a, "approve", as("alice")); !errors.Is(err, ErrAnother) {
		t.Fatalf("the first yes: %v", err)
	}
	if err := b.answer(b.waiting(1)[0], "approve", as("bob")); err != nil {
		t.Fatalf("the second yes: %v", err)
	}
	if d := <-end; d.verdict.Action != permissions.Allow {
		t.Errorf("%+v", d.verdict)
	}
}

// The first yes stays when the call is repeated in another session.
func TestTwoPersonsInTwoSessions(t *testing.T) {
	b := newBench(t, twoPersons, nil)
	call := b.shell("1", "npm publish now")
	call.HandOver = time.Millisecond
	<-b.decide(t.Context(), call)
	if err := b.answer(b.waiting(1)[0], "approve", as("alice")); !errors.Is(err, ErrAnother) {
		t.Fatalf("the first yes: %v", err)
	}
	var err error
	if b.session, err = b.gate.OpenSession("", nil); err != nil {
		t.Fatal(err)
	}
	call.ID, call.HandOver = "2", 0
	end := b.decide(t.Context(), call)
	for deadline := time.Now().Add(10 * time.Second); b.session.pending() == 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	a := b.waiting(1)[0]
	if len(a.ApprovedBy) != 1 || !strings.Contains(a.Reason, "alice approved, 1 more to go") {
		t.Errorf("people see %v, %q", a.ApprovedBy, a.Reason)
	}
	if err := b.answer(a, "approve", as("bob")); err != nil {
		t.Fatalf("the second yes: %v", err)
	}
	if d := <-end; d.verdict.Action != permissions.Allow {
		t.Errorf("%+v", d.verdict)
	}
}
