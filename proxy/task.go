package proxy

import (
	"crypto/rand"
	"fmt"
	"time"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
)

// extensionTasks is the extension by which a host can wait for a result without holding a request open.
const extensionTasks = "io.modelcontextprotocol/tasks"

const (
	taskKept = time.Hour       // how long the result of a task waits for its host
	taskPoll = 2 * time.Second // how often the host is asked to look
	maxTasks = 128             // of one principal, those included whose result waits
)

// task is how a host that declares the extension waits for a call that waits for a person. Its fields are
// guarded by the errand's mu.
type task struct {
	errand  *errand
	id      string
	expiry  *time.Timer // set, with the proxy's lock, when it is over
	began   time.Time   // zero until the host was told of it
	updated time.Time
}

func newTask(e *errand) *task { return &task{errand: e, id: "task-" + rand.Text()} }

// declaresTasks reports whether a request's capabilities have the extension.
func declaresTasks(capabilities []byte) bool {
	var extensions, tasks [1]jsonx.Member
	return jsonx.Members(capabilities, []string{"extensions"}, extensions[:]) == nil && extensions[0].Value != nil &&
		jsonx.Members(extensions[0].Value, []string{extensionTasks}, tasks[:]) == nil && tasks[0].Value != nil
}

// begin makes the task known by its id; false when its principal has too many that run.
func (t *task) begin() bool {
	if !t.errand.f.p.stateless.keep(t) {
		return false
	}
	t.began = time.Now().UTC()
	t.updated = t.began
	return true
}

// ended notes that the errand is over. The result waits for the host, for some time.
func (t *task) ended() {
	if t.began.IsZero() {
		return
	}
	t.updated = time.Now().UTC()
	s := &t.errand.f.p.stateless
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tasks[t.id] == t {
		t.expiry = time.AfterFunc(taskKept, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.tasks, t.id)
		})
	}
}

// keep takes a task in, unless its principal has too many. The one that was over first makes room.
func (s *stateless) keep(t *task) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, oldest := 0, (*task)(nil)
	for _, have := range s.tasks {
		if have.errand.f.key.from.Principal != t.errand.f.key.from.Principal {
			continue
		}
		n++
		if have.expiry != nil && (oldest == nil || have.updated.Before(oldest.updated)) {
			oldest = have
		}
	}
	switch {
	case s.closed || n >= maxTasks && oldest == nil:
		return false
	case n >= maxTasks:
		oldest.expiry.Stop()
		delete(s.tasks, oldest.id)
	}
	s.tasks[t.id] = t
	return true
}

// describe appends the members that every message about the task has.
func (t *task) describe(b []byte, status, message string) []byte {
	b = fmt.Appendf(b, `"taskId":%s,"status":%s,"createdAt":%q,"lastUpdatedAt":%q,"ttlMs":%d,"pollIntervalMs":%d`,
		jsonx.Quote(t.id), jsonx.Quote(status), t.began.Format(time.RFC3339Nano), t.updated.Format(time.RFC3339Nano), taskKept.Milliseconds(), taskPoll.Milliseconds())
	if message != "" {
		b = fmt.Appendf(b, `,"statusMessage":%s`, jsonx.Quote(message))
	}
	return b
}

// announcement is the result of the call that became the task.
func (t *task) announcement() []byte {
	return append(t.describe([]byte(`{"resultType":"task",`), "working", "waiting for a person's approval"), '}')
}

// now is the result of tasks/get.
func (t *task) now() []byte {
	e := t.errand
	b := []byte(`{"resultType":"complete",`)
	m, err := rpc.Parse(e.response)
	switch {
	case e.over && e.response == nil:
		return append(t.describe(b, "cancelled", ""), '}')
	case !e.over && len(e.questions) > 0:
		b = append(t.describe(b, "input_required", ""), `,"inputRequests":`...)
		return append(appendQuestions(b, e.questions), '}')
	case !e.over:
		return append(t.describe(b, "working", ""), '}')
	case err != nil:
		return append(t.describe(b, "failed", "the response cannot be read"), '}')
	case m.Error != nil:
		return append(append(append(t.describe(b, "failed", ""), `,"error":`...), m.Error...), '}')
	}
	result, err := completed(m.Result)
	if err != nil {
		return append(t.describe(b, "failed", "the response cannot be read"), '}')
	}
	return append(append(append(t.describe(b, "completed", ""), `,"result":`...), e.f.dress(e.method, result)...), '}')
}

// serveTask answers the methods of the extension. A task is nobody's business but its principal's.
func (f *face) serveTask(r statelessRequest) []byte {
	var m [2]jsonx.Member
	if err := jsonx.Members(r.Params, []string{"taskId", "inputResponses"}, m[:]); err != nil {
		return rpc.Error(r.ID, rpc.CodeInvalidParams, err.Error())
	}
	id, _ := jsonx.String(m[0].Value)
	s := &f.p.stateless
	s.mu.Lock()
	t := s.tasks[id]
	s.mu.Unlock()
	if t == nil || t.errand.f.key.from.Principal != f.key.from.Principal || t.errand.f.key.from.View != f.key.from.View {
		return rpc.Error(r.ID, rpc.CodeInvalidParams, "there is no such task")
	}
	e, result := t.errand, []byte("{}")
	switch r.Method {
	case "tasks/cancel":
		e.f.h.takeBack(e.id)
	case "tasks/update":
		answers, err := readResponses(m[1].Value)
		if err != nil {
			return rpc.Error(r.ID, rpc.CodeInvalidParams, err.Error())
		}
		e.mu.Lock()
		e.answer(answers)
		e.mu.Unlock()
	default:
		e.mu.Lock()
		result = t.now()
		e.mu.Unlock()
	}
	return rpc.Result(r.ID, f.dress(r.Method, result))
}
