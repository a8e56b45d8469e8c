package proxy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/internal/upstream"
	"callgate/proxy/internal/raw"
	"callgate/proxy/internal/stateless"
	"callgate/proxy/internal/tasks"
)

// deferred is a tools/call whose host wants a task instead of the result, as hosts of 2025-11-25 can. To callgate it is
// a long call. It is judged before anything goes out, and ends with the server's task. Its result is limited, recorded
// and verified like any other. Only the host waits differently.
type deferred struct {
	*tasks.Call
	r      *inflight
	server *server

	stopping sync.Mutex // held while callgate tells the server to stop
}

// taskCalls handles the calls of one host that it gets as tasks.
type taskCalls struct{ host *host }

// defers makes a call a task if its host asks for that. A host that was offered no tasks is answered as if it had not
// asked, as the revision requires.
func (c taskCalls) defers(r *inflight, p *callParams, to *entry) error {
	if p.task.Value == nil || !c.host.tasks.Offered.Load() {
		return nil
	}
	wanted, err := tasks.ReadRequest(p.task.Value)
	if err != nil {
		return err
	}
	asked, unasked := to.server.makesTasks(), to.server.makesTasksUnasked()
	if to.TaskSupport == "" || !asked && !unasked {
		return errNoDeferral
	}
	d := &deferred{r: r, server: to.server}
	d.Call = tasks.New(tasks.TimeToLive(wanted), stateless.TaskPoll, func() any { return r.from.Load() }, unasked, d)
	if !c.host.tasks.Add(d.Call) {
		return fmt.Errorf("this session has %d tasks: wait until one of them has ended and its result is not kept any more", tasks.Max)
	}
	if r.deferred = d; asked {
		p.taskWanted = wanted
	}
	return nil
}

// announce answers the call with its task, once. From then on, messages about the call belong to no request, or to the
// request that waits for the result.
func (c taskCalls) announce(d *deferred, message string) {
	r := d.r
	r.mu.Lock()
	defer r.mu.Unlock()
	if d.Announced.Load() {
		return
	}
	result := d.Announcement(message)
	c.host.running.rename(r, d.Key())
	d.Announced.Store(true) // before the host can ask for it
	c.host.respond(r.id, rpc.Result(r.id, result))
}

// update notes the state of a task that a server made unasked, and tells the host.
func (c taskCalls) update(d *deferred, message string) {
	c.announce(d, message)
	if shown, news := d.Says(message); news {
		c.host.notify(nil, rpc.Request(nil, "notifications/tasks/status", shown))
	}
}

// deliver gives the host the response to its request: at once, or, if it is a task, when the host asks.
func (c taskCalls) deliver(r *inflight, response []byte) {
	d := r.deferred
	if d == nil || !d.Announced.Load() && !raw.IsResult(response) {
		if d != nil {
			c.host.tasks.Drop(d.Call)
		}
		c.host.running.end(r)
		c.host.respond(r.id, response)
		return
	}
	c.announce(d, "")
	c.host.running.end(r)
	c.host.notify(nil, rpc.Request(nil, "notifications/tasks/status", c.host.tasks.End(d.Call, response, statusOf(response))))
}

// follow returns the result of a call. If the server has answered with a task, follow waits until the task ends. asked
// says that the call asked for a task of 2025-11-25; servers make tasks of the extension unasked.
func (c taskCalls) follow(ctx context.Context, r *inflight, s *server, answer rpc.Message, asked bool) (rpc.Message, error) {
	switch {
	case s.extends() && upstream.IsTask(answer.Result):
		return c.followExtension(ctx, r, s, answer)
	case !asked:
		return answer, nil
	}
	made, ok := tasks.In(answer.Result)
	if !ok {
		return answer, nil
	}
	if d := r.deferred; d != nil {
		if !c.host.tasks.Become(d.Call, s, made, answer.Result) {
			return rpc.Message{}, fmt.Errorf("server %q answered with a task that it has made for another call", s.alias)
		}
		c.announce(d, "")
	}
	if r.stateless != nil {
		r.stateless.Says(made.Message, stateless.TaskPoll)
	}
	limit := made.TTL
	if limit > 0 {
		limit += tasks.Least
	}
	ctx, stop := s.clock.Bound(ctx, limit, errTaskOver)
	defer stop()
	params := append(append([]byte(`{"taskId":`), jsonx.Quote(made.ID)...), '}')
	answer, err := s.send(ctx, func(id []byte) []byte { return rpc.Request(id, "tasks/result", params) })
	if r.deferred != nil { // if the host cancelled the call, the server is not to blame for the missing result
		r.deferred.stopping.Lock()
		defer r.deferred.stopping.Unlock()
		if err == nil && answer.Error != nil {
			err = ctx.Err()
		}
	}
	if err == nil {
		return s.words.Heard(unrelated(answer))
	}
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), errStopped) {
		c.stop(s, params)
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

// stop tells the server that nobody wants the task any more. Even if the session is ending, it allows patience for
// that.
func (c taskCalls) stop(s *server, params []byte) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.host.ctx), patience)
	defer cancel()
	answer, err := s.send(ctx, func(id []byte) []byte { return rpc.Request(id, "tasks/cancel", params) })
	if err != nil || answer.Error != nil {
		c.host.log.Warn("a server's task was not stopped", "server", s.alias, "error", err, "answer", string(answer.Error))
	}
}

