package tenants

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Names become folders and buckets, and people read them.
func TestNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"acme": true, "a": true, "0": true, "a-b": true, strings.Repeat("a", 63): true,
		"": false, "-a": false, "Acme": false, "a.b": false, "..": false, ".": false, "a/b": false, `a\b`: false, "a_b": false, "a b": false,
		"аcme": false, "acme\n": false, "acme\x00": false, "ａcme": false, strings.Repeat("a", 64): false, "default": false, "%2e%2e": false,
	} {
		if err := CheckName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
	for text, c := range map[string]Config{
		"look the same":  {Names: []string{"acme1", "acmel"}},
		"appears twice":  {Each: []Tenant{{Name: "a"}, {Name: "a"}}},
		"and most is 1":  {Names: []string{"a", "b"}, Most: 1},
		"at least":       {Any: true, Limits: Limits{Bytes: 5}},
		"positive":       {Any: true, Each: []Tenant{{Name: "a", Limits: Limits{Sessions: -1}}}},
		"something else": {Any: true, Claim: "sub"},
	} {
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// The credential decides which tenant a client gets. The path can only choose among several.
func TestChoose(t *testing.T) {
	listed, anyone := Config{Names: []string{"acme", "beta"}}, Config{Any: true}
	for _, c := range []*Config{&listed, &anyone} {
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		config Config
		named  []string
		path   string
		open   bool
		want   string // "" if refused
	}{
		{listed, []string{"acme"}, "", false, "acme"},
		{listed, []string{"acme"}, "acme", false, "acme"},
		{listed, []string{"acme", "beta"}, "beta", false, "beta"},
		{listed, nil, "", true, ""},
		{listed, nil, "acme", true, "acme"},
		{listed, nil, "acme", false, ""},
		{listed, nil, "", false, ""},
		{listed, []string{"acme"}, "beta", false, ""},
		{listed, []string{"acme", "beta"}, "", false, ""},
		{listed, []string{"gamma"}, "", false, ""},
		{listed, []string{"ACME"}, "acme", false, ""},
		{anyone, []string{"gamma"}, "", false, "gamma"},
		{anyone, []string{".."}, "", false, ""},
		{anyone, []string{""}, "", false, ""},
		{anyone, []string{"../acme"}, "../acme", false, ""},
		{anyone, []string{"default"}, "", false, ""},
		{anyone, []string{"Acme"}, "", false, ""},
	} {
		got, err := c.config.Choose(c.named, c.path, c.open)
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%q by the path %q: %q, %v", c.named, c.path, got, err)
		}
		if refused := (*Refused)(nil); err != nil && !errors.As(err, &refused) {
			t.Errorf("%q by the path %q: the error is %T", c.named, c.path, err)
		}
	}
}

func TestMayBegin(t *testing.T) {
	c := Config{Any: true, Most: 3, Names: []string{"listed"}}
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	for name, ok := range map[string]bool{"old": true, "listed": true, "new": true, "o1d": false, "0ld": false, "l1sted": false} {
		if err := c.MayBegin(name, []string{"old"}); (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	if c.MayBegin("new", []string{"old", "other"}) == nil {
		t.Error("there are more than most")
	}
	if err := c.MayBegin("listed", []string{"old", "other"}); err != nil {
		t.Error(err)
	}
}

// A tenant with a thousand waiting requests delays another's next request by one round.
func TestTurnsAreFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(1)
		first, err := turns.Take(t.Context(), "flood", 1)
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var order []string
		run := func(tenant string, weight, n int) {
			for range n {
				go func() {
					end, err := turns.Take(t.Context(), tenant, weight)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					order = append(order, tenant)
					mu.Unlock()
					end()
				}()
				synctest.Wait()
			}
		}
		run("flood", 1, 1000)
		run("heavy", 3, 6)
		run("small", 1, 2)
		first()
		synctest.Wait()
		if len(order) != 1008 {
			t.Fatalf("%d turns", len(order))
		}
		want := "flood heavy heavy heavy small flood heavy heavy heavy small flood"
		if got := strings.Join(order[:11], " "); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

// One tenant has at most half of the turns, so another's first request need not wait, however many requests do.
func TestATenantLeavesTurnsToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(4)
		took := make(chan func(), 10)
		for range cap(took) {
			go func() {
				end, err := turns.Take(t.Context(), "flood", 1)
				if err != nil {
					t.Error(err)
				}
				took <- end
			}()
		}
		synctest.Wait()
		began := time.Now()
		var others []func()
		for range 2 {
			end, err := turns.Take(t.Context(), "small", 1)
			if err != nil || time.Since(began) != 0 || len(took) != 2 {
				t.Errorf("after %s, with %d turns of the flood: %v", time.Since(began), len(took), err)
			}
			others = append(others, end)
		}
		for left := range cap(took) {
			if more := len(took); more != min(2, cap(took)-left) {
				t.Errorf("%d turns of the flood at once, with %d requests left", more, cap(took)-left)
			}
			(<-took)()
			synctest.Wait()
		}
		for _, end := range others {
			end()
		}
		if turns.free != 4 || len(turns.queues) != 0 || len(turns.of) != 0 {
			t.Errorf("%d turns are free, %d queues and %d tenants are left", turns.free, len(turns.queues), len(turns.of))
		}
	})
}

