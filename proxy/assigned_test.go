package proxy

import (
	"fmt"
	"strings"
	"testing"

	"callgate/audit"
	"callgate/gate"
	"callgate/internal/rpc"
	"callgate/proxy/internal/tasks"
)

const (
	receiverHello = `{"protocolVersion":"2025-11-25","capabilities":{"roots":{},"elicitation":{},"sampling":{},"tasks":{"list":{},"cancel":{},"requests":{"sampling":{"createMessage":{}},"elicitation":{"create":{}}}}},"clientInfo":{"name":"h","version":"1"}}`
	sample        = `sampling/createMessage {"messages":[],"maxTokens":1,"task":{"ttl":60000,"path":".env"}}`
	hostsTask     = `{"taskId":"host-%s","status":"%s","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":60000}`
)

// receiver returns a host that carries out requests of servers a and b as tasks, unless hello says otherwise.
func receiver(t *testing.T, rules, hello string) (*world, *testHost) {
	t.Helper()
	s := script{Version: "2025-11-25", Lists: map[string]string{"tools/list": oneTool}}
	w := newWorld(t, rules, false, []string{"a", "b"}, s, s)
	h := w.connect().collect()
	h.greet(hello)
	return w, h
}

// has makes the server send a request, within the call with that id.
func (h *testHost) has(server, id, request string) {
	h.t.Helper()
	h.calls(id, server+"_do", fmt.Sprintf(`{"do":"request","text":%q}`, request))
}

// asked returns the server's request that comes next to the host.
func (h *testHost) asked(method string) rpc.Message {
	h.t.Helper()
	m := h.next()
	if m.Method != method || !m.IsRequest() {
		h.t.Fatalf("not %s: %s", method, m.Raw)
	}
	return m
}

func (h *testHost) answer(m rpc.Message, result string) {
	h.t.Helper()
	h.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + `}`)
}

// assigned makes the server's request the host's task host-NAME, and returns callgate's id of the task.
func (h *testHost) assigned(server, id, name string) string {
	h.t.Helper()
	h.has(server, id, sample)
	m := h.asked("sampling/createMessage")
	if !strings.Contains(string(m.Params), `"task":{"ttl":60000}`) || strings.Contains(string(m.Params), ".env") {
		h.t.Errorf("the host was asked for %s", m.Params)
	}
	h.answer(m, `{"task":`+fmt.Sprintf(hostsTask, name, "working")+`,"x":1.0}`)
	text, _ := h.text(id)
	_, rest, ok := strings.Cut(text, `{"task":{"taskId":"task-`)
	if !ok || !strings.HasSuffix(text, `,"x":1.0}`) || strings.Contains(text, "host-") {
		h.t.Fatalf("the server was answered %s", text)
	}
	own, _, _ := strings.Cut(rest, `"`)
	return "task-" + own
}

// Each server reaches the host's tasks for it by callgate's ids, and no other server's.
func TestAssignmentsAreTheServersOwn(t *testing.T) {
	w, h := receiver(t, allowAll, receiverHello)
	of := h.assigned("a", "1", "1")
	for i, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
		for j, name := range []string{of, "host-1"} {
			id := fmt.Sprint(10 + 2*i + j)
			server := []string{"b", "a"}[j] // the host's id means nothing to the server that the task is for
			h.has(server, id, fmt.Sprintf(`%s {"taskId":%q}`, method, name))
			if text, _ := h.text(id); !strings.Contains(text, "there is no such task") {
				t.Errorf("%s of %s answers %s: %s", method, name, server, text)
			}
		}
	}
	h.has("b", "20", `tasks/list {}`)
	if text, _ := h.text("20"); !strings.HasSuffix(text, `{"tasks":[]}`) {
		t.Errorf("another server sees %s", text)
	}

	// The host reports the status, and only the server that the task is for hears it.
	h.send(`{"jsonrpc":"2.0","method":"notifications/tasks/status","params":` + fmt.Sprintf(hostsTask, "1", "input_required") + `}`)
	h.send(`{"jsonrpc":"2.0","method":"notifications/tasks/status","params":` + fmt.Sprintf(hostsTask, "of-nobody", "working") + `}`)
	for id, server := range map[string]string{"30": "a", "31": "b"} {
		h.calls(id, server+"_do", `{"do":"received"}`)
		text, _ := h.text(id)
		if told := strings.Contains(text, `"taskId":"`+of+`","status":"input_required"`); told != (server == "a") || strings.Contains(text, "host-") {
			t.Errorf("%s heard %s", server, text)
		}
	}

	h.has("a", "40", `tasks/get {"taskId":"`+of+`"}`)
	m := h.asked("tasks/get")
	if string(m.Params) != `{"taskId":"host-1"}` {
		t.Errorf("the host was asked for %s", m.Params)
	}
	h.answer(m, fmt.Sprintf(hostsTask, "1", "completed"))
	if text, _ := h.text("40"); !strings.Contains(text, `{"taskId":"`+of+`","status":"completed"`) {
		t.Errorf("the server was answered %s", text)
	}
	for _, id := range []string{"41", "42"} { // the result can be asked for again
		h.has("a", id, `tasks/result {"taskId":"`+of+`"}`)
		h.answer(h.asked("tasks/result"), `{"role":"assistant","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"host-1"}}}`)
		if text, _ := h.text(id); !strings.HasSuffix(text, `{"role":"assistant","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"`+of+`"}}}`) {
			t.Errorf("the server was answered %s", text)
		}
	}
	sampled := 0
	for _, d := range w.records(audit.Decision) {
		if strings.HasPrefix(d.Tool, "sampling") || d.Kind == "sampling" {
			sampled++
		}
	}
	if sampled != 1 {
		t.Errorf("%d decisions on sampling are on record", sampled)
	}
}

