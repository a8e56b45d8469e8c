package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/gate"
	"callgate/internal/testserver/addresses"
	"callgate/internal/testserver/waits"
)

const testLease = 3 * time.Second

var testKey, _ = ParseKey(strings.Repeat("k", shortestSecret))

func logOf(t *testing.T) *slog.Logger {
	if os.Getenv("CALLGATE_TEST_LOG") != "" {
		return toStderr(t.Name())
	}
	return slog.New(slog.DiscardHandler)
}

func toStderr(name string) *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})).With("test", name)
}

// open starts replicas that know each other.
func open(t *testing.T, n int) []*Cluster {
	t.Helper()
	free := addresses.Free(t, n)
	all := make([]*Cluster, n)
	var opening sync.WaitGroup
	for i := range all {
		opening.Go(func() {
			o := Options{URL: Embedded, Name: fmt.Sprintf("r%d", i), Worker: "default", DataDir: t.TempDir(), Key: testKey, Lease: testLease, Logger: logOf(t)}
			for at, address := range free {
				if at == i {
					o.Listen = address
				}
				if n > 1 {
					o.Peers = append(o.Peers, address)
				}
			}
			c, err := Open(o)
			if err != nil {
				t.Error(err)
				return
			}
			all[i] = c
		})
	}
	opening.Wait()
	if t.Failed() {
		t.FailNow()
	}
	t.Cleanup(func() {
		for _, c := range all {
			c.Close()
		}
	})
	for _, c := range all {
		waits.Until(t, "the replica hears from the cluster", func() bool { return c.Fresh() == nil })
	}
	return all
}

// gateOf notes what a gate would hear.
type gateOf struct {
	mu      sync.Mutex
	adopted []string
	lost    []string
	unknown []string
}

func (g *gateOf) Adopt(question []byte) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.adopted = append(g.adopted, string(question))
	return nil
}

func (g *gateOf) Lose(id, _ string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lost = append(g.lost, id)
}

func (g *gateOf) Unknown(_ []byte, call string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unknown = append(g.unknown, call)
	return nil
}

func (g *gateOf) counts() (adopted, lost, unknown int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.adopted), len(g.lost), len(g.unknown)
}

func ask(t *testing.T, a *Approvals, id, key string, waits bool) {
	t.Helper()
	if err := a.Ask(gate.Kept{ID: id, Key: key, Waits: waits, Expires: time.Now().Add(time.Hour), Question: fmt.Appendf(nil, "%q", id)}); err != nil {
		t.Fatal(err)
	}
}

// stateAt returns the state of an entry as a replica has heard it.
func stateAt(c *Cluster, key string) string { return stateOf(c.bucket.last(key).body) }

func stateOf(body []byte) string {
	var e entry
	if json.Unmarshal(body, &e) != nil {
		return ""
	}
	return e.State
}