// A turn ends by itself, so a request that waits for a person or a server blocks nobody.
func TestTurnsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(1)
		slow, err := turns.Take(t.Context(), "slow", 1)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		end, err := turns.Take(t.Context(), "small", 1)
		if err != nil || time.Since(began) != longest {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := turns.Take(ctx, "gone", 1); err == nil {
			t.Error("who went away has a turn")
		}
		slow()
		end()
		end()
		if turns.free != 1 || len(turns.queues) != 0 || len(turns.of) != 0 {
			t.Errorf("%d turns are free, %d queues and %d tenants are left", turns.free, len(turns.queues), len(turns.of))
		}
	})
}

func TestQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQuota(Limits{InFlight: 2, CallsPerMinute: 3, Sessions: 1})
		one, err := q.Call()
		if err != nil {
			t.Fatal(err)
		}
		if _, err = q.Call(); err != nil {
			t.Fatal(err)
		}
		var refused *QuotaError
		if _, err := q.Call(); !errors.As(err, &refused) || refused.After != time.Second {
			t.Errorf("a third call in flight: %v", err)
		}
		one()
		one()
		if one, err = q.Call(); err != nil {
			t.Fatal(err)
		}
		one()
		if _, err := q.Call(); !errors.As(err, &refused) || refused.After != 20*time.Second {
			t.Errorf("a fourth call in the minute: %v, %+v", err, refused)
		}
		time.Sleep(20 * time.Second)
		if _, err := q.Call(); err != nil {
			t.Error(err)
		}
		end, err := q.Session()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := q.Session(); !errors.As(err, &refused) {
			t.Errorf("a second session: %v", err)
		}
		q.Set(Limits{Sessions: 2})
		if _, err := q.Session(); err != nil {
			t.Error(err)
		}
		end()
		if q.Sessions() != 1 {
			t.Errorf("%d sessions", q.Sessions())
		}
	})
}

// The first client opens a tenant, and it closes when nobody uses it. A client meanwhile waits until it reopens.
func TestPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var said []string
		say := func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			said = append(said, fmt.Sprintf(format, args...))
		}
		var busy atomic.Bool
		busy.Store(true)
		p := &Pool[string]{
			Open: func(name string) (string, error) {
				say("open %s", name)
				time.Sleep(time.Second)
				if name == "bad" {
					return "", errors.New("it does not open")
				}
				return name, nil
			},
			Busy: func(string) bool { return busy.Load() }, Close: func(name string) { say("close %s", name); time.Sleep(time.Second) }, Idle: time.Minute,
		}
		ctx, stop := context.WithCancel(t.Context())
		go p.Sweep(ctx)
		var coming sync.WaitGroup
		for range 3 {
			coming.Go(func() {
				if _, leave, err := p.Hold(ctx, "a"); err != nil {
					t.Error(err)
				} else {
					leave()
				}
			})
		}
		coming.Wait()
		if _, _, err := p.Hold(ctx, "bad"); err == nil {
			t.Error("it opened")
		}
		time.Sleep(time.Hour)
		busy.Store(false)
		time.Sleep(2*time.Minute + 100*time.Millisecond)
		_, leave, err := p.Hold(ctx, "a")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		stop()
		p.End()
		leave()
		if _, _, err := p.Hold(t.Context(), "a"); err == nil {
			t.Error("it opened after the end")
		}
		if want := []string{"open a", "open bad", "close a", "open a", "close a"}; !slices.Equal(said, want) {
			t.Errorf("%q", said)
		}
	})
}

