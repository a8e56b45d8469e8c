package proxy

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestWorkersLeave has workers go when there is nothing to do for long, and come back.
func TestWorkersLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := workers{jobs: make(chan func())}
		var done atomic.Int32
		for range 3 {
			for range 2 * maxWaiting {
				w.run(context.Background(), func() { time.Sleep(time.Second); done.Add(1) })
			}
			time.Sleep(2 * time.Second)
			if n := w.waiting.Load(); n != maxWaiting {
				t.Errorf("%d workers wait, want %d", n, maxWaiting)
			}
			time.Sleep(unused)
			w.wg.Wait() // or the test ends with a deadlock
			if n := w.waiting.Load(); n != 0 {
				t.Errorf("%d workers wait for ever", n)
			}
		}
		if n := done.Load(); n != 6*maxWaiting {
			t.Errorf("%d jobs were run", n)
		}
	})
}
