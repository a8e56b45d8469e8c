package tasks

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"callgate/internal/jsonx"
)

// Assignment is a server's request that its host carries out as a task, as hosts of 2025-11-25 may. callgate judges it
// like any other before the host hears of it. A server sees and reaches only its own assignments.
type Assignment struct {
	ID     string // callgate's own id, which the server knows
	Theirs string // the host's id
	Server any    // the server that asked
	Token  []byte // progress token of the request as spelled, or nil

	shown  []byte      // the Task, as the server sees it; this and the rest are guarded by Assignments.mu
	over   bool        // the host has said so
	expiry *time.Timer // forgets it, once it is over
}

// NewAssignment returns the assignment for the task that the host has made of a server's request.
func NewAssignment(server any, token []byte, made Task) *Assignment {
	a := &Assignment{ID: "task-" + rand.Text(), Theirs: made.ID, Server: server, Token: bytes.Clone(token)}
	a.shown = jsonx.Put(made.Raw, "taskId", jsonx.Quote(a.ID))
	return a
}

// Named returns the server's id of the task that the host calls id, or "" if it is another task.
func (a *Assignment) Named(id string) string {
	if id == a.Theirs {
		return a.ID
	}
	return ""
}

// Assignments holds the assignments of one host.
type Assignments struct {
	mu  sync.Mutex
	all []*Assignment // oldest first
}

// maxAssignments bounds the tasks that one host has for its servers, including those whose result waits.
const maxAssignments = 64

var ErrAssignedTwice = errors.New("the host answered with a task that it has made for another request")

// Add keeps an assignment. If there are too many, the oldest that is over makes room.
func (b *Assignments) Add(a *Assignment) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if slices.ContainsFunc(b.all, func(have *Assignment) bool { return have.Theirs == a.Theirs && !have.over }) {
		return ErrAssignedTwice
	}
	if len(b.all) >= maxAssignments {
		i := slices.IndexFunc(b.all, func(have *Assignment) bool { return have.over })
		if i < 0 {
			return fmt.Errorf("the host has %d tasks of its servers: wait until one of them has ended", maxAssignments)
		}
		b.all[i].expiry.Stop()
		b.all = slices.Delete(b.all, i, i+1)
	}
	b.all = append(b.all, a)
	return nil
}

// Update notes the host's report on its task and returns it as the server sees it, or nil if it is about another task.
func (b *Assignments) Update(a *Assignment, t Task) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.ID != a.Theirs {
		return nil
	}
	a.shown = jsonx.Put(Related(t.Raw, a.Named), "taskId", jsonx.Quote(a.ID))
	if t.Over() && !a.over {
		a.over = true
		a.expiry = time.AfterFunc(min(max(t.TTL, Least), Kept), func() { b.drop(a) })
	}
	return a.shown
}

func (b *Assignments) drop(a *Assignment) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = slices.DeleteFunc(b.all, func(have *Assignment) bool { return have == a })
}

// Find returns the newest assignment for which meant returns true, or nil if there is none.
func (b *Assignments) Find(meant func(*Assignment) bool) *Assignment {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range slices.Backward(b.all) {
		if meant(a) {
			return a
		}
	}
	return nil
}

// Of returns the Tasks of a server, as it sees them.
func (b *Assignments) Of(s any) (shown [][]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range b.all {
		if a.Server == s {
			shown = append(shown, a.shown)
		}
	}
	return shown
}

// Leave forgets the assignments of a server, or of all servers if s is nil, and returns those that still run.
func (b *Assignments) Leave(s any) (running []*Assignment) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = slices.DeleteFunc(b.all, func(a *Assignment) bool {
		switch {
		case s != nil && a.Server != s:
			return false
		case a.expiry != nil:
			a.expiry.Stop()
		default:
			running = append(running, a)
		}
		return true
	})
	return running
}

// Open returns the newest running assignment for which meant returns true, or nil if there is none.
func (b *Assignments) Open(meant func(*Assignment) bool) *Assignment {
	return b.Find(func(a *Assignment) bool { return !a.over && meant(a) })
}