// TestThree exercises everything that three replicas share.
func TestThree(t *testing.T) {
	t.Parallel()
	all := open(t, 3)
	a, b, c := all[0], all[1], all[2]
	for _, one := range all {
		waits.Until(t, "all know each other", func() bool { return len(one.Replicas()) == 3 })
	}
	adopters := make([]*gateOf, 3)
	for i, one := range all {
		adopters[i] = &gateOf{}
		one.Approvals().Serve(adopters[i])
	}

	t.Run("documents change by compare-and-set", func(t *testing.T) {
		d, e := a.Document("rules"), b.Document("rules")
		rev, err := d.Replace(t.Context(), 0, []byte("one"), "x")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Replace(t.Context(), 0, []byte("two"), "y"); !errors.Is(err, ErrChanged) {
			t.Fatalf("a second first version: %v", err)
		}
		waits.Until(t, "b sees it", func() bool { v, err := e.Now(); return err == nil && string(v.Text) == "one" })
		if _, err := e.Replace(t.Context(), rev, []byte("two"), "y"); err != nil {
			t.Fatal(err)
		}
		if v, err := e.Now(); err != nil || string(v.Text) != "two" {
			t.Fatalf("b does not see what it wrote: %s, %v", v.Text, err)
		}
	})

	t.Run("a decision is claimed once, anywhere", func(t *testing.T) {
		ask(t, a.Approvals(), "d1", "dk", false)
		if err := a.Approvals().Decide("d1", []byte(`"yes"`), false, time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if err := a.Approvals().Decide("d1", []byte(`"no"`), false, time.Now().Add(time.Minute)); !errors.Is(err, gate.ErrNotPending) {
			t.Fatalf("a second decision: %v", err)
		}
		var mu sync.Mutex
		claimed := 0
		var claiming sync.WaitGroup
		for i := range 12 {
			claiming.Go(func() {
				decision, err := all[i%3].Approvals().Claim("dk", fmt.Sprintf("call%d", i))
				if err != nil {
					t.Error(err)
				}
				if string(decision) == `"yes"` {
					mu.Lock()
					claimed++
					mu.Unlock()
				}
			})
		}
		claiming.Wait()
		if claimed != 1 {
			t.Fatalf("the decision was claimed %d times", claimed)
		}
	})

	t.Run("a repeated call takes what waits elsewhere", func(t *testing.T) {
		ask(t, a.Approvals(), "m1", "mk", false)
		if decision, err := b.Approvals().Claim("mk", "m2"); err != nil || decision != nil {
			t.Fatalf("%s, %v", decision, err)
		}
		waits.Until(t, "the owner hears", func() bool { _, lost, _ := adopters[0].counts(); return lost == 1 })
		if err := a.Approvals().Decide("m1", []byte(`"yes"`), false, time.Now()); !errors.Is(err, gate.ErrNotPending) {
			t.Fatalf("decided although it moved: %v", err)
		}
		ask(t, a.Approvals(), "m3", "mk3", true)
		if _, err := b.Approvals().Claim("mk3", "m4"); err != nil {
			t.Fatal(err)
		}
		if err := a.Approvals().Decide("m3", []byte(`"yes"`), true, time.Now()); err != nil {
			t.Fatalf("another call took what a call waits on: %v", err)
		}
	})

	t.Run("streams reach other replicas", func(t *testing.T) {
		l := c.Listen("echo")
		defer l.Close()
		go func() {
			for {
				stream, err := l.Accept()
				if err != nil {
					return
				}
				go func() { io.Copy(stream, stream); stream.Close() }()
			}
		}()
		stream, err := a.Dial(t.Context(), "r2", c.epoch, "echo")
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Repeat("0123456789", 200_000)
		go func() { io.WriteString(stream, text) }()
		got := make([]byte, len(text))
		if _, err := io.ReadFull(stream, got); err != nil || string(got) != text {
			t.Fatalf("the stream changed what it carried: %v", err)
		}
		stream.Close()
		if _, err := a.Dial(t.Context(), "r2", "yesterday", "echo"); !errors.Is(err, ErrGone) {
			t.Fatalf("a process that is gone was reached: %v", err)
		}
	})

	t.Run("what a replica leaves is taken over once", func(t *testing.T) {
		for i := range 20 {
			ask(t, a.Approvals(), fmt.Sprintf("o%d", i), fmt.Sprintf("ok%d", i), true)
		}
		ask(t, a.Approvals(), "u1", "uk", true)
		if err := a.Approvals().Decide("u1", []byte(`"yes"`), true, time.Now()); err != nil {
			t.Fatal(err)
		}
		// Hosts repeat calls before anybody knows that the replica is gone, and after.
		ask(t, a.Approvals(), "early", "rk", true)
		ask(t, a.Approvals(), "late", "lk", true)
		ask(t, b.Approvals(), "again", "rk", true)
		a.die()
		waits.Until(t, "the others take over", func() bool {
			one, _, u := adopters[1].counts()
			two, _, v := adopters[2].counts()
			return one+two == 21 && u+v >= 1 && stateAt(c, "ask.rk.early") == stateEnded
		})
		if one, _, _ := adopters[1].counts(); one == 0 || one == 21 {
			t.Logf("one replica took over %d of 21", one)
		}
		for _, h := range adopters[1:] {
			if h.mu.Lock(); slices.Contains(h.adopted, `"early"`) {
				t.Error("what its host has repeated is shown once more")
			}
			h.mu.Unlock()
		}
		ask(t, b.Approvals(), "later", "lk", true) // from a replica that has not heard of the end, and claims nothing
		waits.Until(t, "what was taken over makes room", func() bool { return stateAt(c, "ask.lk.late") == stateEnded })
		waits.Until(t, "and is shown no more", func() bool {
			_, one, _ := adopters[1].counts()
			_, two, _ := adopters[2].counts()
			return one+two > 0
		})
		for i := range 20 {
			id := fmt.Sprintf("o%d", i)
			errs := 0
			for _, other := range all[1:] {
				if other.Approvals().Decide(id, []byte(`"yes"`), false, time.Now().Add(time.Minute)) != nil {
					errs++
				}
			}
			if errs != 1 {
				t.Fatalf("%s was decided at %d replicas", id, 2-errs)
			}
		}
	})

	t.Run("alone a replica is not fresh", func(t *testing.T) {
		b.die()
		waits.Until(t, "it notices", func() bool { return c.Fresh() != nil })
		if _, err := c.Document("rules").Now(); !errors.Is(err, ErrAway) {
			t.Fatalf("it goes by old rules: %v", err)
		}
		if err := c.Approvals().Ask(gate.Kept{ID: "z", Key: "z", Expires: time.Now().Add(time.Minute)}); err == nil {
			t.Fatal("an approval was noted without a majority")
		}
	})
}

// die ends a replica without a goodbye, as far as that is possible within a process.
func (c *Cluster) die() {
	c.replicas.mu.Lock()
	c.replicas.leaving = true
	c.replicas.mu.Unlock()
	c.approvals.mu.Lock()
	c.approvals.ending = nil
	c.approvals.mu.Unlock()
	c.Close()
}

func TestOneReplicaKeepsWhatItHad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start := func() *Cluster {
		c, err := Open(Options{URL: Embedded, Name: "only.one", Worker: "team.a", DataDir: dir, Key: testKey, Lease: testLease, Logger: logOf(t)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := c.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := start()
	ask(t, c.Approvals(), "a", "k", true)
	if _, err := c.Document("rules").Replace(t.Context(), 0, []byte("{}"), "me"); err != nil {
		t.Fatal(err)
	}
	c.die()
	c = start()
	defer c.Close()
	adopter := &gateOf{}
	c.Approvals().Serve(adopter)
	waits.Until(t, "the approval of the process before is shown", func() bool { n, _, _ := adopter.counts(); return n == 1 })
	if v, err := c.Document("rules").Now(); err != nil || string(v.Text) != "{}" {
		t.Fatalf("%s, %v", v.Text, err)
	}
}

// TestEndsEndOnce writes an end that was noted before another call waits on the entry or has its decision.
func TestEndsEndOnce(t *testing.T) {
	t.Parallel()
	a := open(t, 1)[0].Approvals()
	key := entryKey("k", "a")
	state := func() string {
		_, v, err := a.c.bucket.read(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		return stateOf(v.body)
	}
	end := func() { // without the loop that does this
		if err := a.finishOne(key); err != nil {
			t.Fatal(err)
		}
	}
	ask(t, a, "a", "k", true)
	end()
	if s := state(); s != statePending {
		t.Fatalf("what a call waits on is %s", s)
	}
	if err := a.Decide("a", []byte(`"yes"`), true, time.Now()); err != nil {
		t.Fatal(err)
	}
	end()
	if s := state(); s != stateClaimed {
		t.Fatalf("what a running call was approved by is %s", s)
	}
	a.Done("a")
	waits.Until(t, "what a call was approved by that has ended is done", func() bool { return state() == stateDone })
}

// TestLaggingCopy makes a replica read the bucket afresh from a copy that lags behind what it has seen.
func TestLaggingCopy(t *testing.T) {
	t.Parallel()
	c := open(t, 1)[0]
	ask(t, c.approvals, "a", "k", true)
	key := entryKey("k", "a")
	waits.Until(t, "it is heard", func() bool { return stateAt(c, key) == statePending })
	rev := c.bucket.last(key).rev
	told := map[string]bool{}
	for other := range c.bucket.valuesUnder("beat.") {
		told[other] = true
	}
	if lags := c.bucket.forget(told, rev-1); !lags || stateAt(c, key) != statePending {
		t.Errorf("the copy lags: %t; what it does not have yet is %q", lags, stateAt(c, key))
	}
	if _, owned := c.approvals.of("a"); !owned {
		t.Error("nobody can decide it any more")
	}
	if lags := c.bucket.forget(told, rev); lags || stateAt(c, key) != "" {
		t.Errorf("the copy lags: %t; what has ended unheard is %q", lags, stateAt(c, key))
	}
}

// TestEndsComeBeforeLateWrites ends a question whose unconfirmed write arrives only afterwards.
func TestEndsComeBeforeLateWrites(t *testing.T) {
	t.Parallel()
	a := open(t, 1)[0].Approvals()
	key := entryKey("k", "late")
	if err := a.finishOne(key); err != nil {
		t.Fatal(err)
	}
	if _, err := a.write(key, a.mine(statePending), 0, time.Hour); !errors.Is(err, errConflict) {
		t.Fatalf("a question waits that nobody will end: %v", err)
	}
	ask(t, a, "late", "k", true) // the same call comes again
	if err := a.Decide("late", []byte(`"yes"`), true, time.Now()); err != nil {
		t.Fatal(err)
	}
}

func TestForeignKey(t *testing.T) {
	s, other := testKey.sealer("x"), Key{[]string{strings.Repeat("o", 40)}}
	sealed := s.seal("place", []byte("text"))
	if got, err := s.unseal("place", sealed); err != nil || string(got) != "text" {
		t.Fatal(err)
	}
	for name, try := range map[string]sealer{"another key": other.sealer("x"), "another bucket": testKey.sealer("y")} {
		if _, err := try.unseal("place", sealed); err == nil {
			t.Errorf("%s opens it", name)
		}
	}
	if _, err := s.unseal("elsewhere", sealed); err == nil {
		t.Error("it opens under another key of the bucket")
	}
	rotated := Key{append([]string{strings.Repeat("n", 40)}, testKey.secrets...)}
	if _, err := rotated.sealer("x").unseal("place", sealed); err != nil {
		t.Errorf("a rotated key does not open what was sealed before: %v", err)
	}
}
