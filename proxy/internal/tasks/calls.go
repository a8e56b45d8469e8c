package tasks

import (
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"callgate/internal/jsonx"
)

const (
	Max   = 64          // tasks of one session, running or with a waiting result
	Kept  = time.Hour   // the longest time that a result waits
	Least = time.Minute // the shortest, whatever the server's time to live
)

// Call is a tools/call whose host wants a task instead of the result, as hosts of 2025-11-25 may. Only the host waits
// differently; otherwise it is a call like any other.
type Call struct {
	ID      string     // callgate's own; it reveals nothing about the server's tasks, or another host's
	At      func() any // returns the server that works on it, or nil before it is forwarded
	Unasked bool       // the server may make a task of it, but was not asked to
	Of      any        // what the caller attaches to it

	Announced atomic.Bool            // the host has been told of the task
	Waiting   atomic.Pointer[[]byte] // id of the host's waiting tasks/result, or nil
	Made      chan struct{}          // closed when the server has made its task
	Ended     chan struct{}          // closed when the response has come

	began    time.Time
	mu       sync.Mutex
	shown    []byte // the Task, as the host sees it
	envelope []byte // the result that held the server's task; nil until it comes
	theirs   string // the server's id of its task; "" until there is a task
	over     bool
	response []byte      // to the tools/call; nil if the call was cancelled
	expiry   *time.Timer // forgets the task once it is over
}

// New returns the task of a call that begins. ttl is raw JSON. poll is how often the host should ask.
func New(ttl []byte, poll time.Duration, at func() any, unasked bool, of any) *Call {
	now := time.Now().UTC()
	c := &Call{ID: "task-" + rand.Text(), At: at, Unasked: unasked, Of: of, began: now, Made: make(chan struct{}), Ended: make(chan struct{})}
	when := now.Format(time.RFC3339Nano)
	c.shown = fmt.Appendf(nil, `{"taskId":%s,"status":"working","createdAt":%q,"lastUpdatedAt":%q,"ttl":%s,"pollInterval":%d}`,
		jsonx.Quote(c.ID), when, when, ttl, poll.Milliseconds())
	return c
}

// Key returns the id under which the call runs once it is a task. No request has such an id.
func (c *Call) Key() string { return "task " + c.ID }

// Listening returns the id of the host's request that waits for the result, or nil.
func (c *Call) Listening() []byte {
	if id := c.Waiting.Load(); id != nil {
		return *id
	}
	return nil
}

// Now returns the Task as the host sees it.
func (c *Call) Now() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shown
}

// IsOver reports whether the call has ended.
func (c *Call) IsOver() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over
}

// Theirs returns the server's id of its task, or "" if it has none yet, and whether the call has ended.
func (c *Call) Theirs() (id string, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.theirs, c.over
}

// Response returns the call's response, or nil if the call was cancelled. The call MUST have ended.
func (c *Call) Response() []byte { return c.response }

// Announcement returns the result that answers the call with its task.
func (c *Call) Announcement(message string) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if message != "" {
		c.shown = jsonx.Put(c.shown, "statusMessage", jsonx.Quote(message))
	}
	envelope := c.envelope
	if envelope == nil {
		envelope = []byte("{}")
	}
	return jsonx.Put(envelope, "task", c.shown)
}

// Says notes the message of a task that the server has made unasked. news is false if the host knows it already.
func (c *Call) Says(message string) (shown []byte, news bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t, _ := Read(c.shown); c.over || t.Message == message {
		return nil, false
	}
	c.shown = jsonx.Put(c.shown, "statusMessage", jsonx.Quote(message))
	c.shown = jsonx.Put(c.shown, "lastUpdatedAt", jsonx.Quote(time.Now().UTC().Format(time.RFC3339Nano)))
	return c.shown, true
}

// Update takes over the server's report on its task. over says that the server's task has ended. relevant says that the
// report is about this task, which still runs for the host.
func (c *Call) Update(raw []byte) (shown []byte, over, relevant bool) {
	t, ok := Read(raw)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !ok || c.over || c.theirs == "" || t.ID != c.theirs {
		return c.shown, c.over, false
	}
	c.shown = jsonx.Put(raw, "taskId", jsonx.Quote(c.ID))
	return c.shown, t.Over(), true
}

