package proxy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"callgate/internal/rpc"
)

// getTask tells how a task is. What the server has said last is asked for anew while its task runs.
func (h *host) getTask(ctx context.Context, m rpc.Message, _ *inflight) []byte {
	d, params, refused := h.taskOf(m)
	if d == nil {
		return refused
	}
	if params == nil {
		return rpc.Result(m.ID, d.now())
	}
	answer, err := d.server.forward(ctx, func(id []byte) []byte { return rpc.Request(id, m.Method, params) })
	if d.isOver() {
		return rpc.Result(m.ID, d.now())
	}
	if err != nil || answer.Error != nil {
		return failedAt(m, answer, err)
	}
	if _, over, _ := d.sees(unrelated(answer).Result); over { // its result comes in a moment
		select {
		case <-d.ended:
		case <-time.After(patience):
		case <-ctx.Done():
			return nil
		}
	}
	return rpc.Result(m.ID, d.now())
}

func (d *deferred) now() []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.shown
}

// taskResult answers what the call would have been answered, when it has ended.
func (h *host) taskResult(ctx context.Context, m rpc.Message, _ *inflight) []byte {
	d, _, refused := h.taskOf(m)
	if d == nil {
		return refused
	}
	listener := &m.ID
	d.listener.Store(listener)
	defer d.listener.CompareAndSwap(listener, nil)
	select {
	case <-d.ended:
	case <-ctx.Done():
		return nil
	}
	response, err := rpc.Parse(d.response)
	switch {
	case d.response == nil:
		return rpc.Error(m.ID, rpc.CodeInvalidParams, "the task was cancelled: it has no result")
	case err != nil:
		return rpc.Error(m.ID, rpc.CodeInternal, "the result cannot be read: "+err.Error())
	case response.Error != nil:
		return response.WithID(m.ID)
	}
	return rpc.Result(m.ID, withRelated(response.Result, d.id))
}

func (h *host) listTasks(_ context.Context, m rpc.Message, _ *inflight) []byte {
	if !h.deferrals.offered.Load() {
		return rpc.Error(m.ID, rpc.CodeMethodNotFound, "method not found: "+m.Method)
	}
	if hasCursor(m) {
		return rpc.Error(m.ID, rpc.CodeInvalidParams, "unknown cursor: the list has one page")
	}
	b := &h.deferrals
	b.mu.Lock()
	defer b.mu.Unlock()
	result := []byte(`{"tasks":[`)
	for _, d := range b.all {
		if !d.announced.Load() {
			continue
		}
		if result[len(result)-1] != '[' {
			result = append(result, ',')
		}
		result = append(result, d.now()...)
	}
	return rpc.Result(m.ID, append(result, "]}"...))
}

// cancelTask stops a task: at its server, or before the server has heard of it.
func (h *host) cancelTask(ctx context.Context, m rpc.Message, _ *inflight) []byte {
	d, params, refused := h.taskOf(m)
	if d == nil {
		return refused
	}
	if params == nil && d.r.from.Load() != nil && !d.unasked { // the server may be about to make its task
		select {
		case <-d.made:
			d, params, refused = h.taskOf(m)
		case <-d.ended:
		case <-time.After(patience):
		}
		if d == nil {
			return refused
		}
	}
	if d.isOver() {
		t, _ := readTask(d.now())
		return rpc.Error(m.ID, rpc.CodeInvalidParams, "the task has ended already: "+t.status)
	}
	if params == nil {
		d.r.cancel(errTakenBack)
	} else if refused = d.stop(ctx, m, params); refused != nil {
		return refused
	}
	select {
	case <-d.ended:
	case <-ctx.Done():
		return nil
	}
	return rpc.Result(m.ID, d.now())
}

// stopPatience is how long a server has to say whether it stops a task.
const stopPatience = 10 * time.Second

var errNotStopped = fmt.Errorf("the server has not said within %s whether it stops the task", stopPatience)

// stop has the server stop its task, and ends the call when it has. It returns why it has not.
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
	d.sees(unrelated(answer).Result)
	d.r.cancel(errStopped)
	return nil
}

// failedAt relays how a request about a task failed at the server.
func failedAt(m, answer rpc.Message, err error) []byte {
	if err != nil {
		return rpc.Error(m.ID, rpc.CodeInternal, "callgate: the request did not end: "+err.Error())
	}
	return answer.WithID(m.ID)
}

// taskOf returns the task that a request is about, and the params that name it to its server: nil while the server
// has none, or when there is nothing left to ask. Without a task it returns the response.
func (h *host) taskOf(m rpc.Message) (d *deferred, params, refused []byte) {
	if !h.deferrals.offered.Load() {
		return nil, nil, rpc.Error(m.ID, rpc.CodeMethodNotFound, "method not found: "+m.Method)
	}
	id, err := stringParam(m, "taskId")
	if err != nil {
		return nil, nil, rpc.Error(m.ID, rpc.CodeInvalidParams, err.Error())
	}
	if d = h.deferrals.ours(id); d == nil {
		return nil, nil, rpc.Error(m.ID, rpc.CodeInvalidParams, "there is no such task")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.theirs == "" || d.over {
		return d, nil, nil
	}
	params, err = renameParam(m.Params, "taskId", d.theirs)
	if err != nil {
		return nil, nil, rpc.Error(m.ID, rpc.CodeInvalidParams, err.Error())
	}
	return d, params, nil
}

// taskStatus passes on how a task is. That it has ended callgate says itself, when the result is there.
func (h *host) taskStatus(s *server, m rpc.Message) {
	t, ok := readTask(m.Params)
	d := h.deferrals.theirs(s, t.id)
	if !ok || d == nil {
		return
	}
	if shown, over, relevant := d.sees(m.Params); relevant && !over {
		h.notify(nil, rpc.Request(nil, m.Method, shown))
	}
}
