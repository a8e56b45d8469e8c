package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"callgate/internal/rpc"
	"callgate/proxy/internal/raw"
	"callgate/proxy/internal/tasks"
)

// getTask answers with the state of a task. While the task runs, it asks the server again.
func (c taskCalls) getTask(ctx context.Context, m rpc.Message, _ *inflight) []byte {
	d, params, refused := c.of(m)
	if d == nil {
		return refused
	}
	if params == nil {
		return rpc.Result(m.ID, d.Now())
	}
	answer, err := d.server.forward(ctx, func(id []byte) []byte { return rpc.Request(id, m.Method, params) })
	if d.IsOver() {
		return rpc.Result(m.ID, d.Now())
	}
	if err != nil || answer.Error != nil {
		return failedAt(m, answer, err)
	}
	if _, over, _ := d.Update(unrelated(answer).Result); over { // its result will come in a moment
		select {
		case <-d.Ended:
		case <-time.After(patience):
		case <-ctx.Done():
			return nil
		}
	}
	return rpc.Result(m.ID, d.Now())
}

// taskResult answers with the call's response, once the call has ended.
func (c taskCalls) taskResult(ctx context.Context, m rpc.Message, _ *inflight) []byte {
	d, _, refused := c.of(m)
	if d == nil {
		return refused
	}
	listener := &m.ID
	d.Waiting.Store(listener)
	defer d.Waiting.CompareAndSwap(listener, nil)
	select {
	case <-d.Ended:
	case <-ctx.Done():
		return nil
	}
	response, err := rpc.Parse(d.Response())
	switch {
	case d.Response() == nil:
		return rpc.Error(m.ID, rpc.CodeInvalidParams, "the task was cancelled: it has no result")
	case err != nil:
		return rpc.Error(m.ID, rpc.CodeInternal, "the result cannot be read: "+err.Error())
	case response.Error != nil:
		return response.WithID(m.ID)
	}
	return rpc.Result(m.ID, tasks.WithRelated(response.Result, d.ID))
}

func (c taskCalls) listTasks(_ context.Context, m rpc.Message, _ *inflight) []byte {
	if !c.host.tasks.Offered.Load() {
		return rpc.Error(m.ID, rpc.CodeMethodNotFound, "method not found: "+m.Method)
	}
	if raw.HasCursor(m) {
		return rpc.Error(m.ID, rpc.CodeInvalidParams, "unknown cursor: the list has one page")
	}
	list := bytes.Join(c.host.tasks.List(), []byte{','})
	return rpc.Result(m.ID, append(append([]byte(`{"tasks":[`), list...), "]}"...))
}

// cancelTask stops a task, at its server or before the server has heard of it.
func (c taskCalls) cancelTask(ctx context.Context, m rpc.Message, _ *inflight) []byte {
	d, params, refused := c.of(m)
	if d == nil {
		return refused
	}
	if params == nil && d.r.from.Load() != nil && !d.Unasked { // the server may be about to make its task
		select {
		case <-d.Made:
			d, params, refused = c.of(m)
		case <-d.Ended:
		case <-time.After(patience):
		}
		if d == nil {
			return refused
		}
	}
	if d.IsOver() {
		t, _ := tasks.Read(d.Now())
		return rpc.Error(m.ID, rpc.CodeInvalidParams, "the task has ended already: "+t.Status)
	}
	if params == nil {
		d.r.life.End(errTakenBack)
	} else if refused = d.stop(ctx, m, params); refused != nil {
		return refused
	}
	select {
	case <-d.Ended:
	case <-ctx.Done():
		return nil
	}
	return rpc.Result(m.ID, d.Now())
}

// stopPatience is how long a server may take to say whether it stops a task.
const stopPatience = 10 * time.Second

var errNotStopped = fmt.Errorf("the server has not said within %s whether it stops the task", stopPatience)

// stop asks the server to stop its task, and then ends the call. It returns an error response if the server does not
// stop the task.
func (d *deferred) stop(ctx context.Context, m rpc.Message, params []byte) (refused []byte) {
	ctx, cancel := context.WithTimeoutCause(ctx, stopPatience, errNotStopped)
	defer cancel()
	d.stopping.Lock()
	defer d.stopping.Unlock()
	answer, err := d.server.forward(ctx, func(id []byte) []byte { return rpc.Request(id, m.Method, params) })
	if err != nil && errors.Is(context.Cause(ctx), errNotStopped) {
		err = errNotStopped
	}
	if err != nil || answer.Error != nil {
		return failedAt(m, answer, err)
	}
	d.Update(unrelated(answer).Result)
	d.r.life.End(errStopped)
	return nil
}

// failedAt returns the response for a request about a task that failed at the server.
func failedAt(m, answer rpc.Message, err error) []byte {
	if err != nil {
		return rpc.Error(m.ID, rpc.CodeInternal, "callgate: the request did not end: "+err.Error())
	}
	return answer.WithID(m.ID)
}

// of returns the task that a request is about, and the params that name it to its server. params are nil if the server
// has no task yet, or the task is over. If there is no task, of returns an error response in refused.
func (c taskCalls) of(m rpc.Message) (d *deferred, params, refused []byte) {
	if !c.host.tasks.Offered.Load() {
		return nil, nil, rpc.Error(m.ID, rpc.CodeMethodNotFound, "method not found: "+m.Method)
	}
	id, err := raw.String(m, "taskId")
	if err != nil {
		return nil, nil, rpc.Error(m.ID, rpc.CodeInvalidParams, err.Error())
	}
	call := c.host.tasks.Ours(id)
	if call == nil {
		return nil, nil, rpc.Error(m.ID, rpc.CodeInvalidParams, "there is no such task")
	}
	d = call.Of.(*deferred)
	theirs, over := d.Theirs()
	if theirs == "" || over {
		return d, nil, nil
	}
	params, err = raw.Rename(m.Params, "taskId", theirs)
	if err != nil {
		return nil, nil, rpc.Error(m.ID, rpc.CodeInvalidParams, err.Error())
	}
	return d, params, nil
}

// status passes on the state of a task. callgate itself announces the end, once it has the result.
func (c taskCalls) status(s *server, m rpc.Message) {
	t, ok := tasks.Read(m.Params)
	d := c.host.tasks.Theirs(s, t.ID)
	if !ok || d == nil {
		return
	}
	if shown, over, relevant := d.Update(m.Params); relevant && !over {
		c.host.notify(nil, rpc.Request(nil, m.Method, shown))
	}
}
