package gate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callgate/audit"
	"callgate/permissions"
)

// events lists what the trail says about a call, as "event decision".
func (b *bench) events(id string) (events []string) {
	b.t.Helper()
	for r, err := range audit.Read(audit.Dir(filepath.Dir(filepath.Dir(filepath.Dir(b.rules)))), audit.Filter{}) {
		if err != nil {
			b.t.Fatal(err)
		}
		if r.CallID == id {
			events = append(events, strings.TrimSpace(string(r.Event)+" "+r.Decision))
		}
	}
	slices.Reverse(events)
	return events
}

// A question is on record while it waits, and an answer when it counts as applied.
func TestAnswersAreOnRecordFirst(t *testing.T) {
	for decision, want := range map[string]string{"approve": "approved", "reject": "rejected", "always": "approved"} {
		t.Run(decision, func(t *testing.T) {
			b := newBench(t, asking, nil)
			end := b.decide(t.Context(), b.shell("1", "make"))
			a := b.waiting(1)[0]
			if got := b.events("1"); !slices.Equal(got, []string{"asked"}) {
				t.Errorf("while it waits: %q", got)
			}
			if err := b.answer(a, decision, nil); err != nil {
				t.Fatal(err)
			}
			if got := b.events("1"); !slices.Equal(got, []string{"asked", "decision " + want}) {
				t.Errorf("once it was answered: %q", got)
			}
			<-end
		})
	}
}

func TestAnswersOnHandedOverCallsAreOnRecord(t *testing.T) {
	for decision, want := range map[string]string{"approve": "decision approved", "reject": "decision rejected", "always": "decision approved"} {
		t.Run(decision, func(t *testing.T) {
			inSynctest(t, func(t *testing.T, b *bench, call Call) {
				<-b.decide(t.Context(), call)
				if err := b.answer(b.gate.Pending()[0], decision, nil); err != nil {
					t.Fatal(err)
				}
				if got := b.events("1"); !slices.Equal(got, []string{"asked", "decision pending", want}) {
					t.Errorf("%q", got)
				}
			})
		})
	}
}

// If the log cannot be written, no answer counts and nothing runs.
func TestAnswersThatCannotBeRecorded(t *testing.T) {
	for _, decision := range []string{"approve", "reject", "always"} {
		t.Run(decision, func(t *testing.T) {
			b := newBench(t, asking, nil)
			end := b.decide(t.Context(), b.shell("1", "make"))
			a := b.waiting(1)[0]
			b.log.Close()
			if err := b.answer(a, decision, nil); !errors.Is(err, ErrRefused) || !errors.Is(err, audit.ErrClosed) {
				t.Errorf("the answer: %v", err)
			}
			if d := <-end; d.verdict.Action != permissions.Deny {
				t.Errorf("the call: %s", d.verdict.Decision)
			}
			if file, err := b.gate.journal.o.Store.Policy(); err != nil || strings.Contains(readText(t, b.rules), "$always") {
				t.Errorf("a grant was kept: %v, %v", file, err)
			}
		})
		t.Run(decision+", handed over", func(t *testing.T) {
			inSynctest(t, func(t *testing.T, b *bench, call Call) {
				<-b.decide(t.Context(), call)
				a := b.gate.Pending()[0]
				b.log.Close()
				if err := b.answer(a, decision, nil); !errors.Is(err, ErrRefused) || !errors.Is(err, audit.ErrClosed) {
					t.Errorf("the answer: %v", err)
				}
				if n := len(b.gate.Pending()); n != 1 {
					t.Errorf("%d approvals wait after an answer that does not count", n)
				}
			})
		})
	}
	t.Run("a new question", func(t *testing.T) {
		b := newBench(t, asking, nil)
		b.log.Close()
		if d := <-b.decide(t.Context(), b.shell("1", "make")); d.verdict.Action != permissions.Deny || d.verdict.Rule != "audit" {
			t.Errorf("%s: %s", d.verdict.Decision, d.verdict.Reason)
		}
	})
}

