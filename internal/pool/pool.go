// Package pool runs jobs on reused goroutines.
package pool

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Pool runs jobs, none of which waits for another. A goroutine that has run a job waits for the next, because its stack
// has grown to what a request needs, and growing a new one costs as much as judging a call.
type Pool struct {
	jobs    chan func() // unbuffered: a send succeeds only if a goroutine waits
	waiting atomic.Int32
	wg      sync.WaitGroup
}

const (
	maxWaiting = 8                // goroutines waiting for a job
	unused     = 10 * time.Second // how long they wait, because an unused session must cost little
)

// New returns a pool without goroutines.
func New() *Pool { return &Pool{jobs: make(chan func())} }

// Run starts job and does not wait for it. Goroutines without a job end after a while, and with ctx, which MUST be the
// same for all jobs of a pool.
func (p *Pool) Run(ctx context.Context, job func()) {
	select {
	case p.jobs <- job:
	default:
		p.wg.Go(func() { p.work(ctx, job) })
	}
}

// Here runs job on the caller's goroutine.
func (p *Pool) Here(job func()) {
	p.wg.Add(1)
	defer p.wg.Done()
	job()
}

// Hold makes Wait wait until Release is called, for a job that goes on without a goroutine.
func (p *Pool) Hold() { p.wg.Add(1) }

// Release undoes Hold.
func (p *Pool) Release() { p.wg.Done() }

// Wait waits until no job is running and no goroutine of the pool is left. The ctx of the jobs MUST have ended, or end.
func (p *Pool) Wait() { p.wg.Wait() }

func (p *Pool) work(ctx context.Context, job func()) {
	bored := time.NewTimer(unused)
	defer bored.Stop()
	for {
		job()
		if p.waiting.Add(1) > maxWaiting {
			p.waiting.Add(-1)
			return
		}
		bored.Reset(unused)
		select {
		case job = <-p.jobs:
			p.waiting.Add(-1)
		case <-bored.C:
			p.waiting.Add(-1)
			return
		case <-ctx.Done():
			return
		}
	}
}
