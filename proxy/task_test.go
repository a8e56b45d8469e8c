package proxy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"callgate/audit"
	"callgate/gate"
	"callgate/internal/testserver/waits"
	"callgate/proxy/internal/stateless"
)

const (
	modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"new","version":"1"},"io.modelcontextprotocol/clientCapabilities":%s}`
	withTasks  = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`
)

// modern sends a request of the stateless revision. params are members without braces.
func (h *testHost) modern(id, method, params, capabilities string) {
	h.t.Helper()
	h.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s,%s}}`, id, method, params, fmt.Sprintf(modernMeta, capabilities)))
}

func (h *testHost) modernTask(id, method, task string) {
	h.t.Helper()
	h.modern(id, method, fmt.Sprintf(`"taskId":%q`, task), withTasks)
}

// begun returns the id of the task of the extension that the call became.
func (h *testHost) begun(id string) string {
	h.t.Helper()
	m := h.next()
	_, rest, ok := strings.Cut(string(m.Result), `"taskId":"`)
	if string(m.ID) != id || !ok || !strings.Contains(string(m.Result), `"resultType":"task"`) {
		h.t.Fatalf("%s is no task: %s", id, m.Raw)
	}
	task, _, _ := strings.Cut(rest, `"`)
	return task
}

// by returns capabilities that give a host another session.
func by(session int) string {
	return fmt.Sprintf(`{"experimental":{"session":%d},"extensions":{"io.modelcontextprotocol/tasks":{}}}`, session)
}

// A principal can have a limited number of tasks: the next call is held open, and one that has ended makes room. A
// cancelled task withdraws its question to a person, and nothing of its call runs.
func TestManyTasksOfTheExtension(t *testing.T) {
	w, h := ready(t, `{ "*": "ask" }`, false, []string{"s"}, withOneTool)
	call := func(i int) string {
		id := fmt.Sprint(i)
		h.modern(id, "tools/call", `"name":"s_do","arguments":{"n":`+id+`}`, by(i/50))
		return id
	}
	first := h.begun(call(1))
	for i := 2; i <= stateless.MaxTasks; i++ {
		h.begun(call(i))
	}
	held := call(stateless.MaxTasks + 1)
	h.quietStateless()
	h.modernTask(`"c"`, "tasks/cancel", first)
	if m := h.next(); !strings.Contains(string(m.Result), `"resultType":"complete"`) {
		t.Errorf("cancelled: %s", m.Raw)
	}
	waits.Until(t, "the first is over", func() bool { // a while after its approval
		h.modernTask(`"o"`, "tasks/get", first)
		return strings.Contains(string(h.next().Result), `"status":"cancelled"`)
	})
	if n := len(w.gate.Pending()); n != stateless.MaxTasks {
		t.Errorf("%d approvals wait", n)
	}
	h.begun(call(stateless.MaxTasks + 2))
	h.modernTask(`"g"`, "tasks/get", first)
	if m := h.next(); !strings.Contains(string(m.Error), "there is no such task") { // it made room
		t.Errorf("the first: %s", m.Raw)
	}
	h.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + held + `}}`)
	h.quietStateless()
	if got := w.records(audit.Decision); len(got) == 0 || got[0].Decision != gate.DecidedCancelled {
		t.Errorf("recorded as %+v", got)
	}
}

// quietStateless is quiet for a host without a handshake.
func (h *testHost) quietStateless() {
	h.t.Helper()
	h.modern(`"quiet"`, "server/discover", `"x":1`, `{}`)
	if m := h.next(); string(m.ID) != `"quiet"` {
		h.t.Fatalf("nobody asked for %s", m.Raw)
	}
}

// A host that listens to a task hears its status and its outcome. Nobody hears of others' tasks.
func TestListeningToATask(t *testing.T) {
	w, h := ready(t, `{ "*": "ask" }`, false, []string{"s"}, withOneTool)
	h.modern("1", "tools/call", `"name":"s_do","arguments":{"text":"t"}`, withTasks)
	task := h.begun("1")
	h.modern("2", "subscriptions/listen", `"notifications":{"toolsListChanged":true,"taskIds":["`+task+`","task-other","`+task+`"]}`, withTasks)
	if m := h.next(); m.Method != "notifications/subscriptions/acknowledged" || !strings.Contains(string(m.Params), `"notifications":{"toolsListChanged":true,"taskIds":["`+task+`"]}`) {
		t.Fatalf("acknowledged with %s", m.Raw)
	}
	for _, want := range []string{`"status":"working"`, `"status":"working"`, `"status":"completed"`} {
		m := h.next()
		if m.Method != "notifications/tasks" || !strings.Contains(string(m.Params), `"taskId":"`+task+`",`+want) || strings.Contains(string(m.Params), "resultType\":\"complete\",\"taskId") {
			t.Errorf("told %s", m.Raw)
		}
		if strings.Contains(string(m.Params), "waiting for a person") {
			a := w.asked()
			if err := w.gate.Answer(a.ID, gate.Answer{SessionID: a.SessionID, Digest: a.Digest, Decision: "approve", By: "test", From: "test"}); err != nil {
				t.Fatal(err)
			}
		}
		if strings.Contains(want, "completed") && !strings.HasSuffix(string(m.Params), `"result":{"resultType":"complete","content":[{"type":"text","text":"do t"}]}}`) {
			t.Errorf("without the result: %s", m.Raw)
		}
	}
	h.modern("3", "subscriptions/listen", `"notifications":{"taskIds":["`+task+`"]}`, `{}`)
	if m := h.next(); string(m.ID) != "3" || !strings.Contains(string(m.Error), `"code":-32021`) {
		t.Errorf("a host that does not declare tasks was answered %s", m.Raw)
	}
}

// A task that its host has forgotten does not run for ever: its call is taken back when nobody has asked for an hour.
func TestATaskThatIsForgotten(t *testing.T) {
	approvalsWait = 24 * time.Hour
	t.Cleanup(func() { approvalsWait = 0 })
	inBubble(t, `{ "*": "ask" }`, func(w *world, h *testHost) {
		h.modern("1", "server/discover", `"x":1`, withTasks)
		h.next()
		w.offer("do")
		h.modern("2", "tools/call", `"name":"s_do","arguments":{}`, withTasks)
		task := h.begun("2")
		time.Sleep(stateless.TaskKept - time.Minute)
		h.modernTask("3", "tasks/get", task)
		if m := h.next(); !strings.Contains(string(m.Result), `"status":"working"`) || !strings.Contains(string(m.Result), `"ttlMs":7140000`) {
			t.Errorf("the task is %s", m.Raw)
		}
		time.Sleep(stateless.TaskKept - time.Minute)
		h.silent()
		if n := len(w.gate.Pending()); n != 1 {
			t.Fatalf("%d approvals wait for a task that was asked about", n)
		}
		time.Sleep(2 * time.Minute)
		h.silent()
		if n := len(w.gate.Pending()); n != 0 {
			t.Errorf("%d approvals wait for a task that nobody asks about", n)
		}
		h.modernTask("4", "tasks/get", task)
		if m := h.next(); !strings.Contains(string(m.Result), `"status":"cancelled"`) {
			t.Errorf("the task is %s", m.Raw)
		}
		time.Sleep(stateless.TaskKept + time.Minute)
		h.modernTask("5", "tasks/get", task)
		if m := h.next(); !strings.Contains(string(m.Error), "there is no such task") {
			t.Errorf("the task is %s", m.Raw)
		}
	})
}
