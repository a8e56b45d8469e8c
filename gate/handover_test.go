package gate

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callgate/audit"
	"callgate/permissions"
)

// inSynctest runs a story about a call that is handed over after 50 s, in a bubble with fake time.
func inSynctest(t *testing.T, story func(t *testing.T, b *bench, call Call)) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "approvals")
		b := newBench(t, asking, func(o *Options) { o.Dir = dir })
		call := b.shell("1", "make")
		call.HandOver = 50 * time.Second
		story(t, b, call)
	})
}

func TestHandedOverAndRepeatedWhilePending(t *testing.T) {
	inSynctest(t, func(t *testing.T, b *bench, call Call) {
		first := <-b.decide(t.Context(), call)
		if first.verdict.Decision != DecidedPending || !strings.Contains(first.verdict.Reason, "Repeat the same call") {
			t.Fatalf("handed over as %s: %s", first.verdict.Decision, first.verdict.Reason)
		}
		shown := b.gate.Pending()
		if len(shown) != 1 || shown[0].ID != "1" {
			t.Fatalf("after the hand-over %d approvals are pending", len(shown))
		}
		call.ID = "2"
		again := b.decide(t.Context(), call)
		synctest.Wait()
		if n := len(b.gate.Pending()); n != 1 {
			t.Fatalf("the repeat made it %d approvals", n)
		}
		if err := b.answer(shown[0], "approve", nil); err != nil {
			t.Fatal(err)
		}
		if d := <-again; d.verdict.Action != permissions.Allow || d.call.ID != "2" {
			t.Errorf("the repeat: %s, call %s", d.verdict.Decision, d.call.ID)
		}
	})
}

// A call that comes again under its id in another session leaves the waiting call as it is.
func TestRepeatedUnderItsIDElsewhere(t *testing.T) {
	inSynctest(t, func(t *testing.T, b *bench, call Call) {
		call.HandOver = 0
		first := b.decide(t.Context(), call)
		synctest.Wait()
		other, err := b.gate.OpenSession("", nil)
		if err != nil {
			t.Fatal(err)
		}
		if v, _ := b.gate.Decide(t.Context(), other, call); v.Decision != DecidedPending {
			t.Errorf("the repeat: %s: %s", v.Decision, v.Reason)
		}
		shown := b.gate.Pending()
		if len(shown) != 1 || shown[0].SessionID != b.session.ID() {
			t.Fatalf("pending: %+v", shown)
		}
		if err := b.answer(shown[0], "approve", nil); err != nil {
			t.Fatal(err)
		}
		if d := <-first; d.verdict.Action != permissions.Allow {
			t.Errorf("the first: %s: %s", d.verdict.Decision, d.verdict.Reason)
		}
	})
}

// No other client claims what people approve for one, whether they have decided or are still asked.
func TestHandedOverForOnePrincipal(t *testing.T) {
	inSynctest(t, func(t *testing.T, b *bench, call Call) {
		call.Principal, call.HandOver = "laptop", time.Second
		<-b.decide(t.Context(), call)
		session, err := b.gate.OpenSession("", nil)
		if err != nil {
			t.Fatal(err)
		}
		foreign := call
		foreign.ID, foreign.SessionID, foreign.Principal = "2", session.ID(), "ci"
		if v, _ := b.gate.Decide(t.Context(), session, foreign); v.Decision != DecidedPending {
			t.Errorf("another client: %s: %s", v.Decision, v.Reason)
		}
		pending := b.gate.Pending()
		if len(pending) != 2 {
			t.Fatalf("%d approvals are pending, want one of each client", len(pending))
		}
		if err := b.answer(pending[0], "approve", nil); err != nil {
			t.Fatal(err)
		}
		foreign.ID = "3"
		if v, _ := b.gate.Decide(t.Context(), session, foreign); v.Decision != DecidedPending {
			t.Errorf("another client claimed it: %s", v.Decision)
		}
		call.ID = "4"
		if d := <-b.decide(t.Context(), call); d.verdict.Action != permissions.Allow {
			t.Errorf("the client itself: %s: %s", d.verdict.Decision, d.verdict.Reason)
		}
	})
}