// A waiting approval survives its process: the next one shows it, and keeps the answer for the repeated call, once.
func TestUndecidedApprovalsSurviveARestart(t *testing.T) {
	for name, c := range map[string]struct {
		end      func(*bench)
		decision string
		change   func(*Answer)
		want     string
	}{
		"approved after a kill":        {nil, "approve", nil, DecidedApproved},
		"always after a kill":          {nil, "always", nil, DecidedApproved},
		"rejected after a kill":        {nil, "reject", nil, DecidedRejected},
		"approved after a clean end":   {func(b *bench) { b.gate.Leave(); b.gate.Close() }, "approve", nil, DecidedApproved},
		"approved after it was handed": {func(b *bench) { time.Sleep(51 * time.Second); b.gate.Close() }, "approve", nil, DecidedApproved},
	} {
		t.Run(name, func(t *testing.T) {
			inSynctest(t, func(t *testing.T, b *bench, call Call) {
				first := b.decide(t.Context(), call)
				synctest.Wait()
				if name == "approved after a clean end" {
					duplicate := call
					duplicate.ID = "duplicate"
					second := b.decide(t.Context(), duplicate)
					synctest.Wait()
					defer func() {
						if d := <-second; d.verdict.Decision != DecidedPending {
							t.Errorf("the same call again ended as %s", d.verdict.Decision)
						}
					}()
				}
				if c.end != nil {
					c.end(b)
					if d := <-first; d.verdict.Decision != DecidedPending || !strings.Contains(d.verdict.Reason, "Repeat") {
						t.Errorf("the call ended as %s: %s", d.verdict.Decision, d.verdict.Reason)
					}
				} else { // what a kill does: the lock is free, the files are there
					if err := b.gate.queue.asked.unlock(); err != nil {
						t.Fatal(err)
					}
					b.gate.queue.asked.own, b.gate.queue.asked.base = "", ""
				}

				stranger := b.gate.journal.o
				stranger.Worker = "other"
				other := New(stranger)
				defer other.Close()
				if n := len(other.Pending()); n != 0 {
					t.Errorf("another worker shows %d", n)
				}
				restarted := New(b.gate.journal.o)
				defer restarted.Close()
				another := New(b.gate.journal.o)
				defer another.Close()
				if n := len(another.Pending()); n != 0 {
					t.Errorf("a second process shows %d too", n)
				}
				shown := restarted.Pending()
				if len(shown) != 1 || shown[0].ID != "1" || !shown[0].AwaitsHost || !strings.Contains(shown[0].Reason, "waits for the host to repeat it") || shown[0].Analysis.Summary == "" {
					t.Fatalf("after the restart: %+v", shown)
				}
				answer := Answer{SessionID: shown[0].SessionID, Digest: shown[0].Digest, Decision: c.decision, By: "test"}
				edited := answer
				edited.Decision, edited.Arguments = "approve", []byte(`{"command":"make all"}`)
				if err := restarted.Answer("1", edited); !errors.Is(err, ErrAnswer) {
					t.Errorf("edited: %v", err)
				}
				if c.decision == "always" {
					answer.Scope = "session"
					if err := restarted.Answer("1", answer); !errors.Is(err, ErrAnswer) {
						t.Errorf("always in a session that is gone: %v", err)
					}
					answer.Scope = "worker"
				}
				if err := restarted.Answer("1", answer); err != nil {
					t.Fatal(err)
				}
				if err := restarted.Answer("1", answer); !errors.Is(err, ErrNotPending) {
					t.Errorf("answered twice: %v", err)
				}
				session, err := another.OpenSession("", nil)
				if err != nil {
					t.Fatal(err)
				}
				call.ID, call.HandOver = "2", time.Second
				if v, _ := another.Decide(t.Context(), session, call); v.Decision != c.want && (c.decision != "always" || v.Decision != DecidedTrusted) {
					t.Errorf("the repeat: %s: %s", v.Decision, v.Reason)
				}
				call.ID = "3"
				if v, _ := another.Decide(t.Context(), session, call); v.Decision != DecidedPending && c.decision != "always" {
					t.Errorf("the decision counted twice: %s", v.Decision)
				}
			})
		})
	}
}

