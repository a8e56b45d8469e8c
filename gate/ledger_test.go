package gate

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"callgate/permissions"
)

// memoryLedger is a Ledger that several gates share in a test.
type memoryLedger struct {
	mu      sync.Mutex
	away    error // error of every method
	kept    map[string]Kept
	decided map[string][]byte // by key
	stolen  map[string]bool   // ids that another process has
	answers chan struct{}     // Ask waits for it; nil means no wait
	done    []string
}

func (l *memoryLedger) change(k Kept) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stolen[k.ID] {
		return ErrNotPending
	}
	if l.away == nil {
		l.kept[k.ID] = k
	}
	return l.away
}

func (l *memoryLedger) Ask(k Kept) error {
	if l.answers != nil {
		<-l.answers
	}
	return l.change(k)
}

func (l *memoryLedger) Change(k Kept) error { return l.change(k) }

func (l *memoryLedger) Decide(id string, decision []byte, taken bool, _ time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	k, ok := l.kept[id]
	switch {
	case l.stolen[id] || !ok:
		return ErrNotPending
	case l.away != nil:
		return l.away
	}
	delete(l.kept, id)
	if !taken {
		l.decided[k.Key] = decision
	}
	return nil
}

func (l *memoryLedger) End(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.kept, id)
}

func (l *memoryLedger) Claim(key, _ string) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	decision := l.decided[key]
	delete(l.decided, key)
	return decision, l.away
}

func (l *memoryLedger) Done(call string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done = append(l.done, call)
}

func (l *memoryLedger) Awaits(string) bool { return false }

func (l *memoryLedger) set(away error, stolen ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.away = away
	for _, id := range stolen {
		l.stolen[id] = true
	}
}

func inCluster(t *testing.T, story func(t *testing.T, l *memoryLedger, a, b *bench)) {
	synctest.Test(t, func(t *testing.T) {
		l := &memoryLedger{kept: map[string]Kept{}, decided: map[string][]byte{}, stolen: map[string]bool{}}
		dir := filepath.Join(t.TempDir(), "approvals")
		share := func(o *Options) { o.Ledger, o.Dir = l, dir }
		a, b := newBench(t, asking, share), newBench(t, asking, share)
		b.dir = a.dir
		story(t, l, a, b)
	})
}

// A call that was approved after its host gave up runs at another gate, once.
func TestClaimedAtAnotherGate(t *testing.T) {
	inCluster(t, func(t *testing.T, l *memoryLedger, a, b *bench) {
		call := a.shell("1", "make")
		call.HandOver = time.Second
		<-a.decide(t.Context(), call)
		if err := a.answer(a.gate.Pending()[0], "approve", nil); err != nil {
			t.Fatal(err)
		}
		again := b.shell("2", "make")
		if d := <-b.decide(t.Context(), again); d.verdict.Action != permissions.Allow || d.verdict.Decision != DecidedApproved {
			t.Fatalf("the repeat: %s: %s", d.verdict.Decision, d.verdict.Reason)
		}
		third := b.shell("3", "make")
		third.HandOver = time.Second
		if d := <-b.decide(t.Context(), third); d.verdict.Decision != DecidedPending {
			t.Errorf("one yes let a call run twice: %s", d.verdict.Decision)
		}
	})
}

// An approval that waited in a dead process is shown by the process that takes it over.
func TestAdopted(t *testing.T) {
	inCluster(t, func(t *testing.T, l *memoryLedger, a, b *bench) {
		call := a.shell("1", "make")
		call.HandOver = time.Second
		<-a.decide(t.Context(), call)
		if err := b.gate.Adopt(l.kept["1"].Question); err != nil {
			t.Fatal(err)
		}
		shown := b.gate.Pending()
		if len(shown) != 1 || !shown[0].AwaitsHost || !strings.Contains(shown[0].Reason, "repeat") {
			t.Fatalf("%+v", shown)
		}
		a.gate.Lose("1", "another has it.")
		if len(a.gate.Pending()) != 0 {
			t.Error("both show it")
		}
		if err := b.gate.Adopt([]byte(`{"Approval": null}`)); err == nil {
			t.Error("a damaged approval is shown")
		}
	})
}