func TestDecidedBetweenTheCalls(t *testing.T) {
	for name, c := range map[string]struct {
		decision string
		change   func(*Answer)
		want     string
	}{
		"approved": {"approve", nil, DecidedApproved},
		"rejected": {"reject", func(a *Answer) { a.Feedback = "use the other one" }, DecidedRejected},
		"edited":   {"approve", func(a *Answer) { a.Arguments = []byte(`{"command":"make all"}`) }, DecidedApproved},
	} {
		t.Run(name, func(t *testing.T) {
			inSynctest(t, func(t *testing.T, b *bench, call Call) {
				<-b.decide(t.Context(), call)
				if err := b.answer(b.gate.Pending()[0], c.decision, c.change); err != nil {
					t.Fatal(err)
				}
				b.session.Close()

				// Another process of the same worker has nothing but the folder.
				o := b.gate.journal.o
				restarted := New(o)
				defer restarted.Close()
				session, err := restarted.OpenSession("", nil)
				if err != nil {
					t.Fatal(err)
				}
				other := b.shell("2", "make other")
				other.HandOver = time.Second
				if v, _ := restarted.Decide(t.Context(), session, other); v.Decision != DecidedPending {
					t.Errorf("another call claimed it: %s", v.Decision)
				}
				call.ID = "3"
				v, forward := restarted.Decide(t.Context(), session, call)
				if v.Decision != c.want || c.decision == "reject" && !strings.Contains(v.Reason, "use the other one") {
					t.Errorf("the repeat: %s (%s), want %s", v.Decision, v.Reason, c.want)
				}
				if name == "edited" && string(forward.Arguments) != `{"command":"make all"}` {
					t.Errorf("forwarded %s", forward.Arguments)
				}
				var last audit.Record
				for r, err := range audit.Read(audit.Dir(filepath.Dir(filepath.Dir(filepath.Dir(b.rules)))), audit.Filter{CallID: "3"}) {
					if last = r; err != nil {
						t.Fatal(err)
					}
				}
				if last.CallID != "3" || last.Approval != "1" || last.Edited != (name == "edited") {
					t.Errorf("on record: call %q, approval %q, edited %v", last.CallID, last.Approval, last.Edited)
				}
				call.ID = "4"
				if v, _ := restarted.Decide(t.Context(), session, call); v.Decision != DecidedPending {
					t.Errorf("the decision counted twice: %s", v.Decision)
				}
			})
		})
	}
}

