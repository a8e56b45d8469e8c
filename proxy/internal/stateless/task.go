package stateless

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
)

// ExtensionTasks is the extension with which a host can wait for a result without holding a request open.
const ExtensionTasks = "io.modelcontextprotocol/tasks"

// TaskPrefix begins the id of each task.
const TaskPrefix = "task-"

// taskNotification reports a task's state to hosts that listen.
const taskNotification = "notifications/tasks"

const (
	TaskKept = time.Hour       // how long a task waits for its host; then its result, or its call, is dropped
	TaskPoll = 2 * time.Second // how often the host should ask, unless the server says otherwise
	MaxTasks = 128             // for each principal, including tasks whose result waits
)

// task lets a host that declares the extension wait for a call that waits for a person, or of which its server has made
// a task. The request's mu guards its fields.
type task struct {
	request *Request
	id      string
	message string        // for the host's person; may be ""
	poll    time.Duration // how often the host should ask
	expiry  *time.Timer   // set once it is over; guarded by Clients.mu
	idle    *time.Timer   // ends the call if nobody asks for the task; set with began
	began   time.Time     // zero until the host has been told of it
	updated time.Time

	subscriptions []*subscription // those that hear of its state
}

func newTask(e *Request) *task {
	return &task{request: e, id: TaskPrefix + e.client.all.o.Place(), poll: TaskPoll}
}

// declaresTasks reports whether a request's capabilities include the tasks extension.
func declaresTasks(capabilities []byte) bool {
	return jsonx.Has(capabilities, "extensions", ExtensionTasks)
}

// says notes the task's new message. A host that waits for the call is told now that it is a task. The caller holds mu.
func (t *task) says(message string, poll time.Duration) {
	e := t.request
	news := message != t.message
	t.message, t.poll = message, poll
	if e.waiting != nil && t.begin() {
		e.respond(rpc.Result(e.waiting.id, e.client.wrap(e.method, t.announcement())))
	} else if news {
		t.changed()
	}
}

// changed sends the task's state to its subscriptions. The caller holds mu.
func (t *task) changed() {
	t.updated = time.Now().UTC()
	for _, l := range t.subscriptions {
		l.tell(taskNotification, t.state([]byte{'{'}))
	}
}

// lacksTasks returns the error for a host that does not declare the extension.
func lacksTasks(id []byte) []byte {
	return errorWithData(id, codeLacksCapability, "the request does not declare the extension "+ExtensionTasks,
		fmt.Appendf(nil, `{"requiredCapabilities":{"extensions":{%s:{}}}}`, jsonx.Quote(ExtensionTasks)))
}

// begin makes the task known by its id. It returns false if its principal has too many running tasks.
func (t *task) begin() bool {
	if !t.request.client.all.keep(t) {
		return false
	}
	t.began = time.Now().UTC()
	t.updated = t.began
	e := t.request
	t.idle = time.AfterFunc(TaskKept, func() {
		e.mu.Lock()
		heard := len(t.subscriptions) > 0 && !e.over
		if heard {
			t.idle.Reset(TaskKept)
		}
		e.mu.Unlock()
		if !heard {
			e.client.host.TakeBack(e.id)
		}
	})
	return true
}

// ended notes that the request is over. The result waits TaskKept for the host.
func (t *task) ended() {
	if t.began.IsZero() {
		return
	}
	t.idle.Stop()
	t.changed()
	s := t.request.client.all
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tasks[t.id] == t {
		t.expiry = time.AfterFunc(TaskKept, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.tasks, t.id)
		})
	}
}

// keep adds a task, or returns false if its principal has too many. The task that has been over longest makes room.
func (all *Clients) keep(t *task) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	n, oldest := 0, (*task)(nil)
	for _, have := range all.tasks {
		if have.request.client.key.from.Principal != t.request.client.key.from.Principal {
			continue
		}
		n++
		if have.expiry != nil && (oldest == nil || have.updated.Before(oldest.updated)) {
			oldest = have
		}
	}
	switch {
	case all.closed || n >= MaxTasks && oldest == nil:
		return false
	case n >= MaxTasks:
		oldest.expiry.Stop()
		delete(all.tasks, oldest.id)
	}
	all.tasks[t.id] = t
	return true
}