// statusOf returns the final status of a call. A result that is an error counts as a failure.
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

// followExtension waits for the end of a task of the extension that a server has made of a call. A host that can wait
// gets a task of callgate's, in its revision. For any other host callgate waits, and reports that it does.
func (c taskCalls) followExtension(ctx context.Context, r *inflight, s *server, answer rpc.Message) (rpc.Message, error) {
	seen := func(upstream.Task) {}
	switch {
	case r.stateless != nil && r.stateless.IsTask():
		seen = func(now upstream.Task) { r.stateless.Says(now.Message, now.Poll) }
	case r.deferred != nil:
		seen = func(now upstream.Task) { c.update(r.deferred, now.Message) }
	default:
		waited := waiter(c).heartbeat(r, "the server's task")
		defer waited()
	}
	answer, err := s.up.Follow(ctx, answer.Result, seen)
	if err != nil {
		return answer, err
	}
	return s.words.Heard(unrelated(answer))
}

// extends reports whether the server may answer calls with tasks of the extension.
func (s *server) extends() bool {
	info, known := s.up.Info()
	return known && info.ProtocolVersion == StatelessVersion
}

// makesTasksUnasked reports whether the server declares that it answers calls with tasks unasked. Shared servers
// cannot.
func (s *server) makesTasksUnasked() bool {
	info, known := s.up.Info()
	return known && s.shared == nil && s.extends() && jsonx.Has(info.Capabilities, "extensions", stateless.ExtensionTasks)
}

// capability returns the task features that callgate offers to a host of the given revision, or nil if none. It assumes
// that an unknown server has tasks, so that its tools can be called as tasks later.
func (c taskCalls) capability(servers []*server, version string, era upstream.Era) []byte {
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
	c.host.tasks.Offered.Store(true)
	b := []byte(`{"list":{},`)
	if cancels {
		b = append(b, `"cancel":{},`...)
	}
	return append(b, `"requests":{"tools":{"call":{}}}}`...)
}

// makesTasks reports whether the server can run calls of its tools as tasks.
func (s *server) makesTasks() bool { return s.declares("tasks", "requests", "tools", "call") }

// declares reports whether the server declares the capability at the path. Only revisions with a handshake count.
func (s *server) declares(path ...string) bool {
	info, known := s.up.Info()
	if !known || !slices.Contains(upstream.Versions, info.ProtocolVersion) {
		return false
	}
	return jsonx.Has(info.Capabilities, path...)
}

// forHost returns a message of the server with the host's id of its task, or without an id if the host does not know
// the task.
func (s *server) forHost(m rpc.Message) rpc.Message {
	params := tasks.Related(m.Params, func(id string) string {
		if d := s.host.tasks.Theirs(s, id); d != nil {
			return d.ID
		}
		return ""
	})
	return raw.WithParams(m, params)
}

// forServer returns the host's answer to a request of the server with the server's id of the task.
func (s *server) forServer(answer rpc.Message) rpc.Message {
	return raw.WithResult(answer, tasks.Related(answer.Result, s.nameOf))
}

// nameOf returns the server's id of a task that the host knows as id, or "" if the server has no such task.
func (s *server) nameOf(id string) string {
	c := s.host.tasks.Ours(id)
	if c == nil || c.Of.(*deferred).server != s {
		return ""
	}
	theirs, _ := c.Theirs()
	return theirs
}

// unrelated removes the server's id of the task from a result.
func unrelated(answer rpc.Message) rpc.Message {
	return raw.WithResult(answer, tasks.Related(answer.Result, func(string) string { return "" }))
}

// asTask returns the params to forward, and reports whether they ask for a task. Hosts of the stateless revisions
// cannot ask. For them, callgate asks if the tool requires tasks, or if it allows them and the host can wait for a
// task.
func (h taskCalls) asTask(p callParams, to *entry, params changed) (forwarded changed, asks bool) {
	if h.host.era == upstream.Modern && (to.TaskSupport == "required" || to.TaskSupport == "optional" && h.host.waits) && to.server.makesTasks() {
		return changed{of: jsonx.Put(params.bytes(), "task", []byte("{}"))}, true
	}
	return params, p.taskWanted != nil
}
