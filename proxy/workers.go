package proxy

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// workers run jobs side by side. A goroutine that has run one waits for the next: its stack has grown to
// what a request needs, and to grow a new one costs as much as to judge a call.
type workers struct {
	jobs    chan func() // unbuffered: who sends has a worker that waits
	waiting atomic.Int32
	wg      sync.WaitGroup
}

const (
	maxWaiting = 8                // goroutines that wait for a job
	unused     = 10 * time.Second // after which they do not: a session that nobody uses has to cost little
)

// run starts job and does not wait for it. Workers without a job end after a while, and with ctx.
func (w *workers) run(ctx context.Context, job func()) {
	select {
	case w.jobs <- job:
	default:
		w.wg.Go(func() { w.work(ctx, job) })
	}
}

func (w *workers) work(ctx context.Context, job func()) {
	bored := time.NewTimer(unused)
	defer bored.Stop()
	for {
		job()
		if w.waiting.Add(1) > maxWaiting {
			w.waiting.Add(-1)
			return
		}
		bored.Reset(unused)
		select {
		case job = <-w.jobs:
			w.waiting.Add(-1)
		case <-bored.C:
			w.waiting.Add(-1)
			return
		case <-ctx.Done():
			return
		}
	}
}