// A tenant whose opening panics is tried again, and blocks others no more than a failed one.
func TestPoolAfterAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		panics := true
		p := &Pool[string]{Open: func(name string) (string, error) {
			if panics {
				panic("it panics")
			}
			return name, nil
		}, Close: func(string) {}}
		for range atOnce + 1 {
			func() {
				defer func() { _ = recover() }() // as an HTTP server does
				_, _, _ = p.Hold(t.Context(), "a")
			}()
		}
		panics = false
		value, _, err := p.Hold(t.Context(), "a")
		if err != nil || value != "a" {
			t.Errorf("%q, %v", value, err)
		}
		p.End()
	})
}

// A client that leaves before its tenant's turn to be opened ends its wait. Another client of that tenant goes on.
func TestPoolWithoutItsFirstClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Pool[string]{Open: func(name string) (string, error) { time.Sleep(time.Hour); return name, nil }, Close: func(string) {}}
		hold := func(ctx context.Context, name string) (err error) { _, _, err = p.Hold(ctx, name); return err }
		for i := range atOnce {
			go func() { _ = hold(t.Context(), fmt.Sprint(i)) }() // they take all slots
		}
		synctest.Wait()
		ctx, leave := context.WithTimeout(t.Context(), time.Minute)
		defer leave()
		var coming sync.WaitGroup
		coming.Go(func() {
			began := time.Now()
			if err := hold(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > time.Minute {
				t.Errorf("after %s: %v", time.Since(began), err)
			}
		})
		synctest.Wait()
		coming.Go(func() {
			if err := hold(t.Context(), "a"); err != nil {
				t.Error(err)
			}
		})
		coming.Wait()
		p.End()
	})
}

// HoldAll returns every tenant that has begun to open, including those still opening. None of them closes meanwhile.
func TestHoldAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := false
		p := &Pool[string]{
			Open: func(name string) (string, error) { time.Sleep(time.Second); return name, nil },
			Busy: func(string) bool { return false }, Close: func(string) { closed = true }, Idle: time.Minute,
		}
		ctx, stop := context.WithCancel(t.Context())
		go p.Sweep(ctx)
		go func() {
			if _, leave, err := p.Hold(ctx, "a"); err == nil {
				leave()
			}
		}()
		synctest.Wait()
		names, values, leave := p.HoldAll()
		if !slices.Equal(names, []string{"a"}) || !slices.Equal(values, names) {
			t.Errorf("%q, %q", names, values)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if closed {
			t.Error("it closed while it was held")
		}
		leave()
		leave()
		time.Sleep(time.Hour)
		synctest.Wait()
		if !closed {
			t.Error("it is open, and nobody holds it")
		}
		stop()
		p.End()
	})
}

// A tenant that is no longer known closes when nobody holds it, even if it is busy. One that is known again stays.
func TestRetire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var closed []string
		p := &Pool[string]{
			Open: func(name string) (string, error) { return name, nil },
			Busy: func(string) bool { return true }, Close: func(name string) { closed = append(closed, name) }, Idle: time.Hour,
		}
		ctx, stop := context.WithCancel(t.Context())
		go p.Sweep(ctx)
		leaves := map[string]func(){}
		for _, name := range []string{"a", "b", "c"} {
			_, leave, err := p.Hold(ctx, name)
			if err != nil {
				t.Fatal(err)
			}
			leaves[name] = leave
		}
		leaves["b"]()
		p.Retire(func(name string) bool { return name == "c" })
		synctest.Wait()
		if !slices.Equal(closed, []string{"b"}) {
			t.Errorf("%q are closed, and a is held", closed)
		}
		p.Retire(func(name string) bool { return true })
		leaves["a"]()
		synctest.Wait()
		p.Retire(func(name string) bool { return name == "a" })
		leaves["c"]()
		synctest.Wait()
		if !slices.Equal(closed, []string{"b", "c"}) {
			t.Errorf("%q are closed", closed)
		}
		stop()
		p.End()
	})
}