// A host can come back to an approval while it waits or its decision is kept, and once.
func TestAwaits(t *testing.T) {
	inSynctest(t, func(t *testing.T, b *bench, call Call) {
		awaits := func(when string, want bool) {
			t.Helper()
			synctest.Wait()
			if got := b.gate.Awaits("1"); got != want {
				t.Errorf("%s: %v", when, got)
			}
		}
		awaits("before there is one", false)
		first := b.decide(t.Context(), call)
		awaits("while its call waits", false)
		<-first
		awaits("handed over", true)
		if err := b.answer(b.gate.Pending()[0], "approve", nil); err != nil {
			t.Fatal(err)
		}
		awaits("decided", true)
		if d := <-b.decide(t.Context(), call); d.verdict.Action != permissions.Allow {
			t.Fatalf("claimed as %s", d.verdict.Decision)
		}
		awaits("claimed", false)
		<-b.decide(t.Context(), call)
		if err := b.answer(b.gate.Pending()[0], "approve", nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(24 * time.Hour)
		awaits("too late", false)
	})
}

func TestADecisionWaitsOnlySoLong(t *testing.T) {
	inSynctest(t, func(t *testing.T, b *bench, call Call) {
		<-b.decide(t.Context(), call)
		if err := b.answer(b.gate.Pending()[0], "approve", nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(16 * time.Minute)
		call.ID = "2"
		if v, _ := b.gate.Decide(t.Context(), b.session, call); v.Decision != DecidedPending {
			t.Errorf("after claimWithin: %s", v.Decision)
		}
	})
}

func TestAHandedOverQuestionExpires(t *testing.T) {
	inSynctest(t, func(t *testing.T, b *bench, call Call) {
		<-b.decide(t.Context(), call)
		time.Sleep(71 * time.Second)
		synctest.Wait()
		if n := len(b.gate.Pending()); n != 0 {
			t.Errorf("%d approvals are still pending after the timeout", n)
		}
	})
}

func TestAHandedOverQuestionOutlivesItsSession(t *testing.T) {
	inSynctest(t, func(t *testing.T, b *bench, call Call) {
		<-b.decide(t.Context(), call)
		b.session.Close()
		shown := b.gate.Pending()
		if len(shown) != 1 {
			t.Fatalf("%d approvals are pending after the session ended", len(shown))
		}
		if err := b.answer(shown[0], "approve", nil); err != nil {
			t.Error(err)
		}
	})
}

func TestAKeptDecisionIsVoidWhenTheRulesDeny(t *testing.T) {
	inSynctest(t, func(t *testing.T, b *bench, call Call) {
		<-b.decide(t.Context(), call)
		if err := b.answer(b.gate.Pending()[0], "approve", nil); err != nil {
			t.Fatal(err)
		}
		b.write(`{"*": "ask", "shell_exec": {"make": "deny"}}`)
		call.ID = "2"
		if v, _ := b.gate.Decide(t.Context(), b.session, call); v.Decision != DecidedDenied {
			t.Errorf("%s (%s)", v.Decision, v.Reason)
		}
	})
}

func TestDamagedDecisionsCountNothing(t *testing.T) {
	inSynctest(t, func(t *testing.T, b *bench, call Call) {
		if err := os.MkdirAll(b.gate.journal.o.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"", "{", `{"decision":"approve"}`, `{"decision":"approve","claimBy":"2999-01-01T00:00:00Z"}`} {
			if err := os.WriteFile(filepath.Join(b.gate.journal.o.Dir, b.gate.journal.handOverKey(call)+".json"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if v, _ := b.gate.Decide(t.Context(), b.session, call); v.Decision != DecidedPending {
				t.Errorf("%q: %s", text, v.Decision)
			}
			b.gate.withdrawAll()
		}
	})
}

// withdrawAll empties the table of approvals between two cases.
func (g *Gate) withdrawAll() {
	g.queue.mu.Lock()
	defer g.queue.mu.Unlock()
	for _, a := range g.queue.pending {
		g.queue.resolve(a, resolution{decision: "withdrawn"})
	}
}

// A call that is repeated in another session of the same host waits there, and goes on when the first session ends.
func TestRepeatedInAnotherSession(t *testing.T) {
	inSynctest(t, func(t *testing.T, b *bench, call Call) {
		first := b.session
		call.HandOver = time.Second
		if d := <-b.decide(t.Context(), call); d.verdict.Decision != DecidedPending {
			t.Fatalf("%s: %s", d.verdict.Decision, d.verdict.Reason)
		}
		var err error
		if b.session, err = b.gate.OpenSession("", nil); err != nil {
			t.Fatal(err)
		}
		call.ID, call.HandOver = "2", 0
		again := b.decide(t.Context(), call)
		synctest.Wait()
		if of, in := first.pending(), b.session.pending(); of != 0 || in != 1 {
			t.Errorf("%d wait in the first session and %d in the second", of, in)
		}
		first.Close()
		synctest.Wait()
		shown := b.gate.Pending()
		if len(shown) != 1 || shown[0].ID != "1" || shown[0].SessionID != b.session.ID() {
			t.Fatalf("%+v", shown)
		}
		if err := b.answer(shown[0], "approve", nil); err != nil {
			t.Fatal(err)
		}
		if d := <-again; d.verdict.Decision != DecidedApproved || d.call.ID != "2" {
			t.Errorf("%s: %s", d.verdict.Decision, d.verdict.Reason)
		}
	})
}

// If the call is repeated in another session, an approver's edit stays, and so does the verdict on it.
func TestRepeatedInAnotherSessionAfterAnEdit(t *testing.T) {
	inSynctest(t, func(t *testing.T, b *bench, call Call) {
		<-b.decide(t.Context(), call)
		edit := func(a *Answer) { a.Arguments = []byte(`{"command":"rm -rf build"}`) }
		if err := b.answer(b.gate.Pending()[0], "approve", edit); !errors.Is(err, ErrAnswer) {
			t.Fatalf("a riskier edit: %v", err)
		}
		before := b.gate.Pending()[0]
		var err error
		if b.session, err = b.gate.OpenSession("", nil); err != nil {
			t.Fatal(err)
		}
		call.ID = "2"
		again := b.decide(t.Context(), call)
		synctest.Wait()
		a := b.gate.Pending()[0]
		if a.SessionID != b.session.ID() || a.Digest != before.Digest || a.Reason != before.Reason {
			t.Errorf("%+v", a)
		}
		if err := b.answer(a, "approve", func(a *Answer) { a.Together = true }); !errors.Is(err, ErrAnswer) {
			t.Errorf("what is DESTRUCTIVE is released along with others: %v", err)
		}
		if err := b.answer(a, "approve", nil); err != nil {
			t.Fatal(err)
		}
		if d := <-again; d.verdict.Decision != DecidedApproved || !strings.Contains(string(d.call.Arguments), "rm -rf build") {
			t.Errorf("%s: %s", d.verdict.Decision, d.call.Arguments)
		}
	})
}

// A call that is told that callgate ends may be repeated before it goes on. The approval is the repeated call's then,
// whatever becomes of the first at that moment.
func TestRepeatedBeforeTheFirstIsTold(t *testing.T) {
	for name, end := range map[string]func(*bench, *approval, chan resolution) resolution{
		"told": func(_ *bench, _ *approval, done chan resolution) resolution { return <-done },
		"expired": func(b *bench, a *approval, done chan resolution) resolution {
			return b.gate.queue.giveUp(a, done, a.expired())
		},
		"handed over": func(b *bench, a *approval, done chan resolution) resolution { return b.gate.queue.handOver(a, done) },
	} {
		for _, repeatedFirst := range []bool{true, false} {
			inSynctest(t, func(t *testing.T, b *bench, call Call) {
				now := b.gate.judging()
				v := now.judge(b.session, call)
				first, second := make(chan resolution, 1), make(chan resolution, 1)
				a, _, _ := b.gate.questions(&now).enqueue(b.session, call, v, first)
				b.gate.Leave()
				ended := func() {
					if r := end(b, a, first); r.decision != "pending" {
						t.Errorf("%s: the first is told %s", name, r.decision)
					}
				}
				if !repeatedFirst {
					ended()
				}
				call.ID = "2"
				if again, _, _ := b.gate.questions(&now).enqueue(b.session, call, v, second); again != a {
					t.Fatalf("%s: the repeated call does not go on with the approval", name)
				}
				if repeatedFirst {
					ended()
				}
				b.gate.queue.withdraw(audit.Author{By: "test"}, "", func(*approval) bool { return true })
				if r := <-second; r.decision != "withdrawn" {
					t.Errorf("%s: the repeated call is told %s", name, r.decision)
				}
			})
		}
	}
}
