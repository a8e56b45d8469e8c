package proxy

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/internal/upstream"
	"callgate/proxy/internal/stateless"
)

// deferred is a tools/call whose host wants a task instead of the result, as hosts of 2025-11-25 can. To callgate it
// is a call that takes long: it is judged before anything of it goes out, and ends when the server's task does, with
// a result that is cut, recorded and verified like any other. Only its host waits in another way.
type deferred struct {
	id     string // callgate's own: who knows it knows nothing of the server's tasks, or of another host's
	r      *inflight
	server *server
	began  time.Time

	unasked bool // the server makes tasks by itself, if at all, and has no name for this one

	announced atomic.Bool            // the host knows the task; set under r.mu
	listener  atomic.Pointer[[]byte] // id of the host's tasks/result that waits; nil for none
	made      chan struct{}          // closed when theirs is set
	ended     chan struct{}          // closed when response is set

	stopping sync.Mutex // held while the host's wish to stop it is with the server

	mu       sync.Mutex
	shown    []byte // the Task, as the host sees it
	envelope []byte // the result that the server's task came in; nil until there is one
	theirs   string // the server's id of its task; "" until there is one
	over     bool
	response []byte      // to the tools/call; nil when the call was cancelled
	expiry   *time.Timer // forgets the task once it is over
}

const (
	maxDeferred   = 64          // tasks of one session that run, or whose result waits
	deferredKept  = time.Hour   // how long a result waits at most
	deferredLeast = time.Minute // and at least, whatever the server's time to live
)

// codeOf is the code of a refusal that comes before the gate.
func codeOf(err error) int {
	if errors.Is(err, errNoDeferral) {
		return rpc.CodeMethodNotFound
	}
	return rpc.CodeInvalidParams
}

var errNoDeferral = errors.New(`the tool does not run as a task (its definition's "execution.taskSupport"): call it without "task"`)

// defers prepares a call to be a task when its host asks for one. A host that is offered no tasks is answered as if
// it had not asked: so the revision wants it.
func (h *host) defers(r *inflight, p *callParams, to *entry) error {
	if p.task.Value == nil || !h.deferrals.offered.Load() {
		return nil
	}
	wish, err := readWish(p.task.Value)
	if err != nil {
		return err
	}
	asked, unasked := to.server.makesTasks(), to.server.makesTasksUnasked()
	if to.TaskSupport == "" || !asked && !unasked {
		return errNoDeferral
	}
	now := time.Now().UTC()
	d := &deferred{id: "task-" + rand.Text(), r: r, server: to.server, began: now, unasked: unasked, made: make(chan struct{}), ended: make(chan struct{})}
	at := now.Format(time.RFC3339Nano)
	d.shown = fmt.Appendf(nil, `{"taskId":%s,"status":"working","createdAt":%q,"lastUpdatedAt":%q,"ttl":%s,"pollInterval":%d}`,
		jsonx.Quote(d.id), at, at, timeToLive(wish), stateless.TaskPoll.Milliseconds())
	if !h.deferrals.add(d) {
		return fmt.Errorf("this session has %d tasks: wait until one of them has ended and its result is not kept any more", maxDeferred)
	}
	if r.deferred = d; asked {
		p.wish = wish
	}
	return nil
}

// announce answers the call with its task, once. What is told of the call from here on belongs to no request, or to
// the one that waits for the result.
func (h *host) announce(d *deferred, message string) {
	r := d.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if d.announced.Load() {
		return
	}
	d.mu.Lock()
	if message != "" {
		d.shown = jsonx.Put(d.shown, "statusMessage", jsonx.Quote(message))
	}
	envelope := d.envelope
	if envelope == nil {
		envelope = []byte("{}")
	}
	result := jsonx.Put(envelope, "task", d.shown)
	d.mu.Unlock()
	h.mu.Lock()
	delete(h.calls, string(r.id))
	h.calls[d.key()] = r
	h.mu.Unlock()
	d.announced.Store(true) // before the host can ask for it
	h.respond(r.id, rpc.Result(r.id, result))
}

// update notes what a server says of a task that it has made unasked, and tells the host.
func (h *host) update(d *deferred, message string) {
	h.announce(d, message)
	d.mu.Lock()
	if t, _ := readTask(d.shown); d.over || t.message == message {
		d.mu.Unlock()
		return
	}
	d.shown = jsonx.Put(d.shown, "statusMessage", jsonx.Quote(message))
	d.shown = jsonx.Put(d.shown, "lastUpdatedAt", jsonx.Quote(time.Now().UTC().Format(time.RFC3339Nano)))
	shown := d.shown
	d.mu.Unlock()
	h.notify(nil, rpc.Request(nil, "notifications/tasks/status", shown))
}

