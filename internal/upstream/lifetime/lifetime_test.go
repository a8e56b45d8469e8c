package lifetime

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

type key struct{}

// A request's context always answers as a context derived at that moment would, and so do contexts derived from it.
func TestLikeAContext(t *testing.T) {
	whys := []error{nil, context.Canceled, errors.New("taken back"), errors.New("stopped")}
	rapid.Check(t, func(t *rapid.T) {
		parent, endParent := context.WithCancelCause(context.WithValue(context.Background(), key{}, "value"))
		defer endParent(nil)
		want, end := context.WithCancelCause(parent)
		defer end(nil)
		got := New(parent, "cause")
		pairs := [][2]context.Context{{got, want}}
		check := func() {
			for i, p := range pairs {
				if p[0].Err() != p[1].Err() || p[0].Value(key{}) != p[1].Value(key{}) {
					t.Fatalf("context %d: %v and %v, want %v and %v", i, p[0].Err(), p[0].Value(key{}), p[1].Err(), p[1].Value(key{}))
				}
				if CauseOf(p[0]) != "cause" {
					t.Fatalf("context %d: it is for %v", i, CauseOf(p[0]))
				}
				if g, w := context.Cause(p[0]), context.Cause(p[1]); g != w {
					t.Fatalf("context %d: because %v, want %v", i, g, w)
				}
				select {
				case <-p[0].Done():
					if p[1].Err() == nil {
						t.Fatalf("context %d is done", i)
					}
				default:
					if p[1].Err() != nil {
						t.Fatalf("context %d is not done", i)
					}
				}
			}
		}
		for range rapid.IntRange(0, 6).Draw(t, "steps") {
			why := rapid.SampledFrom(whys).Draw(t, "why")
			switch rapid.SampledFrom([]string{"end", "end parent", "derive", "look", "ask why", "ask whether"}).Draw(t, "step") {
			case "end":
				got.End(why)
				end(why)
			case "end parent":
				endParent(why)
			case "derive":
				a, endA := context.WithCancel(got)
				defer endA()
				b, endB := context.WithCancel(want)
				defer endB()
				pairs = append(pairs, [2]context.Context{a, b})
			case "look":
				check()
			case "ask why":
				if g, w := got.Cause(), context.Cause(want); g != w {
					t.Fatalf("because %v, want %v", g, w)
				}
			case "ask whether":
				if got.Err() != want.Err() {
					t.Fatalf("%v, want %v", got.Err(), want.Err())
				}
			}
		}
		check()
	})
}

type watcher chan string

func (w watcher) RequestEnded() { w <- "ended" }

// A watcher hears of the end once, whenever it comes, and not after Unwatch.
func TestWatch(t *testing.T) {
	for name, c := range map[string]struct {
		do    func(r *Request, w watcher)
		hears int
	}{
		"before":  {func(r *Request, w watcher) { r.Watch(w); r.End(nil); r.End(nil) }, 1},
		"after":   {func(r *Request, w watcher) { r.End(nil); r.Watch(w) }, 1},
		"no more": {func(r *Request, w watcher) { r.Watch(w); r.Unwatch(); r.End(nil) }, 0},
		"no end":  {func(r *Request, w watcher) { r.Watch(w) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := make(watcher, 2)
				c.do(New(t.Context(), nil), w)
				time.Sleep(time.Second)
				if len(w) != c.hears {
					t.Errorf("it hears %d times, want %d", len(w), c.hears)
				}
			})
		})
	}
}

// A request that nobody waits for derives nothing.
func TestDerivesNothing(t *testing.T) {
	parent, w := t.Context(), make(watcher, 1)
	var r Request
	if n := testing.AllocsPerRun(100, func() {
		r = Request{}
		r.Begin(parent, &w)
		_, _, _ = r.Err(), r.Cause(), CauseOf(&r)
		r.Watch(w)
		r.Unwatch()
		r.End(nil)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
