package proxy

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/internal/upstream"
	"callgate/proxy/internal/raw"
	"callgate/proxy/internal/tasks"
)

// assigned handles the requests of one server that the host carries out as tasks.
type assigned struct{ server *server }

// possible reports whether the server may ask the host to run requests as tasks.
func (t assigned) possible() bool {
	s := t.server
	can := s.host.capable.Load()
	info, known := s.up.Info()
	return can != nil && can.tasks.Any() && s.shared == nil && known && info.ProtocolVersion >= "2025-11-25" && info.ProtocolVersion != StatelessVersion
}

// wanted returns a server's request with as much of its "task" member as callgate passes on, and whether any is left.
// If the host cannot run such a request as a task, wanted drops the member, and the host answers as if the server had
// not asked for a task.
func (t assigned) wanted(m rpc.Message) (passed rpc.Message, asTask bool, err error) {
	var task [1]jsonx.Member
	if m.Params == nil || jsonx.Members(m.Params, []string{"task"}, task[:]) != nil || task[0].Value == nil {
		return m, false, nil
	}
	can := t.server.host.capable.Load().tasks
	done := m.Method == "sampling/createMessage" && can.Sampling || m.Method == "elicitation/create" && can.Elicitation
	if !done || !t.possible() {
		return raw.WithParams(m, jsonx.Without(m.Params, "task")), false, nil
	}
	wanted, err := tasks.ReadRequest(task[0].Value)
	if err != nil {
		return m, false, err
	}
	return raw.WithParams(m, jsonx.Put(m.Params, "task", wanted)), true, nil
}

// add takes the host's answer to a request for a task, and returns it with callgate's id. A result that is not a task
// is the answer to the request.
func (t assigned) add(ctx context.Context, m, answer rpc.Message) []byte {
	s, h := t.server, t.server.host
	made, ok := tasks.In(answer.Result)
	if !ok {
		return s.forServer(answer).WithID(m.ID)
	}
	a := tasks.NewAssignment(s, raw.ProgressToken(m.Params), made)
	if err := h.assignments.Add(a); err != nil {
		if !errors.Is(err, tasks.ErrAssignedTwice) {
			taskCalls{h}.recall(ctx, a)
		}
		return rpc.Error(m.ID, rpc.CodeInternal, err.Error())
	}
	result := jsonx.Put(answer.Result, "task", h.assignments.Update(a, made))
	return raw.WithResult(answer, tasks.Related(result, a.Named)).WithID(m.ID)
}

// recall tells the host that nobody wants its task any more, if the host can cancel tasks.
func (h taskCalls) recall(ctx context.Context, a *tasks.Assignment) {
	if !h.host.capable.Load().tasks.Cancel {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	params := append(append([]byte(`{"taskId":`), jsonx.Quote(a.Theirs)...), '}')
	pending, err := h.host.ask(nil, "tasks/cancel", func(id []byte) []byte { return rpc.Request(id, "tasks/cancel", params) })
	if err == nil {
		_, err = pending.Wait(ctx)
	}
	if err != nil {
		h.host.log.Debug("a task of the host was not stopped", "server", a.Server.(*server).alias, "error", err)
	}
}

// cancel stops the host's tasks for a server that has ended, because nobody will ask for their results.
func (t assigned) cancel(state upstream.State) {
	if state != upstream.Down {
		return
	}
	h := t.server.host
	for _, a := range h.assignments.Leave(t.server) {
		h.work.Go(func() { taskCalls{h}.recall(h.ctx, a) })
	}
}

// ask answers a server's request about a task that the host runs for it.
func (t assigned) ask(ctx context.Context, m rpc.Message, r *inflight) []byte {
	s, h := t.server, t.server.host
	if m.Method == "tasks/list" {
		if raw.HasCursor(m) {
			return rpc.Error(m.ID, rpc.CodeInvalidParams, "unknown cursor: the list has one page")
		}
		list := bytes.Join(h.assignments.Of(s), []byte{','})
		return rpc.Result(m.ID, append(append([]byte(`{"tasks":[`), list...), "]}"...))
	}
	id, err := raw.String(m, "taskId")
	if err != nil {
		return rpc.Error(m.ID, rpc.CodeInvalidParams, err.Error())
	}
	a := h.assignments.Find(func(a *tasks.Assignment) bool { return a.Server == s && a.ID == id })
	if a == nil {
		return rpc.Error(m.ID, rpc.CodeInvalidParams, "there is no such task")
	}
	params, err := raw.Rename(m.Params, "taskId", a.Theirs)
	if err != nil {
		return rpc.Error(m.ID, rpc.CodeInvalidParams, err.Error())
	}
	answer, fault := serverSide{s}.putToHost(ctx, m, raw.WithParams(s.forHost(m), params), r)
	if fault != nil {
		return fault
	}
	result := tasks.Related(answer.Result, a.Named)
	if m.Method != "tasks/result" && answer.Error == nil {
		now, ok := tasks.Read(answer.Result)
		shown := []byte(nil)
		if ok {
			shown = h.assignments.Update(a, now)
		}
		if shown == nil {
			return rpc.Error(m.ID, rpc.CodeInternal, "the host answered with something else than its task")
		}
		result = shown
	}
	return raw.WithResult(answer, result).WithID(m.ID)
}

// assignmentStatus passes the host's report on a task to the server that asked for the task.
func (h taskCalls) assignmentStatus(m rpc.Message) {
	t, ok := tasks.Read(m.Params)
	if !ok {
		return
	}
	a := h.host.assignments.Open(func(a *tasks.Assignment) bool { return a.Theirs == t.ID })
	if a == nil {
		return
	}
	if shown := h.host.assignments.Update(a, t); shown != nil {
		a.Server.(*server).up.Notify(m.Method, shown)
	}
}

func isAboutTasks(method string) bool { return strings.HasPrefix(method, "tasks/") }