// listening is the id of the host's request that waits for the result; nil for none.
func (d *deferred) listening() []byte {
	if id := d.listener.Load(); id != nil {
		return *id
	}
	return nil
}

// key is what the call runs under once it is a task: no request has such an id.
func (d *deferred) key() string { return "task " + d.id }

// deliver gives the host the response to its request: at once, or, where it is a task, when the host asks.
func (h *host) deliver(r *inflight, response []byte) {
	d := r.deferred
	if d == nil || !d.announced.Load() && !isResult(response) {
		if d != nil {
			h.deferrals.drop(d)
		}
		h.end(r)
		h.respond(r.id, response)
		return
	}
	h.announce(d, "")
	h.end(r)
	h.notify(nil, rpc.Request(nil, "notifications/tasks/status", h.deferrals.end(d, response)))
}

func isResult(response []byte) bool {
	m, err := rpc.Parse(response)
	return err == nil && m.Result != nil
}

// follow waits for the end of the task that the server has made of a call, and returns the call's result. An answer
// that is no task is the result already. asked says that the call asked for a task of 2025-11-25; one of the extension
// comes unasked.
func (h *host) follow(ctx context.Context, r *inflight, s *server, answer rpc.Message, asked bool) (rpc.Message, error) {
	switch {
	case s.extends() && upstream.IsTask(answer.Result):
		return h.attend(ctx, r, s, answer)
	case !asked:
		return answer, nil
	}
	made, ok := taskIn(answer.Result)
	if !ok {
		return answer, nil
	}
	if d := r.deferred; d != nil {
		if !h.deferrals.become(d, s, made, answer.Result) {
			return rpc.Message{}, fmt.Errorf("server %q answered with a task that it has made for another call", s.alias)
		}
		h.announce(d, "")
	}
	if r.stateless != nil {
		r.stateless.Says(made.message, stateless.TaskPoll)
	}
	limit := made.ttl
	if limit > 0 {
		limit += deferredLeast
	}
	ctx, stop := s.clock.bound(ctx, limit, errTaskOver)
	defer stop()
	params := append(append([]byte(`{"taskId":`), jsonx.Quote(made.id)...), '}')
	answer, err := s.send(ctx, func(id []byte) []byte { return rpc.Request(id, "tasks/result", params) })
	if r.deferred != nil { // that there is no result because the host did not want one is no error of the server
		r.deferred.stopping.Lock()
		defer r.deferred.stopping.Unlock()
		if err == nil && answer.Error != nil {
			err = ctx.Err()
		}
	}
	if err == nil {
		return s.heard(unrelated(answer))
	}
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), errStopped) {
		h.stop(s, params)
	}
	if errors.Is(context.Cause(ctx), errTaskOver) {
		err = errTaskOver
	}
	return answer, err
}

var (
	errTaskOver = errors.New("the task's time to live is over, and the server has not said how it ended; it was told to stop")
	errStopped  = fmt.Errorf("%w, and its server has stopped the task", errTakenBack)
)

// stop tells the server that nobody wants the task any more. The session may be ending: it gets a moment.
func (h *host) stop(s *server, params []byte) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(h.ctx), patience)
	defer cancel()
	answer, err := s.send(ctx, func(id []byte) []byte { return rpc.Request(id, "tasks/cancel", params) })
	if err != nil || answer.Error != nil {
		h.log.Warn("a server's task was not stopped", "server", s.alias, "error", err, "answer", string(answer.Error))
	}
}

// becomes notes the server's task, and the result that it came in.
func (d *deferred) becomes(t serverTask, result []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.theirs = t.id
	d.shown = jsonx.Put(t.raw, "taskId", jsonx.Quote(d.id))
	d.envelope = related(result, func(string) string { return d.id })
	close(d.made)
}

// sees takes over what the server says of its task. over says that the server's task has ended, and relevant that
// it is this task, which for the host still runs.
func (d *deferred) sees(raw []byte) (shown []byte, over, relevant bool) {
	t, ok := readTask(raw)
	d.mu.Lock()
	defer d.mu.Unlock()
	if !ok || d.over || d.theirs == "" || t.id != d.theirs {
		return d.shown, d.over, false
	}
	d.shown = jsonx.Put(raw, "taskId", jsonx.Quote(d.id))
	return d.shown, t.over(), true
}
