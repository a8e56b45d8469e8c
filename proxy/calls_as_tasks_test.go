package proxy

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"callgate/audit"
	"callgate/gate"
	"callgate/proxy/internal/tasks"
)

const (
	tasksHello   = `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"h","version":"1"}}`
	taskTool     = `{"tools":[{"name":"do","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}]}`
	offersTasks  = `{"tools":{},"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}}`
	endedAtOnce  = `{"taskId":"t","status":"completed","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":null}`
	stillWorking = `{"taskId":"t","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":null}`
)

// taskHost returns a host of a server whose only tool can run as a task. The server answers other methods as in lists.
func taskHost(t *testing.T, lists map[string]string) (*world, *testHost) {
	t.Helper()
	all := map[string]string{"tools/list": taskTool, "tasks/result": ""}
	maps.Copy(all, lists)
	w := newWorld(t, `{ "*": { "*": "allow" } }`, false, []string{"s"}, script{Capabilities: offersTasks, Lists: all})
	h := w.connect().collect()
	if welcome := string(h.greet(tasksHello)); !strings.Contains(welcome, `"tasks":{`) {
		t.Fatalf("no tasks are offered: %s", welcome)
	}
	return w, h
}

// write makes a call whose answer is exactly that result.
func (h *testHost) write(id, result, task string) {
	h.t.Helper()
	text := fmt.Sprintf(`{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":%s}`, strings.ReplaceAll(result, `"`, `\"`))
	h.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"s_do","arguments":{"do":"write","text":"` + text + `"}` + task + `}}`)
}

// began returns the host's id of the task that the call became.
func (h *testHost) began(id string) string {
	h.t.Helper()
	m := h.next()
	_, rest, ok := strings.Cut(string(m.Result), `{"task":{"taskId":"task-`)
	if string(m.ID) != id || !ok {
		h.t.Fatalf("%s is no task: %s", id, m.Raw)
	}
	name, _, _ := strings.Cut(rest, `"`)
	return "task-" + name
}

func (h *testHost) askTask(id, method, task string) {
	h.t.Helper()
	h.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{"taskId":%q}}`, id, method, task))
}

// A result that looks like a task is an ordinary result if no task was requested.
func TestATaskThatNobodyAskedFor(t *testing.T) {
	_, h := taskHost(t, nil)
	h.write("1", `{"content":[],"task":{"taskId":"t","status":"working"}}`, "")
	h.want(`{"jsonrpc":"2.0","id":1,"result":{"content":[],"task":{"taskId":"t","status":"working"}}}`)
}

// An invalid task request is refused with a record, and reaches nobody.
func TestAWishThatMakesNoSense(t *testing.T) {
	w, h := taskHost(t, nil)
	h.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s_do","arguments":{},"task":{"ttl":-1}}}`)
	if m := h.next(); m.Error == nil || !strings.Contains(string(m.Error), `the \"ttl\" of \"task\" is -1`) {
		t.Errorf("answered %s", m.Raw)
	}
	if d := w.records(audit.Decision); len(d) != 1 || d[0].Decision != gate.DecidedDenied {
		t.Errorf("recorded as %+v", d)
	}
}

// A server that calls its task ended but never gives the result holds up nobody who asks for the status.
func TestATaskThatIsOverWithoutAResult(t *testing.T) {
	_, h := taskHost(t, map[string]string{"tasks/get": endedAtOnce})
	h.write("1", `{"task":`+stillWorking+`}`, `,"task":{}`)
	task := h.began("1")
	h.askTask("2", "tasks/get", task)
	if m := h.next(); string(m.ID) != "2" || !strings.Contains(string(m.Result), `"taskId":"`+task+`","status":"completed"`) {
		t.Errorf("answered %s", m.Raw)
	}
}

// A server that does not say whether it stops a task holds up neither the request nor the result.
func TestATaskThatIsNotStopped(t *testing.T) {
	if testing.Short() {
		t.Skip("waits as long as servers may take")
	}
	t.Parallel()
	_, h := taskHost(t, map[string]string{"tasks/cancel": ""})
	h.write("1", `{"task":`+stillWorking+`}`, `,"task":{}`)
	began := time.Now()
	h.askTask("2", "tasks/cancel", h.began("1"))
	if m := h.next(); string(m.ID) != "2" || !strings.Contains(string(m.Error), errNotStopped.Error()) || time.Since(began) < stopPatience {
		t.Errorf("answered %s", m.Raw)
	}
}

