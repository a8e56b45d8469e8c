package rpc

import (
	"sync/atomic"
	"time"
)

// reading tracks which goroutine reads from a connection. There is one at a time. That goroutine handles most messages
// itself, because waking another one costs as much as judging a call.
type reading struct {
	lines  *lines
	handle func(Message)
	ended  chan error // buffered for the only end

	// turn counts jobs, and is odd while one runs on the reading goroutine. Whoever makes it even continues to read:
	// either that goroutine, or a new one. In the second case, the job is left behind on the old goroutine.
	turn atomic.Uint64

	watch    *time.Timer
	watching atomic.Bool
	seen     uint64 // turn at the last look; used by whoever set watching, and then by look
}

const (
	oneJob   = 2
	leftJob  = 3                     // added to the turn of a job that is left behind
	patience = 10 * time.Millisecond // how long a job may run before another goroutine reads on
)

// Here runs a job about a message on the goroutine that handles it, at most one for each message. The job may wait for
// anything: another goroutine reads on if it takes long, or if it announces that with Lend.
func (c *Conn) Here(job func()) {
	turn := c.reading.turn.Add(1)
	c.reading.look(turn)
	job()
	c.reading.turn.CompareAndSwap(turn, turn+1)
}

// Lend lets another goroutine read on. A job that is about to wait calls it.
func (c *Conn) Lend() {
	if turn := c.reading.turn.Load(); turn&1 == 1 && c.reading.turn.CompareAndSwap(turn, turn+leftJob) {
		go c.read()
	}
}

// look starts to watch how long jobs take, unless that is watched already.
func (r *reading) look(turn uint64) {
	if r.watching.CompareAndSwap(false, true) {
		r.seen = turn
		r.watch.Reset(patience)
	}
}

// look leaves a job behind that it has seen before. It looks again as long as a job is running.
func (c *Conn) look() {
	r := c.reading
	turn := r.turn.Load()
	switch {
	case turn&1 == 0:
		r.watching.Store(false)
		if now := r.turn.Load(); now&1 == 1 { // a job began before watching became false
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