// A call does not run if the Ledger cannot note it, or if another process has it.
func TestLedgerRefuses(t *testing.T) {
	away := errors.New("the cluster cannot be reached")
	for name, c := range map[string]struct {
		before, at error
		stolen     bool
		wanted     error
		says       string
	}{
		"nobody can be asked":        {before: away, says: "the cluster cannot be"},
		"the yes cannot be noted":    {at: away, wanted: ErrRefused, says: "could not be noted"},
		"another decided it already": {stolen: true, wanted: ErrNotPending, says: "Another replica has"},
	} {
		t.Run(name, func(t *testing.T) {
			inCluster(t, func(t *testing.T, l *memoryLedger, a, _ *bench) {
				l.set(c.before)
				waiting := a.decide(t.Context(), a.shell("1", "make"))
				synctest.Wait()
				if c.before == nil {
					shown := a.gate.Pending()
					l.set(c.at)
					if c.stolen {
						l.set(nil, "1")
					}
					if err := a.answer(shown[0], "approve", nil); !errors.Is(err, c.wanted) {
						t.Errorf("the answer: %v", err)
					}
				}
				d := <-waiting
				if d.verdict.Action != permissions.Deny || !strings.Contains(d.verdict.Reason, c.says) {
					t.Errorf("%s: %s", d.verdict.Decision, d.verdict.Reason)
				}
				if n := len(a.gate.Pending()); n != 0 {
					t.Errorf("%d wait on", n)
				}
			})
		})
	}
}

// While the cluster does not answer about one call, sessions begin and other calls run.
func TestOthersDoNotWaitForTheLedger(t *testing.T) {
	inCluster(t, func(t *testing.T, l *memoryLedger, a, _ *bench) {
		a.write(`{"*": "ask", "shell_exec": {"*": "ask", "ls": "allow"}}`)
		l.answers = make(chan struct{})
		waiting := a.decide(t.Context(), a.shell("1", "make"))
		synctest.Wait()
		s, err := a.gate.OpenSession("", nil)
		if err != nil {
			t.Fatal(err)
		}
		s.SetClient(Client{Name: "other"})
		call := a.shell("2", "ls")
		call.SessionID = s.ID()
		if v, _ := a.gate.Decide(t.Context(), s, call); v.Action != permissions.Allow {
			t.Errorf("%s: %s", v.Decision, v.Reason)
		}
		if n := len(a.gate.Sessions()); n != 2 {
			t.Errorf("%d sessions", n)
		}
		close(l.answers)
		synctest.Wait()
		if err := a.answer(a.gate.Pending()[0], "reject", nil); err != nil {
			t.Fatal(err)
		}
		<-waiting
	})
}

// People see a question while the cluster is told of it. Their answer counts only once the cluster knows, and people
// hear if it cannot be told.
func TestShownWhileNoted(t *testing.T) {
	for name, c := range map[string]struct {
		away   error
		wanted permissions.Action
	}{
		"noted":     {nil, permissions.Allow},
		"not noted": {errors.New("the cluster cannot be reached"), permissions.Deny},
	} {
		t.Run(name, func(t *testing.T) {
			inCluster(t, func(t *testing.T, l *memoryLedger, a, _ *bench) {
				l.answers = make(chan struct{})
				sub := a.gate.SubscribeQuestions()
				defer sub.Close()
				<-sub.Events // the session
				waiting := a.decide(t.Context(), a.shell("1", "make"))
				shown, ok := (<-sub.Events).(Asked)
				if !ok || len(l.kept) > 0 {
					t.Fatalf("%+v, noted %d", shown, len(l.kept))
				}
				answered := make(chan error, 1)
				go func() { answered <- a.answer(shown.Approval, "approve", nil) }()
				l.away = c.away
				close(l.answers)
				if err := <-answered; c.away == nil && err != nil || c.away != nil && !errors.Is(err, ErrNotPending) {
					t.Errorf("the answer: %v", err)
				}
				if d := <-waiting; d.verdict.Action != c.wanted {
					t.Errorf("%s: %s", d.verdict.Decision, d.verdict.Reason)
				}
				if e, ok := (<-sub.Events).(Resolved); !ok || c.away != nil && (e.Decision != "withdrawn" || !strings.Contains(e.Reason, "cannot be reached")) {
					t.Errorf("%+v", e)
				}
			})
		})
	}
}

// Nothing runs while rules may be stale, whatever they say.
func TestNotCurrent(t *testing.T) {
	var old error
	b := newBench(t, `{"*": "allow"}`, func(o *Options) { o.Current = func() error { return old } })
	if d := <-b.decide(t.Context(), b.shell("1", "ls")); d.verdict.Action != permissions.Allow {
		t.Fatalf("%s: %s", d.verdict.Decision, d.verdict.Reason)
	}
	old = fmt.Errorf("not heard for 10 s")
	if d := <-b.decide(t.Context(), b.shell("2", "ls")); d.verdict.Action != permissions.Deny || !strings.Contains(d.verdict.Reason, "not heard for 10 s") {
		t.Errorf("%s: %s", d.verdict.Decision, d.verdict.Reason)
	}
}
