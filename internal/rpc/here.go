package rpc

import (
	"sync/atomic"
	"time"
)

// reading says which goroutine reads from a connection: one at a time. That goroutine handles most messages itself,
// because waking another one costs as much as judging a call.
type reading struct {
	lines  *lines
	handle func(Message)
	ended  chan error // has room for the one end

	// turn counts jobs, and is odd while one runs on the goroutine that reads. Who makes it even goes on reading: that
	// goroutine itself, or a new one, and then the job is left behind on the old.
	turn atomic.Uint64

	watch    *time.Timer
	watching atomic.Bool
	seen     uint64 // turn at the last look; of who set watching, and then of look
}

const (
	oneJob   = 2
	leftJob  = 3                     // added to the turn of a job that is left behind
	patience = 10 * time.Millisecond // with a job, before another goroutine goes on reading
)

// Here runs a job about a message on the goroutine that handles it, at most one for a message. The job may wait for
// anything: another goroutine goes on reading when it takes long, or says with Lend that it will.
func (c *Conn) Here(job func()) {
	turn := c.reading.turn.Add(1)
	c.reading.look(turn)
	job()
	c.reading.turn.CompareAndSwap(turn, turn+1)
}

// Lend lets another goroutine go on reading. A job calls it that is about to wait.
func (c *Conn) Lend() {
	if turn := c.reading.turn.Load(); turn&1 == 1 && c.reading.turn.CompareAndSwap(turn, turn+leftJob) {
		go c.read()
	}
}

// look begins to watch how long jobs take, unless that is watched.
func (r *reading) look(turn uint64) {
	if r.watching.CompareAndSwap(false, true) {
		r.seen = turn
		r.watch.Reset(patience)
	}
}

// look lends the turn of a job that was seen before. It looks again as long as there is one.
func (c *Conn) look() {
	r := c.reading
	turn := r.turn.Load()
	switch {
	case turn&1 == 0:
		r.watching.Store(false)
		if now := r.turn.Load(); now&1 == 1 { // it began before that was known
			r.look(now)
		}
		return
	case turn == r.seen:
		if r.turn.CompareAndSwap(turn, turn+leftJob) {
			go c.read()
		}
	}
	r.seen = turn
	r.watch.Reset(patience)
}
