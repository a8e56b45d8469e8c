package upstream

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestIdleServerIsStoppedAndStartedOnUse(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	cfg := configOf(t, behaviour{})
	cfg.IdleTimeout = 100 * time.Millisecond
	u := open(t, cfg, Options{Events: h.events()})
	first := call(t, u, "child", "")
	h.wait("state ready")
	h.wait("state idle")
	if s := u.Status(); s.PID != 0 || s.Reason != "" {
		t.Errorf("idle, but %+v", s)
	}
	if _, known := u.Info(); !known {
		t.Error("what the server said is forgotten")
	}
	if again := call(t, u, "child", ""); again == first {
		t.Error("it is the same process")
	}
	h.wait("state ready")
}

// Requests that come while the server is being stopped go to the next process, and none is lost.
func TestNoRequestIsLostToIdleness(t *testing.T) {
	t.Parallel()
	cfg := configOf(t, behaviour{})
	cfg.IdleTimeout = 5 * time.Millisecond
	u := open(t, cfg, Options{})
	var calls sync.WaitGroup
	for range 4 {
		calls.Go(func() {
			for i := range 6 {
				if _, err := u.Request(short(t), "x", nil); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Duration(i) * 3 * time.Millisecond)
			}
		})
	}
	calls.Wait()
}

func TestUsage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var u usage
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan time.Time, 1)
		began := time.Now()
		go func() {
			if u.idle(ctx, time.Minute, nil) {
				ended <- time.Now()
			}
		}()
		time.Sleep(30 * time.Second)
		if !u.begin() {
			t.Fatal("refused")
		}
		time.Sleep(10 * time.Minute) // while a request is running, the server is in use
		u.end()
		if got := (<-ended).Sub(began); got < 11*time.Minute+30*time.Second || got > 13*time.Minute {
			t.Errorf("idle after %v", got)
		}
		if u.begin() {
			t.Error("a retired one took a request")
		}
	})
}

// A server whose sandbox now allows less is stopped when nobody uses it, and started on use.
func TestNarrowedServerIsStopped(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	cfg := configOf(t, behaviour{})
	less := make(chan struct{}, 1)
	cfg.terms.Narrowed = func(ctx context.Context) error {
		select {
		case <-less:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	u := open(t, cfg, Options{Events: h.events()})
	first := call(t, u, "child", "")
	h.wait("state ready")
	less <- struct{}{}
	h.wait("state idle")
	if again := call(t, u, "child", ""); again == first {
		t.Error("it is the same process")
	}
	h.wait("state ready")
}
