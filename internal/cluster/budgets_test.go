package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"callgate/gate"
	"callgate/internal/testserver/waits"
)

// takeAll takes one after another until a replica refuses, and returns how many it got.
func takeAll(t *testing.T, tally gate.Tally, limit int) (n int) {
	for {
		may, err := tally.Take(1, limit)
		if err != nil && !errors.Is(err, ErrAway) { // a replica that cannot count refuses
			t.Error(err)
		}
		if err != nil || !may {
			return n
		}
		n++
	}
}

func TestBudgets(t *testing.T) {
	t.Parallel()
	all := open(t, 3)
	tallies := func(how gate.Counted) (list []gate.Tally) {
		for _, c := range all {
			list = append(list, c.Budgets().Tally(how))
		}
		return list
	}

	t.Run("replicas take no more than the limit together, and no less", func(t *testing.T) {
		const limit = 100
		var got atomic.Int32
		var taking sync.WaitGroup
		one := tallies(gate.Counted{Name: "turn.a", Idle: time.Hour, Leases: true})
		for i := range 12 {
			taking.Go(func() { got.Add(int32(takeAll(t, one[i%3], limit))) })
		}
		taking.Wait()
		if n := int(got.Load()); n > limit || n < limit-2*slice(limit, 3) {
			t.Fatalf("%d of %d were taken", n, limit)
		}
		waits.Until(t, "what a replica holds and does not use comes back", func() bool {
			for i := range one {
				got.Add(int32(takeAll(t, one[i], limit)))
			}
			return got.Load() >= limit
		})
		if got.Load() != limit {
			t.Fatalf("%d of %d were taken", got.Load(), limit)
		}
	})

	t.Run("what is held costs no round trip", func(t *testing.T) {
		one := all[0].Budgets().Tally(gate.Counted{Name: "turn.b", Idle: time.Hour, Leases: true})
		if may, err := one.Take(1, 1000); !may || err != nil {
			t.Fatal(may, err)
		}
		held := one.(*tally)
		held.mu.Lock()
		rev, left := held.rev, held.mine().Held-held.used
		held.mu.Unlock()
		if left < slice(999, 3) {
			t.Fatalf("it holds %d more", left)
		}
		held.writing.Lock() // writers wait
		defer held.writing.Unlock()
		for range left / 2 {
			if may, err := one.Take(1, 1000); !may || err != nil {
				t.Fatal(may, err)
			}
		}
		held.mu.Lock()
		defer held.mu.Unlock()
		if held.rev != rev {
			t.Fatal("it was written")
		}
	})

	t.Run("a turn is over when no replica had a call", func(t *testing.T) {
		one := tallies(gate.Counted{Name: "turn.c", Idle: 4 * time.Second, Leases: true})
		waits.Until(t, "the turn is used up", func() bool { return takeAll(t, one[0], 10)+takeAll(t, one[1], 10) == 0 })
		third := one[2].(*tally)
		waits.Until(t, "nobody asks for long", func() bool { third.mu.Lock(); defer third.mu.Unlock(); return third.over() })
		if may, err := one[2].Take(1, 10); !may || err != nil {
			t.Fatal("no turn begins: ", err)
		}
		waits.Until(t, "all replicas hear of it", func() bool { return one[0].Count() < 10 && one[1].Count() < 10 })
	})

	t.Run("a prompt begins a turn at all replicas", func(t *testing.T) {
		one := tallies(gate.Counted{Name: "turn.d", Idle: time.Hour, Leases: true})
		waits.Until(t, "the turn is used up", func() bool { return takeAll(t, one[0], 10)+takeAll(t, one[1], 10) == 0 })
		one[2].Begin()
		waits.Until(t, "it begins anew", func() bool { may, err := one[0].Take(1, 10); return may && err == nil })
	})

	t.Run("a prompt begins one turn", func(t *testing.T) {
		one := all[0].Budgets().Tally(gate.Counted{Name: "turn.g", Idle: time.Hour, Leases: true}).(*tally)
		now := func() (turn int, anew bool) {
			one.mu.Lock()
			defer one.mu.Unlock()
			return one.now.Turn, one.anew()
		}
		for range 100 {
			one.writing.Lock() // the previous write was answered, so prompts that come at once begin one turn
			before, _ := now()
			one.writing.Unlock()
			one.Begin()
			waits.Until(t, "a turn begins", func() bool { turn, anew := now(); return turn > before && !anew })
			if turn, _ := now(); turn != before+1 {
				t.Fatalf("%d turns began", turn-before)
			}
		}
	})

	t.Run("a prompt that comes before the answer to the write for another begins a turn too", func(t *testing.T) {
		one := all[0].Budgets().Tally(gate.Counted{Name: "turn.h", Idle: time.Hour, Leases: true}).(*tally)
		answered := func(next upcoming, rev uint64) error { return one.write(next, rev) }
		lost := func(next upcoming, rev uint64) error {
			body, err := json.Marshal(next.spending)
			if err == nil {
				_, err = all[0].bucket.write(context.Background(), one.key, body, rev, keepBudget)
			}
			return err
		}
		for _, write := range []func(upcoming, uint64) error{answered, lost} {
			one.writing.Lock() // the background waits
			one.Begin()
			one.mu.Lock()
			next, _, before := one.next()
			rev := one.rev
			one.mu.Unlock()
			one.Begin()
			if err := write(next, rev); err != nil {
				t.Fatal(err)
			}
			waits.Until(t, "the first turn is heard of", func() bool { one.mu.Lock(); defer one.mu.Unlock(); return one.now.Turn == before+1 })
			one.writing.Unlock()
			waits.Until(t, "the second turn begins", func() bool {
				one.mu.Lock()
				defer one.mu.Unlock()
				return one.now.Turn == before+2 && !one.anew()
			})
		}
	})

	t.Run("what is lost counts for its window, and what people allowed too", func(t *testing.T) {
		one := tallies(gate.Counted{Name: "lost.a", Within: 6 * time.Second})
		if n := takeAll(t, one[0], 2) + takeAll(t, one[1], 4); n != 4 {
			t.Fatalf("%d were taken", n)
		}
		one[2].Add(3)
		waits.Until(t, "the others hear", func() bool { return one[0].Count() == 7 })
		waits.Until(t, "the window passes", func() bool { return one[0].Count() == 0 && one[1].Count() == 0 && one[2].Count() == 0 })
	})

	t.Run("places of calls that ended are free", func(t *testing.T) {
		one := tallies(gate.Counted{Name: "runs.a", Leases: true})
		if n := takeAll(t, one[0], 4); n == 0 {
			t.Fatal("there was no place")
		} else {
			waits.Until(t, "all places are taken", func() bool { n += takeAll(t, one[0], 4); return n == 4 })
		}
		if may, err := one[1].Take(1, 4); may || err != nil {
			t.Fatal(may, err)
		}
		one[0].Give(4)
		waits.Until(t, "another replica gets one", func() bool { may, err := one[1].Take(1, 4); return may && err == nil })
	})

	t.Run("an entry that somebody takes away is written again", func(t *testing.T) {
		one := tallies(gate.Counted{Name: "runs.b"})
		if n := takeAll(t, one[0], 3); n != 3 {
			t.Fatal(n)
		}
		if err := all[1].bucket.drop(context.Background(), "budget.runs.b"); err != nil {
			t.Fatal(err)
		}
		waits.Until(t, "the replica says again what it uses", func() bool { may, err := one[1].Take(1, 3); return !may && err == nil })
	})

	t.Run("an entry that a look at an old state of the bucket left out is found again", func(t *testing.T) {
		one := all[0].Budgets().Tally(gate.Counted{Name: "runs.d"})
		if n := takeAll(t, one, 2); n != 2 {
			t.Fatal(n)
		}
		bucket := all[0].bucket
		bucket.note("budget.runs.d", value{rev: bucket.last("budget.runs.d").rev + 1}) // as forget does
		var refused atomic.Bool
		go func() {
			may, err := one.Take(1, 2)
			refused.Store(!may && err == nil)
		}()
		waits.Until(t, "it is refused", refused.Load)
		one.Give(1)
		waits.Until(t, "another is taken", func() bool { may, err := one.Take(1, 2); return may && err == nil })
	})

	t.Run("a budget that is over is forgotten", func(t *testing.T) {
		one := all[0].Budgets().Tally(gate.Counted{Name: "runs.c"})
		if may, err := one.Take(1, 3); !may || err != nil {
			t.Fatal(may, err)
		}
		one.Give(1)
		one.Close()
		waits.Until(t, "it is forgotten", func() bool {
			b := all[0].Budgets()
			b.mu.Lock()
			defer b.mu.Unlock()
			return b.all["budget.runs.c"] == nil
		})
	})

	t.Run("a turn goes on at a replica that refused all, and was asked no more", func(t *testing.T) {
		how := gate.Counted{Name: "turn.f", Idle: time.Hour, Leases: true}
		one := tallies(how)
		n := 0
		waits.Until(t, "the turn is used up", func() bool { n += takeAll(t, one[0], 10); return n == 10 })
		if takeAll(t, one[1], 10) != 0 {
			t.Fatal("more than the limit was taken")
		}
		one[1].Close()
		b := all[1].Budgets()
		waits.Until(t, "it says that it was asked", func() bool {
			v := b.c.bucket.last("budget.turn.f")
			var now spending
			return json.Unmarshal(v.body, &now) == nil && now.By == b.c.epoch
		})
		for range 2 {
			b.round()
		}
		if n := takeAll(t, b.Tally(how), 10); n != 0 {
			t.Fatalf("%d more than the limit were taken", n)
		}
	})

	t.Run("what a dead replica held comes back", func(t *testing.T) {
		const limit = 60
		one := tallies(gate.Counted{Name: "turn.e", Idle: time.Hour, Leases: true})
		if may, err := one[0].Take(1, limit); !may || err != nil {
			t.Fatal(may, err)
		}
		all[0].die()
		n := 1
		waits.Until(t, "the others take all that is left", func() bool { n += takeAll(t, one[1], limit) + takeAll(t, one[2], limit); return n >= limit })
		if n != limit {
			t.Fatalf("%d of %d were taken", n, limit)
		}
		all[1].die()
		waits.Until(t, "it notices that it is alone", func() bool { return all[2].Fresh() != nil })
		if may, err := one[2].Take(1, 1000); may || err == nil {
			t.Fatal("something was taken that nobody could count")
		}
	})
}

// TestASliceIsSmallAfterAPause: a replica that has heard from nobody for a while still counts the others.
func TestASliceIsSmallAfterAPause(t *testing.T) {
	r := &replicas{known: map[string]heard{
		"a": {Replica{Name: "a", Lives: true}, time.Now()},
		"b": {Replica{Name: "b"}, time.Now().Add(-time.Minute)},
		"c": {Replica{Name: "c"}, time.Now().Add(-2 * keepBudget)},
	}}
	if n := r.recent(); n != 2 {
		t.Errorf("%d replicas share a limit", n)
	}
}
