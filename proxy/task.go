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

// taskNotification tells hosts that listen how a task is.
const taskNotification = "notifications/tasks"

const (
	taskKept = time.Hour       // how long a task waits for its host to look: then its result is gone, or its call is taken back
	taskPoll = 2 * time.Second // how often the host is asked to look, where no server says so
	maxTasks = 128             // of one principal, those included whose result waits
)

// task is how a host that declares the extension waits for a call that waits for a person, or that its server has made
// a task of. Its fields are guarded by the errand's mu.
type task struct {
	errand  *errand
	id      string
	message string        // what the host's person may read about it; "" for nothing
	poll    time.Duration // how often the host is asked to look
	expiry  *time.Timer   // set, with the proxy's lock, when it is over
	idle    *time.Timer   // ends the call when nobody asks for it; set with began
	began   time.Time     // zero until the host was told of it
	updated time.Time

	listeners []*listener // that hear how it goes
}

func newTask(e *errand) *task { return &task{errand: e, id: "task-" + rand.Text(), poll: taskPoll} }

// declaresTasks reports whether a request's capabilities have the extension.
func declaresTasks(capabilities []byte) bool {
	var extensions, tasks [1]jsonx.Member
	return jsonx.Members(capabilities, []string{"extensions"}, extensions[:]) == nil && extensions[0].Value != nil &&
		jsonx.Members(extensions[0].Value, []string{extensionTasks}, tasks[:]) == nil && tasks[0].Value != nil
}

// says notes what is to be told of the task. The host that waits for the call hears of the task now.
func (t *task) says(message string, poll time.Duration) {
	e := t.errand
	news := message != t.message
	t.message, t.poll = message, poll
	if e.waiting != nil && t.begin() {
		e.arriveWith(rpc.Result(e.waiting.id, e.f.dress(e.method, t.announcement())))
	} else if news {
		t.changed()
	}
}

// changed tells who listens how the task is now.
func (t *task) changed() {
	t.updated = time.Now().UTC()
	for _, l := range t.listeners {
		l.tell(taskNotification, t.state([]byte{'{'}))
	}
}

// lacksTasks is the error for a host that does not declare the extension.
func lacksTasks(id []byte) []byte {
	return errorWithData(id, codeLacksCapability, "the request does not declare the extension "+extensionTasks,
		fmt.Appendf(nil, `{"requiredCapabilities":{"extensions":{%s:{}}}}`, jsonx.Quote(extensionTasks)))
}

// begin makes the task known by its id; false when its principal has too many that run.
func (t *task) begin() bool {
	if !t.errand.f.p.stateless.keep(t) {
		return false
	}
	t.began = time.Now().UTC()
	t.updated = t.began
	e := t.errand
	t.idle = time.AfterFunc(taskKept, func() {
		e.mu.Lock()
		heard := len(t.listeners) > 0 && !e.over
		if heard {
			t.idle.Reset(taskKept)
		}
		e.mu.Unlock()
		if !heard {
			e.f.h.takeBack(e.id)
		}
	})
	return true
}

// ended notes that the errand is over. The result waits for the host, for some time.
func (t *task) ended() {
	if t.began.IsZero() {
		return
	}
	t.idle.Stop()
	t.changed()
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

// describe appends the members that every message about the task has. Its time to live counts from its beginning, and
// grows as long as it is not over.
func (t *task) describe(b []byte, status, message string) []byte {
	until := t.updated
	if !t.errand.over {
		until = time.Now()
	}
	b = fmt.Appendf(b, `"taskId":%s,"status":%s,"createdAt":%q,"lastUpdatedAt":%q,"ttlMs":%d,"pollIntervalMs":%d`,
		jsonx.Quote(t.id), jsonx.Quote(status), t.began.Format(time.RFC3339Nano), t.updated.Format(time.RFC3339Nano),
		(until.Sub(t.began) + taskKept).Milliseconds(), t.poll.Milliseconds())
	if message != "" {
		b = fmt.Appendf(b, `,"statusMessage":%s`, jsonx.Quote(message))
	}
	return b
}

// announcement is the result of the call that became the task.
func (t *task) announcement() []byte {
	return append(t.describe([]byte(`{"resultType":"task",`), "working", t.message), '}')
}

// now is the result of tasks/get.
func (t *task) now() []byte { return t.state([]byte(`{"resultType":"complete",`)) }

// state appends how the task is, with what it has come to, and ends the object.
func (t *task) state(b []byte) []byte {
	e := t.errand
	m, err := rpc.Parse(e.response)
	switch {
	case e.over && e.response == nil:
		return append(t.describe(b, "cancelled", ""), '}')
	case !e.over && len(e.questions) > 0:
		b = append(t.describe(b, "input_required", t.message), `,"inputRequests":`...)
		return append(appendQuestions(b, e.questions), '}')
	case !e.over:
		return append(t.describe(b, "working", t.message), '}')
	case err != nil:
		return append(t.describe(b, "failed", "the response cannot be read"), '}')
	case m.Error != nil:
		return append(append(append(t.describe(b, "failed", ""), `,"error":`...), m.Error...), '}')
	}
	result, err := completed(m.Result)
	if err != nil {
		return append(t.describe(b, "failed", "the response cannot be read"), '}')
	}
	return append(append(append(t.describe(b, "completed", ""), `,"result":`...), typed(result)...), '}')
}

// typed returns a result with the type that results of the stateless revisions have; nothing else of it changes.
func typed(result []byte) []byte {
	var kind [1]jsonx.Member
	if jsonx.Members(result, []string{"resultType"}, kind[:]) != nil || kind[0].Value != nil {
		return result
	}
	return jsonx.Put(result, "resultType", []byte(`"complete"`))
}

// task returns the task with that id, nil where there is none for the principal and the view.
func (f *face) task(id string) *task {
	s := &f.p.stateless
	s.mu.Lock()
	t := s.tasks[id]
	s.mu.Unlock()
	if t == nil || t.errand.f.key.from.Principal != f.key.from.Principal || t.errand.f.key.from.View != f.key.from.View {
		return nil
	}
	return t
}

// looked notes that the host has not forgotten the task.
func (t *task) looked() {
	t.errand.mu.Lock()
	defer t.errand.mu.Unlock()
	if !t.errand.over {
		t.idle.Reset(taskKept)
	}
}

// serveTask answers the methods of the extension. A task is nobody's business but its principal's.
func (f *face) serveTask(r statelessRequest) []byte {
	var m [2]jsonx.Member
	if err := jsonx.Members(r.Params, []string{"taskId", "inputResponses"}, m[:]); err != nil {
		return rpc.Error(r.ID, rpc.CodeInvalidParams, err.Error())
	}
	id, _ := jsonx.String(m[0].Value)
	t := f.task(id)
	if t == nil {
		return rpc.Error(r.ID, rpc.CodeInvalidParams, "there is no such task")
	}
	t.looked()
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
