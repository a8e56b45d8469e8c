package pool

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestGoroutinesLeave checks that goroutines end after a long time without work, and start again.
func TestGoroutinesLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		var done atomic.Int32
		for range 3 {
			for range 2 * maxWaiting {
				p.Run(context.Background(), func() { time.Sleep(time.Second); done.Add(1) })
			}
			time.Sleep(2 * time.Second)
			if n := p.waiting.Load(); n != maxWaiting {
				t.Errorf("%d goroutines wait, want %d", n, maxWaiting)
			}
			time.Sleep(unused)
			p.Wait() // otherwise the test ends with a deadlock
			if n := p.waiting.Load(); n != 0 {
				t.Errorf("%d goroutines wait for ever", n)
			}
		}
		if n := done.Load(); n != 6*maxWaiting {
			t.Errorf("%d jobs were run", n)
		}
	})
}

// TestJobsDoNotWait runs more jobs at once than there are waiting goroutines.
func TestJobsDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		ctx, end := context.WithCancel(context.Background())
		const jobs = 3 * maxWaiting
		for range 2 {
			ran, release := make(chan int, jobs), make(chan struct{})
			for i := range jobs { // all at once: no job waits for another
				p.Run(ctx, func() { <-release; ran <- i })
			}
			synctest.Wait()
			close(release)
			synctest.Wait()
			if len(ran) != jobs {
				t.Fatalf("%d of %d jobs ran", len(ran), jobs)
			}
			if n := p.waiting.Load(); n != maxWaiting {
				t.Fatalf("%d goroutines wait for jobs", n)
			}
		}
		end()
		p.Wait()
	})
}
