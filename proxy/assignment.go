package proxy

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/internal/upstream"
)

// assignment is a request of a server that its host carries out as a task, as hosts of 2025-11-25 can: it is judged like
// every other before the host hears of it. The server sees and reaches its own assignments and no others.
type assignment struct {
	id     string // callgate's own, which the server knows
	theirs string // the host's
	server *server
	token  []byte // progress token of the request as spelled; nil without one

	shown  []byte      // the Task, as the server sees it; guarded by the assignments' mu, as the rest
	over   bool        // the host has said so
	expiry *time.Timer // forgets it, once it is over
}

// takes is what of the requests of servers a host can carry out as tasks.
type takes struct{ sampling, elicitation, cancel bool }

func (t takes) any() bool { return t.sampling || t.elicitation }

// readTakes reads the host's capability "tasks"; nil declares nothing.
func readTakes(capability []byte) takes {
	return takes{
		sampling:    jsonx.Has(capability, "requests", "sampling", "createMessage"),
		elicitation: jsonx.Has(capability, "requests", "elicitation", "create"),
		cancel:      jsonx.Has(capability, "cancel"),
	}
}

// declared is the capability as servers get it. The list callgate keeps by itself.
func (t takes) declared() []byte {
	var b bytes.Buffer
	b.WriteString(`{"list":{},`)
	if t.cancel {
		b.WriteString(`"cancel":{},`)
	}
	b.WriteString(`"requests":{`)
	if t.sampling {
		b.WriteString(`"sampling":{"createMessage":{}}`)
	}
	if t.sampling && t.elicitation {
		b.WriteByte(',')
	}
	if t.elicitation {
		b.WriteString(`"elicitation":{"create":{}}`)
	}
	b.WriteString("}}")
	return b.Bytes()
}

// assigns reports whether the server may have the host carry out requests as tasks.
func (s *server) assigns() bool {
	can := s.host.capable.Load()
	info, known := s.up.Info()
	return can != nil && can.takes.any() && s.shared == nil && known && info.ProtocolVersion >= "2025-11-25" && info.ProtocolVersion != StatelessVersion
}

// wished returns a server's request with what is passed on of its wish to be a task: nothing, where the host does not do
// such requests as tasks, so that it is answered as if the server had not wished.
func (s *server) wished(m rpc.Message) (passed rpc.Message, asTask bool, err error) {
	var task [1]jsonx.Member
	if m.Params == nil || jsonx.Members(m.Params, []string{"task"}, task[:]) != nil || task[0].Value == nil {
		return m, false, nil
	}
	can := s.host.capable.Load().takes
	done := m.Method == "sampling/createMessage" && can.sampling || m.Method == "elicitation/create" && can.elicitation
	if !done || !s.assigns() {
		return withParams(m, jsonx.Without(m.Params, "task")), false, nil
	}
	wish, err := readWish(task[0].Value)
	if err != nil {
		return m, false, err
	}
	return withParams(m, jsonx.Put(m.Params, "task", wish)), true, nil
}

// assign takes the host's answer to a request that was to be a task, and returns it with callgate's id. A result that is
// no task is the answer to the request.
func (s *server) assign(ctx context.Context, m, answer rpc.Message) []byte {
	h := s.host
	made, ok := taskIn(answer.Result)
	if !ok {
		return s.forServer(answer).WithID(m.ID)
	}
	a := &assignment{id: "task-" + rand.Text(), theirs: made.id, server: s, token: bytes.Clone(progressToken(m.Params))}
	a.shown = jsonx.Put(made.raw, "taskId", jsonx.Quote(a.id)) // before anybody else can find it
	if err := h.assignments.add(a); err != nil {
		if !errors.Is(err, errAssignedTwice) {
			h.recall(ctx, a)
		}
		return rpc.Error(m.ID, rpc.CodeInternal, err.Error())
	}
	result := jsonx.Put(answer.Result, "task", h.assignments.sees(a, made))
	return withResult(answer, related(result, a.named)).WithID(m.ID)
}

// named is the server's name for the task that the host calls id; "" for every other.
func (a *assignment) named(id string) string {
	if id == a.theirs {
		return a.id
	}
	return ""
}

// recall tells the host that nobody wants its task any more, where it can be told.
func (h *host) recall(ctx context.Context, a *assignment) {
	if !h.capable.Load().takes.cancel {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	params := append(append([]byte(`{"taskId":`), jsonx.Quote(a.theirs)...), '}')
	pending, err := h.ask(nil, "tasks/cancel", func(id []byte) []byte { return rpc.Request(id, "tasks/cancel", params) })
	if err == nil {
		_, err = pending.Wait(ctx)
	}
	if err != nil {
		h.log.Debug("a task of the host was not stopped", "server", a.server.alias, "error", err)
	}
}

// abandon stops what the host does for a server that has ended: nobody will ask for it.
func (s *server) abandon(state upstream.State) {
	if state != upstream.Down {
		return
	}
	for _, a := range s.host.assignments.leave(s) {
		s.host.work.Go(func() { s.host.recall(s.host.ctx, a) })
	}
}

// askAboutTask answers a server's request about what the host does for it as a task.
func (s *server) askAboutTask(ctx context.Context, m rpc.Message, r *inflight) []byte {
	h := s.host
	if m.Method == "tasks/list" {
		if hasCursor(m) {
			return rpc.Error(m.ID, rpc.CodeInvalidParams, "unknown cursor: the list has one page")
		}
		list := bytes.Join(h.assignments.of(s), []byte{','})
		return rpc.Result(m.ID, append(append([]byte(`{"tasks":[`), list...), "]}"...))
	}
	id, err := stringParam(m, "taskId")
	if err != nil {
		return rpc.Error(m.ID, rpc.CodeInvalidParams, err.Error())
	}
	a := h.assignments.find(func(a *assignment) bool { return a.server == s && a.id == id })
	if a == nil {
		return rpc.Error(m.ID, rpc.CodeInvalidParams, "there is no such task")
	}
	params, err := renameParam(m.Params, "taskId", a.theirs)
	if err != nil {
		return rpc.Error(m.ID, rpc.CodeInvalidParams, err.Error())
	}
	answer, fault := s.putToHost(ctx, m, withParams(s.forHost(m), params), r)
	if fault != nil {
		return fault
	}
	result := related(answer.Result, a.named)
	if m.Method != "tasks/result" && answer.Error == nil {
		t, ok := readTask(answer.Result)
		shown := []byte(nil)
		if ok {
			shown = h.assignments.sees(a, t)
		}
		if shown == nil {
			return rpc.Error(m.ID, rpc.CodeInternal, "the host answered with something else than its task")
		}
		result = shown
	}
	return withResult(answer, result).WithID(m.ID)
}

// assignmentStatus passes on what the host says of a task of its own to the server that it is for.
func (h *host) assignmentStatus(m rpc.Message) {
	t, ok := readTask(m.Params)
	if !ok {
		return
	}
	a := h.assignments.find(func(a *assignment) bool { return a.theirs == t.id && !a.over })
	if a == nil {
		return
	}
	if shown := h.assignments.sees(a, t); shown != nil {
		a.server.up.Notify(m.Method, shown)
	}
}

// isAboutTasks reports whether a method is one of those about tasks.
func isAboutTasks(method string) bool { return strings.HasPrefix(method, "tasks/") }
