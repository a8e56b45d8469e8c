package gate

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callgate/gate/internal/past"
	"callgate/permissions"
)

// A model that repeats what people refuse is told to stop, and then people are not asked for a while.
func TestRefusedAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, `{"*": "ask"}`, nil)
		decide := func(command, answer string) Verdict {
			t.Helper()
			if answer != "" {
				go func() {
					synctest.Wait()
					for _, a := range b.gate.Pending() {
						if err := b.gate.Answer(a.ID, Answer{SessionID: a.SessionID, Digest: a.Digest, Decision: answer, Feedback: feedback(answer), By: "web:alice"}); err != nil {
							t.Error(err)
						}
					}
				}()
			}
			v, call := b.gate.Decide(t.Context(), b.session, b.shell("call "+command, command))
			if v.Action == permissions.Allow {
				b.gate.Finish(b.session, call, nil, false, "", 0)()
			}
			return v
		}
		stop := "Do not repeat it"
		if v := decide("git push", "reject"); v.Decision != DecidedRejected || strings.Contains(v.Reason, stop) {
			t.Errorf("first: %s, %s", v.Decision, v.Reason)
		}
		if v := decide("git push", "reject"); v.Decision != DecidedRejected || !strings.Contains(v.Reason, "says: no (callgate adds: this very call was refused 2 times. "+stop) {
			t.Errorf("second: %s, %s", v.Decision, v.Reason)
		}
		decide("git push", "reject")
		for range 2 {
			if v := decide("git push", ""); v.Decision != DecidedLimited || v.Rule != "coolDown" || !strings.Contains(v.Reason, "refused this very call 3 times") {
				t.Errorf("fourth: %s, %s", v.Decision, v.Reason)
			}
		}
		if v := decide("git push origin", "approve"); v.Action != permissions.Allow {
			t.Errorf("another call: %s, %s", v.Decision, v.Reason)
		}
		time.Sleep(past.CoolDown)
		if v := decide("git push", "reject"); v.Decision != DecidedRejected || strings.Contains(v.Reason, stop) {
			t.Errorf("after the cool-down: %s, %s", v.Decision, v.Reason)
		}
	})
}

func feedback(answer string) string {
	if answer == "reject" {
		return "no"
	}
	return ""
}

// One no to a call that came five times at once counts as one no.
func TestTwinsAreRefusedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, `{"*": "ask"}`, nil)
		verdicts := make(chan Verdict, 5)
		for i := range 5 {
			go func() {
				v, _ := b.gate.Decide(t.Context(), b.session, b.shell(string(rune('a'+i)), "git push"))
				verdicts <- v
			}()
		}
		synctest.Wait()
		a := b.gate.Pending()
		if len(a) != 1 {
			t.Fatalf("%d questions", len(a))
		}
		if err := b.gate.Answer(a[0].ID, Answer{SessionID: a[0].SessionID, Digest: a[0].Digest, Decision: "reject", By: "web:alice"}); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if v := <-verdicts; v.Decision != DecidedRejected || strings.Contains(v.Reason, "Do not repeat") {
				t.Errorf("%s, %s", v.Decision, v.Reason)
			}
		}
	})
}

// An answer to a selection leaves out the calls that may lose data or are marked: they need a look each.
func TestTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, `{"*": "ask", "shell_exec": {"*": "ask", "git push *": "confirm"}}`, nil)
		for _, command := range []string{"ls", "rm -rf build", "git push origin"} {
			go b.gate.Decide(t.Context(), b.session, b.shell(command, command))
		}
		synctest.Wait()
		for _, a := range b.gate.Pending() {
			answer := Answer{SessionID: a.SessionID, Digest: a.Digest, Decision: "approve", Together: true, By: "web:alice"}
			err := b.gate.Answer(a.ID, answer)
			if wanted := a.ID == "ls"; (err == nil) != wanted {
				t.Errorf("%s: %v", a.ID, err)
			}
			if err != nil {
				answer.Decision = "reject" // a no may be given to all
				if err := b.gate.Answer(a.ID, answer); err != nil {
					t.Errorf("%s: %v", a.ID, err)
				}
			}
		}
	})
}
