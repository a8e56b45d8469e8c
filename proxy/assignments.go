package proxy

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"callgate/internal/jsonx"
)

// assignments are those of one host.
type assignments struct {
	mu  sync.Mutex
	all []*assignment // in their order
}

// maxAssignments bounds the tasks that one host has of servers, those included whose result waits.
const maxAssignments = 64

var errAssignedTwice = errors.New("the host answered with a task that it has made for another request")

// add keeps an assignment. One that is over makes room.
func (b *assignments) add(a *assignment) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if slices.ContainsFunc(b.all, func(have *assignment) bool { return have.theirs == a.theirs && !have.over }) {
		return errAssignedTwice
	}
	if len(b.all) >= maxAssignments {
		i := slices.IndexFunc(b.all, func(have *assignment) bool { return have.over })
		if i < 0 {
			return fmt.Errorf("the host has %d tasks of its servers: wait until one of them has ended", maxAssignments)
		}
		b.all[i].expiry.Stop()
		b.all = slices.Delete(b.all, i, i+1)
	}
	b.all = append(b.all, a)
	return nil
}

// sees notes what the host says of its task and returns it as the server sees it; nil when it is not of that task.
func (b *assignments) sees(a *assignment, t serverTask) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.id != a.theirs {
		return nil
	}
	a.shown = jsonx.Put(related(t.raw, a.named), "taskId", jsonx.Quote(a.id))
	if t.over() && !a.over {
		a.over = true
		a.expiry = time.AfterFunc(min(max(t.ttl, deferredLeast), deferredKept), func() { b.drop(a) })
	}
	return a.shown
}

func (b *assignments) drop(a *assignment) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = slices.DeleteFunc(b.all, func(have *assignment) bool { return have == a })
}

// find returns the newest that is meant, nil when there is none.
func (b *assignments) find(meant func(*assignment) bool) *assignment {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range slices.Backward(b.all) {
		if meant(a) {
			return a
		}
	}
	return nil
}

// of returns the Tasks of a server, as it sees them.
func (b *assignments) of(s *server) (shown [][]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range b.all {
		if a.server == s {
			shown = append(shown, a.shown)
		}
	}
	return shown
}

// leave forgets the assignments of a server and returns those that still run; nil means all servers.
func (b *assignments) leave(s *server) (running []*assignment) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = slices.DeleteFunc(b.all, func(a *assignment) bool {
		switch {
		case s != nil && a.server != s:
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
