package proxy

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/internal/upstream"
)

// deferrals are the tasks of one host. It sees and reaches no others.
type deferrals struct {
	offered atomic.Bool // the host was told that calls can be tasks

	mu  sync.Mutex
	all []*deferred // in the order of their calls
}

// add keeps a task; false when there are too many. One that is over makes room.
func (b *deferrals) add(d *deferred) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.all) >= maxDeferred {
		i := slices.IndexFunc(b.all, (*deferred).isOver)
		if i < 0 {
			return false
		}
		b.all = slices.Delete(b.all, i, i+1)
	}
	b.all = append(b.all, d)
	return true
}

func (d *deferred) isOver() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.over
}

func (b *deferrals) drop(d *deferred) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = slices.DeleteFunc(b.all, func(have *deferred) bool { return have == d })
}

// end notes the response to the call and returns the Task. The result waits for the host as long as the server would
// have kept it, within bounds of our own.
func (b *deferrals) end(d *deferred, response []byte) (shown []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over, d.response = true, response
	t, _ := readTask(d.shown)
	if status := statusOf(response); t.status != status {
		d.shown = jsonx.Put(jsonx.Without(d.shown, "statusMessage"), "status", jsonx.Quote(status))
	}
	d.shown = jsonx.Put(d.shown, "lastUpdatedAt", jsonx.Quote(time.Now().UTC().Format(time.RFC3339Nano)))
	kept := deferredKept
	if t.ttl > 0 {
		kept = min(max(t.ttl-time.Since(d.began), deferredLeast), deferredKept)
	}
	d.expiry = time.AfterFunc(kept, func() { b.drop(d) })
	close(d.ended)
	return d.shown
}

// statusOf is how a call has ended: that its result is an error counts as a failure.
func statusOf(response []byte) string {
	if response == nil {
		return "cancelled"
	}
	m, err := rpc.Parse(response)
	if err != nil || m.Error != nil {
		return "failed"
	}
	if _, isError, _ := outcome(m, nil); isError {
		return "failed"
	}
	return "completed"
}

// close lets go of the tasks when the session ends.
func (b *deferrals) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, d := range b.all {
		d.mu.Lock()
		if d.expiry != nil {
			d.expiry.Stop()
		}
		d.mu.Unlock()
	}
	b.all = nil
}

// find returns the newest task that is meant, nil when there is none.
func (b *deferrals) find(meant func(*deferred) bool) *deferred {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, d := range slices.Backward(b.all) {
		if meant(d) {
			return d
		}
	}
	return nil
}

// theirs returns the task that the server knows by that id. What the server says of a task can come a moment before
// its answer with the task has been looked at: that is waited for.
func (b *deferrals) theirs(s *server, id string) *deferred {
	var late <-chan time.Time
	for {
		if d := b.known(s, id); d != nil {
			return d
		}
		unknown := b.known(s, "")
		if unknown == nil {
			return nil
		}
		if late == nil {
			late = time.After(aMoment)
		}
		select {
		case <-unknown.made:
		case <-unknown.ended:
		case <-late:
			return nil
		}
	}
}

// aMoment is how long the server's messages may wait for its answer to be looked at.
const aMoment = 100 * time.Millisecond

// become notes the server's task of a call; false when another one that still runs has it.
func (b *deferrals) become(d *deferred, s *server, t serverTask, result []byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, other := range b.all {
		if other.runsAs(s, t.id) {
			return false
		}
	}
	d.becomes(t, result)
	return true
}

// runsAs reports whether the call runs at the server as that task.
func (d *deferred) runsAs(s *server, theirs string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.r.from.Load() == s && d.theirs == theirs && !d.over
}

// known returns the newest task that is with the server and that it knows by that id, because a server that was started
// anew may use ids again; "" is for one that has none yet.
func (b *deferrals) known(s *server, id string) *deferred {
	return b.find(func(d *deferred) bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.r.from.Load() == s && d.theirs == id && (id != "" || !d.over && !d.unasked)
	})
}

// ours returns the task that the host knows by that id and that it was told of.
func (b *deferrals) ours(id string) *deferred {
	return b.find(func(d *deferred) bool { return d.id == id && d.announced.Load() })
}

// capability is what is offered of tasks to a host that speaks that revision, nil when nothing is. A server that nobody
// knows yet is assumed to have them, so that its tools can still be called as tasks.
func (b *deferrals) capability(servers []*server, version string, era upstream.Era) []byte {
	var makes, cancels bool
	for _, s := range servers {
		_, known := s.up.Info()
		unknown := !known && !s.own
		makes = makes || unknown || s.makesTasks() || s.makesTasksUnasked()
		cancels = cancels || unknown || s.declares("tasks", "cancel") || s.makesTasksUnasked()
	}
	if !makes || version < "2025-11-25" || era == upstream.Modern {
		return nil
	}
	b.offered.Store(true)
	c := []byte(`{"list":{},`)
	if cancels {
		c = append(c, `"cancel":{},`...)
	}
	return append(c, `"requests":{"tools":{"call":{}}}}`...)
}

// makesTasks reports whether calls of the server's tools can be tasks of it.
func (s *server) makesTasks() bool { return s.declares("tasks", "requests", "tools", "call") }

// declares reports whether the server, of a revision with a handshake, declares what the path leads to.
func (s *server) declares(path ...string) bool {
	info, known := s.up.Info()
	if !known || !slices.Contains(upstream.Versions, info.ProtocolVersion) {
		return false
	}
	return jsonx.Has(info.Capabilities, path...)
}