// A request that the gate denies does not become a task, because the host never hears of it.
func TestAssignmentsPassTheGate(t *testing.T) {
	w, h := receiver(t, `{ "*": "allow", "sampling": "deny" }`, receiverHello)
	h.has("a", "1", sample)
	if text, _ := h.text("1"); !strings.Contains(text, "callgate denied sampling") {
		t.Errorf("the server was answered %s", text)
	}
	h.quiet()
	if d := w.records(audit.Decision); d[len(d)-1].Decision != gate.DecidedDenied {
		t.Errorf("recorded as %+v", d)
	}
}

// A host that does not run such requests as tasks is not asked to, and its servers see no tasks.
func TestAHostThatTakesNoTasks(t *testing.T) {
	for _, hello := range []string{
		helloParams,
		strings.Replace(receiverHello, "2025-11-25", "2025-06-18", 1),
		strings.Replace(receiverHello, `"sampling":{"createMessage":{}},`, "", 1),
	} {
		_, h := receiver(t, allowAll, hello)
		h.has("a", "1", sample)
		m := h.asked("sampling/createMessage")
		if strings.Contains(string(m.Params), "task") {
			t.Errorf("the host was asked for %s", m.Params)
		}
		h.answer(m, `{"task":{"taskId":"raw"}}`)
		if text, _ := h.text("1"); !strings.HasSuffix(text, `{"task":{"taskId":"raw"}}`) { // not made by callgate
			t.Errorf("the server was answered %s", text)
		}
		h.has("a", "2", `tasks/get {"taskId":"raw"}`)
		if text, _ := h.text("2"); !strings.Contains(text, "the host does not offer tasks/get") && !strings.Contains(text, "there is no such task") {
			t.Errorf("the server was answered %s", text)
		}
		h.close()
	}
}

// A host that answers two requests with the same task gives neither server the other's.
func TestATaskOfTheHostThatIsGivenTwice(t *testing.T) {
	_, h := receiver(t, allowAll, receiverHello)
	h.assigned("a", "1", "1")
	h.has("b", "2", sample)
	h.answer(h.asked("sampling/createMessage"), `{"task":`+fmt.Sprintf(hostsTask, "1", "working")+`}`)
	if text, _ := h.text("2"); !strings.Contains(text, tasks.ErrAssignedTwice.Error()) {
		t.Errorf("the server was answered %s", text)
	}
}

// An invalid task request does not reach the host.
func TestAServersWishThatMakesNoSense(t *testing.T) {
	_, h := receiver(t, allowAll, receiverHello)
	h.has("a", "1", `elicitation/create {"message":"?","task":{"ttl":-5}}`)
	if text, _ := h.text("1"); !strings.Contains(text, "whole number of milliseconds") {
		t.Errorf("the server was answered %s", text)
	}
	h.quiet()
}

// The host's tasks for a server that has ended are stopped, and nobody can ask for them any more.
func TestAssignmentsOfAServerThatEnds(t *testing.T) {
	_, h := receiver(t, allowAll, receiverHello)
	of := h.assigned("a", "1", "1")
	h.calls("2", "a_do", `{"do":"die"}`)
	for range 2 {
		if m := h.next(); m.Method == "tasks/cancel" {
			if string(m.Params) != `{"taskId":"host-1"}` {
				t.Errorf("the host was asked for %s", m.Params)
			}
			h.answer(m, fmt.Sprintf(hostsTask, "1", "cancelled"))
		} else if string(m.ID) != "2" {
			t.Errorf("the host got %s", m.Raw)
		}
	}
	h.has("b", "3", `tasks/get {"taskId":"`+of+`"}`)
	if text, _ := h.text("3"); !strings.Contains(text, "there is no such task") {
		t.Errorf("the server was answered %s", text)
	}
}

// A host can have a limited number of tasks for its servers. Any further task is stopped.
func TestManyAssignments(t *testing.T) {
	_, h := receiver(t, allowAll, receiverHello)
	for i := range 64 {
		h.assigned("a", fmt.Sprint(i+1), fmt.Sprint(i+1))
	}
	h.has("a", "100", sample)
	h.answer(h.asked("sampling/createMessage"), `{"task":`+fmt.Sprintf(hostsTask, "100", "working")+`}`)
	m := h.asked("tasks/cancel")
	if string(m.Params) != `{"taskId":"host-100"}` {
		t.Errorf("the host was asked for %s", m.Params)
	}
	h.answer(m, fmt.Sprintf(hostsTask, "100", "cancelled"))
	if text, _ := h.text("100"); !strings.Contains(text, "the host has 64 tasks of its servers") {
		t.Errorf("the server was answered %s", text)
	}
	h.send(`{"jsonrpc":"2.0","method":"notifications/tasks/status","params":` + fmt.Sprintf(hostsTask, "7", "completed") + `}`)
	h.assigned("a", "101", "101")
}