// A call that is repeated before anybody answered goes on with the existing approval.
func TestRepeatedAfterARestart(t *testing.T) {
	inSynctest(t, func(t *testing.T, b *bench, call Call) {
		first := b.decide(t.Context(), call)
		synctest.Wait()
		b.gate.Leave()
		<-first
		b.gate.Close()
		b.gate = New(b.gate.journal.o)
		var err error
		if b.session, err = b.gate.OpenSession("", nil); err != nil {
			t.Fatal(err)
		}
		call.ID = "2"
		again := b.decide(t.Context(), call)
		synctest.Wait()
		shown := b.gate.Pending()
		if len(shown) != 1 || shown[0].ID != "1" || shown[0].AwaitsHost || shown[0].SessionID != b.session.ID() || strings.Contains(shown[0].Reason, "repeat") {
			t.Fatalf("%+v", shown)
		}
		if err := b.answer(shown[0], "approve", nil); err != nil {
			t.Fatal(err)
		}
		if d := <-again; d.verdict.Decision != DecidedApproved || d.call.ID != "2" {
			t.Errorf("%s, call %s", d.verdict.Decision, d.call.ID)
		}
		if n := len(b.gate.queue.asked.takeOver()); n != 0 {
			t.Errorf("%d approvals stay on disk", n)
		}
	})
}

// Calls that were handed over do not count as waiting: one question is left of the two.
func TestWhatIsLeftIsCounted(t *testing.T) {
	inSynctest(t, func(t *testing.T, b *bench, call Call) {
		first := b.decide(t.Context(), call)
		synctest.Wait()
		call.ID = "2"
		duplicate := b.decide(t.Context(), call)
		synctest.Wait()
		if n := b.session.pending(); n != 2 {
			t.Errorf("%d wait, want 2", n)
		}
		b.gate.Leave()
		<-first
		<-duplicate
		if n := b.session.pending(); n != 1 {
			t.Errorf("%d wait, want 1", n)
		}
	})
}

// A question that nobody answers after a restart expires, on record.
func TestARestoredQuestionExpires(t *testing.T) {
	inSynctest(t, func(t *testing.T, b *bench, call Call) {
		first := b.decide(t.Context(), call)
		synctest.Wait()
		b.gate.Leave()
		<-first
		b.gate.Close()
		b.gate = New(b.gate.journal.o)
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		if n := len(b.gate.Pending()); n != 0 {
			t.Errorf("%d approvals wait", n)
		}
		if got := b.events("1"); !slices.Equal(got, []string{"asked", "decision pending", "decision timeout"}) {
			t.Errorf("%q", got)
		}
	})
}