// If a server gives the same task to two calls, the second is no way to the first.
func TestATaskThatIsGivenTwice(t *testing.T) {
	w, h := taskHost(t, map[string]string{"tasks/cancel": stillWorking})
	h.write("1", `{"task":`+stillWorking+`}`, `,"task":{}`)
	first := h.began("1")
	h.write("2", `{"task":`+stillWorking+`}`, `,"task":{}`)
	second := h.began("2")
	if m := h.next(); !strings.Contains(string(m.Params), `"taskId":"`+second+`","status":"failed"`) {
		t.Errorf("told %s", m.Raw)
	}
	h.askTask("3", "tasks/result", second)
	if text, isError := h.text("3"); !isError || !strings.Contains(text, "that it has made for another call") {
		t.Errorf("the result is %s", text)
	}
	h.askTask("4", "tasks/cancel", first)
	if m := h.next(); !strings.Contains(string(m.Raw), `"taskId":"`+first+`","status":"cancelled"`) {
		t.Errorf("the first: %s", m.Raw)
	}
	w.outcomes(2)
	if d := w.records(audit.Decision); len(d) != 2 {
		t.Errorf("%d decisions are on record", len(d))
	}
}

// A server's message about a task that is over changes nothing and reaches nobody.
func TestATaskThatEndsTwice(t *testing.T) {
	_, h := taskHost(t, map[string]string{"tasks/result": `{"content":[{"type":"text","text":"once"}]}`})
	h.write("1", `{"task":`+stillWorking+`}`, `,"task":{}`)
	task := h.began("1")
	if m := h.next(); !strings.Contains(string(m.Params), `"status":"completed"`) {
		t.Errorf("told %s", m.Raw)
	}
	late := strings.ReplaceAll(`{"jsonrpc":"2.0","method":"notifications/tasks/status","params":`+stillWorking+`}`, `"`, `\"`)
	h.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"s_do","arguments":{"do":"write","text":"` + late + `\n{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{}}"}}}`)
	h.want(`{"jsonrpc":"2.0","id":2,"result":{}}`)
	for _, id := range []string{"3", "4"} {
		h.askTask(id, "tasks/result", task)
		if text, _ := h.text(id); text != "once" {
			t.Errorf("the result is %s", text)
		}
	}
}

// A host cannot use ids that are not its own to talk to a server about tasks.
func TestTasksThatAHostNames(t *testing.T) {
	_, h := taskHost(t, nil)
	h.write("1", `{"task":`+stillWorking+`}`, `,"task":{}`)
	task := h.began("1")
	const known, spelled = "io.modelcontextprotocol/related-task", `io.modelcontextprotocol\/rel\u0061ted-task`
	for id, c := range map[string]struct{ member, named, passed string }{
		"2": {known, "t", `"_meta":{"k":1}`},
		"3": {known, "task-other", `"_meta":{"k":1}`},
		"4": {spelled, `\u0074`, `"_meta":{"k":1}`},
		"5": {known, task, `"_meta":{"` + known + `":{"taskId":"t"},"k":1}`},
	} {
		h.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"s_do","arguments":{},"_meta":{"` + c.member + `":{"taskId":"` + c.named + `"},"k":1}}}`)
		h.text(id)
		h.calls("9", "s_do", `{"do":"received"}`)
		if text, _ := h.text("9"); !strings.Contains(text, c.passed+"}") {
			t.Errorf("with %s the server got %s", c.named, text)
		}
	}
}

// A session can have a limited number of tasks. One that has ended makes room.
func TestManyTasks(t *testing.T) {
	w, h := taskHost(t, map[string]string{"tasks/cancel": stillWorking})
	var last string
	for i := range tasks.Max {
		id := fmt.Sprint(i + 1)
		h.write(id, strings.ReplaceAll(`{"task":`+stillWorking+`}`, `"t"`, `"t`+id+`"`), `,"task":{}`)
		last = h.began(id)
	}
	h.write("100", `{}`, `,"task":{}`)
	if m := h.next(); string(m.ID) != "100" || !strings.Contains(string(m.Error), "this session has 64 tasks") {
		t.Errorf("answered %s", m.Raw)
	}
	h.askTask("101", "tasks/cancel", last)
	for range 2 { // the answer and the notification, in either order
		if m := h.next(); !strings.Contains(string(m.Raw), `"status":"cancelled"`) {
			t.Errorf("told %s", m.Raw)
		}
	}
	h.write("102", `{"task":`+stillWorking+`}`, `,"task":{}`)
	h.began("102")
	if d := w.records(audit.Decision); len(d) != tasks.Max+2 {
		t.Errorf("%d decisions are on record", len(d))
	}
}

// A server's description of a task is bounded, because it is kept.
func TestATaskThatSaysTooMuch(t *testing.T) {
	_, h := taskHost(t, nil)
	large := `{"taskId":"t","status":"working","statusMessage":"` + strings.Repeat("x", 64<<10) + `"}`
	h.write("1", `{"content":[],"task":`+large+`}`, `,"task":{}`)
	task := h.began("1")
	h.next() // the notification of its end
	h.send(`{"jsonrpc":"2.0","id":2,"method":"tasks/list"}`)
	if m := h.next(); len(m.Raw) > 1000 || !strings.Contains(string(m.Raw), task) {
		t.Errorf("%d bytes are listed", len(m.Raw))
	}
}