// describe appends the members that all messages about the task have. Its time to live counts from its beginning, and
// grows until the task is over.
func (t *task) describe(b []byte, status, message string) []byte {
	until := t.updated
	if !t.request.over {
		until = time.Now()
	}
	b = fmt.Appendf(b, `"taskId":%s,"status":%s,"createdAt":%q,"lastUpdatedAt":%q,"ttlMs":%d,"pollIntervalMs":%d`,
		jsonx.Quote(t.id), jsonx.Quote(status), t.began.Format(time.RFC3339Nano), t.updated.Format(time.RFC3339Nano),
		(until.Sub(t.began) + TaskKept).Milliseconds(), t.poll.Milliseconds())
	if message != "" {
		b = fmt.Appendf(b, `,"statusMessage":%s`, jsonx.Quote(message))
	}
	return b
}

// announcement returns the result of the call that became the task.
func (t *task) announcement() []byte {
	return append(t.describe([]byte(`{"resultType":"task",`), "working", t.message), '}')
}

// now returns the result of tasks/get. The caller holds mu.
func (t *task) now() []byte { return t.state([]byte(`{"resultType":"complete",`)) }

// state appends the task's status and outcome, and closes the object.
func (t *task) state(b []byte) []byte {
	e := t.request
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

// typed returns a result with the resultType that stateless revisions require; nothing else changes.
func typed(result []byte) []byte {
	var kind [1]jsonx.Member
	if jsonx.Members(result, []string{"resultType"}, kind[:]) != nil || kind[0].Value != nil {
		return result
	}
	return jsonx.Put(result, "resultType", []byte(`"complete"`))
}

// task returns the task with that id, or nil if the principal and the view have no such task.
func (c *Client) task(id string) *task {
	s := c.all
	s.mu.Lock()
	t := s.tasks[id]
	s.mu.Unlock()
	if t == nil || t.request.client.key.from.Principal != c.key.from.Principal || t.request.client.key.from.View != c.key.from.View {
		return nil
	}
	return t
}

// touch notes that the host still asks for the task.
func (t *task) touch() {
	t.request.mu.Lock()
	defer t.request.mu.Unlock()
	if !t.request.over {
		t.idle.Reset(TaskKept)
	}
}

// serveTask answers the methods of the extension. Only its own principal can reach a task.
func (c *Client) serveTask(r incoming) []byte {
	var m [2]jsonx.Member
	if err := jsonx.Members(r.Params, []string{"taskId", "inputResponses"}, m[:]); err != nil {
		return rpc.Error(r.ID, rpc.CodeInvalidParams, err.Error())
	}
	id, _ := jsonx.String(m[0].Value)
	t := c.task(id)
	if t == nil {
		return rpc.Error(r.ID, rpc.CodeInvalidParams, "there is no such task")
	}
	t.touch()
	e, result := t.request, []byte("{}")
	switch r.Method {
	case "tasks/cancel":
		e.client.host.TakeBack(e.id)
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
	return rpc.Result(r.ID, c.wrap(r.Method, result))
}

// tasksOf returns the ids of the tasks that a request is about, without TaskPrefix.
func tasksOf(m rpc.Message) (ids []string) {
	var one [1]jsonx.Member
	var all [1]jsonx.Member
	switch {
	case slices.Contains(taskMethods, m.Method):
		if jsonx.Members(m.Params, []string{"taskId"}, one[:]) == nil {
			id, _ := jsonx.String(one[0].Value)
			ids = []string{id}
		}
	case m.Method == "subscriptions/listen":
		if jsonx.Members(m.Params, []string{"notifications"}, one[:]) == nil && one[0].Value != nil && jsonx.Members(one[0].Value, []string{"taskIds"}, all[:]) == nil && all[0].Value != nil {
			ids, _ = stringsOf(all[0].Value) // if unreadable, the request is refused where it is served
		}
	}
	for i := range ids {
		ids[i] = strings.TrimPrefix(ids[i], TaskPrefix)
	}
	return ids
}