// becomes notes the server's task, and the result that held it.
func (c *Call) becomes(t Task, result []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.theirs = t.ID
	c.shown = jsonx.Put(t.Raw, "taskId", jsonx.Quote(c.ID))
	c.envelope = Related(result, func(string) string { return c.ID })
	close(c.Made)
}

// runsAs reports whether the call runs at the server as that task.
func (c *Call) runsAs(server any, theirs string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.At() == server && c.theirs == theirs && !c.over
}

// Calls holds the tasks of one host. The host sees and reaches no others.
type Calls struct {
	Offered atomic.Bool // the host was told that calls can be tasks

	mu  sync.Mutex
	all []*Call // oldest first
}

// Add keeps a task, or returns false if there are too many. The oldest that is over makes room.
func (b *Calls) Add(c *Call) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.all) >= Max {
		i := slices.IndexFunc(b.all, (*Call).IsOver)
		if i < 0 {
			return false
		}
		b.all = slices.Delete(b.all, i, i+1)
	}
	b.all = append(b.all, c)
	return true
}

// Drop forgets a task.
func (b *Calls) Drop(c *Call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = slices.DeleteFunc(b.all, func(have *Call) bool { return have == c })
}

// End notes the call's response and final status, and returns the Task. The result waits for the host as long as the
// server would have kept it, but at least Least and at most Kept.
func (b *Calls) End(c *Call, response []byte, status string) (shown []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over, c.response = true, response
	t, _ := Read(c.shown)
	if t.Status != status {
		c.shown = jsonx.Put(jsonx.Without(c.shown, "statusMessage"), "status", jsonx.Quote(status))
	}
	c.shown = jsonx.Put(c.shown, "lastUpdatedAt", jsonx.Quote(time.Now().UTC().Format(time.RFC3339Nano)))
	kept := Kept
	if t.TTL > 0 {
		kept = min(max(t.TTL-time.Since(c.began), Least), Kept)
	}
	c.expiry = time.AfterFunc(kept, func() { b.Drop(c) })
	close(c.Ended)
	return c.shown
}

// Close forgets the tasks when the session ends.
func (b *Calls) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.all {
		c.mu.Lock()
		if c.expiry != nil {
			c.expiry.Stop()
		}
		c.mu.Unlock()
	}
	b.all = nil
}

// List returns the Tasks that the host was told of.
func (b *Calls) List() (shown [][]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.all {
		if c.Announced.Load() {
			shown = append(shown, c.Now())
		}
	}
	return shown
}

// find returns the newest task for which meant returns true, or nil if there is none.
func (b *Calls) find(meant func(*Call) bool) *Call {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range slices.Backward(b.all) {
		if meant(c) {
			return c
		}
	}
	return nil
}

// Ours returns the task that the host knows by that id, if the host was told of it.
func (b *Calls) Ours(id string) *Call {
	return b.find(func(c *Call) bool { return c.ID == id && c.Announced.Load() })
}

// Theirs returns the task that the server knows by that id, or nil. A server's message about a task can arrive just
// before its answer with the task is processed. Theirs waits for that answer.
func (b *Calls) Theirs(server any, id string) *Call {
	var late <-chan time.Time
	for {
		if c := b.known(server, id); c != nil {
			return c
		}
		unknown := b.known(server, "")
		if unknown == nil {
			return nil
		}
		if late == nil {
			late = time.After(aMoment)
		}
		select {
		case <-unknown.Made:
		case <-unknown.Ended:
		case <-late:
			return nil
		}
	}
}

// aMoment is how long a server's message may wait for the answer to be processed.
const aMoment = 100 * time.Millisecond

// known returns the newest task that the server knows by that id, because a restarted server may use ids again. An id
// of "" finds a task that has none yet.
func (b *Calls) known(server any, id string) *Call {
	return b.find(func(c *Call) bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.At() == server && c.theirs == id && (id != "" || !c.over && !c.Unasked)
	})
}

// Become notes the server's task of a call. It returns false if another running call has that task.
func (b *Calls) Become(c *Call, server any, t Task, result []byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if slices.ContainsFunc(b.all, func(other *Call) bool { return other.runsAs(server, t.ID) }) {
		return false
	}
	c.becomes(t, result)
	return true
}