// Removing an agent withdraws all its waiting calls.
func TestARemovedAgentsCallsAreWithdrawn(t *testing.T) {
	b := newBench(t, asking, nil)
	id, err := b.gate.Controls.AddAgent(b.session.ID(), permissions.Agent{Name: "helper"}, AgentInfo{Role: "helper"}, audit.Author{By: "test"})
	if err != nil {
		t.Fatal(err)
	}
	theirs := b.shell("1", "make")
	theirs.Agent = id
	duplicate := theirs
	duplicate.ID = "2"
	ends := []<-chan decided{b.decide(t.Context(), theirs)}
	b.waiting(1)
	ends = append(ends, b.decide(t.Context(), duplicate))
	own := b.decide(t.Context(), b.shell("3", "make other"))
	b.waiting(2)
	for b.gate.Sessions()[0].Pending != 3 {
		time.Sleep(time.Millisecond)
	}
	if err := b.gate.Controls.RemoveAgent(b.session.ID(), id, audit.Author{By: "test"}); err != nil {
		t.Fatal(err)
	}
	for _, end := range ends {
		if d := <-end; d.verdict.Decision != DecidedCancelled || !strings.Contains(d.verdict.Reason, "removed") {
			t.Errorf("%s: %s", d.verdict.Decision, d.verdict.Reason)
		}
	}
	if err := b.answer(b.waiting(1)[0], "approve", nil); err != nil {
		t.Fatal(err)
	}
	if d := <-own; d.verdict.Decision != DecidedApproved {
		t.Errorf("a call of the session's own agent: %s", d.verdict.Decision)
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A server may be another one when it is back: people are told that it ended, and are asked again after a yes.
func TestAServerThatEndsWhileACallWaits(t *testing.T) {
	for _, decision := range []string{"approve", "always"} {
		b := newBench(t, asking, nil)
		call := b.shell("1", "make")
		revived := 0
		call.Revive = func(context.Context) error { revived++; return nil }
		end := b.decide(t.Context(), call)
		first := b.waiting(1)[0]
		b.session.ServerEnded("elsewhere", "exit status 1")
		if got := b.waiting(1)[0]; got != first {
			t.Errorf("the end of another server changed the question to %q", got.Reason)
		}
		b.session.ServerEnded(call.Tool.Server, "exit status 1")
		told := b.waiting(1)[0]
		if !strings.Contains(told.Reason, "ended while the call waited: exit status 1") {
			t.Fatalf("people read %q", told.Reason)
		}
		if err := b.answer(told, decision, nil); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "once more") {
			t.Errorf("%s: %v", decision, err)
		}
		again := b.waiting(1)[0]
		if revived != 1 || !strings.Contains(again.Reason, "It runs again") || strings.Contains(readText(t, b.rules), "$always") {
			t.Errorf("started %d times; asked again with %q", revived, again.Reason)
		}
		if err := b.answer(again, "approve", nil); err != nil {
			t.Fatal(err)
		}
		if d := <-end; d.verdict.Decision != DecidedApproved || revived != 1 {
			t.Errorf("%s", d.verdict.Decision)
		}
	}
	t.Run("rejected", func(t *testing.T) {
		b := newBench(t, asking, nil)
		call := b.shell("1", "make")
		end := b.decide(t.Context(), call)
		b.waiting(1)
		b.session.ServerEnded(call.Tool.Server, "exit status 1")
		if err := b.answer(b.waiting(1)[0], "reject", nil); err != nil {
			t.Error(err)
		}
		if d := <-end; d.verdict.Decision != DecidedRejected {
			t.Errorf("%s", d.verdict.Decision)
		}
	})
	t.Run("it does not start again", func(t *testing.T) {
		b := newBench(t, asking, nil)
		call := b.shell("1", "make")
		call.Revive = func(context.Context) error { return errors.New("no such program") }
		end := b.decide(t.Context(), call)
		b.waiting(1)
		b.session.ServerEnded(call.Tool.Server, "exit status 1")
		if err := b.answer(b.waiting(1)[0], "approve", nil); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "no such program") {
			t.Errorf("%v", err)
		}
		if d := <-end; d.verdict.Decision != DecidedCancelled {
			t.Errorf("%s: %s", d.verdict.Decision, d.verdict.Reason)
		}
	})
}

// People see the oldest question first, after a restart too.
func TestRestoredQuestionsAreInOrder(t *testing.T) {
	inSynctest(t, func(t *testing.T, b *bench, _ Call) {
		var want []string
		for _, id := range []string{"1", "2", "3", "4", "5", "6"} {
			b.decide(t.Context(), b.shell(id, "make "+id))
			time.Sleep(time.Second)
			want = append(want, id)
		}
		b.gate.Leave()
		b.gate.Close()
		b.gate = New(b.gate.journal.o)
		var got []string
		for _, shown := range b.gate.Pending() {
			got = append(got, shown.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
	})
}
