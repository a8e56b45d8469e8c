package main

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// task is a call of a tool that its client asked to be a task. It ends when the tool finish is called.
type task struct {
	id     string
	status string
	params json.RawMessage // the call's
	ended  chan struct{}   // closed when status is final
}

// withTasks returns a result of initialize that offers tasks.
func withTasks(result json.RawMessage) json.RawMessage {
	return bytes.Replace(result, []byte(`"capabilities":{`), []byte(`"capabilities":{"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}},"x-unknown":1.0},`), 1)
}

// taskTools lists the tools that make and end tasks.
const taskTools = `{"name":"work","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}},` +
	`{"name":"labour","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}},` +
	`{"name":"finish","inputSchema":{"type":"object"}},`

// callTask answers the tools of taskTools. It returns false for other calls.
func (s *server) callTask(m message, p callParams, cancel <-chan struct{}) bool {
	switch {
	case !s.tasks:
		return false
	case p.Name == "finish":
		s.mu.Lock()
		for _, t := range s.made {
			t.end("completed")
		}
		s.mu.Unlock()
		s.answer(m.ID, text("finished"))
	case p.Name == "labour" && p.Task == nil:
		s.fail(m.ID, -32601, "labour needs a task", nil)
	case p.Name == "work" && p.Task == nil:
		s.answer(m.ID, fmt.Appendf(nil, `{"content":[],"structuredContent":%s}`, m.Params))
	case p.Name == "work" || p.Name == "labour":
		s.makeTask(m, p, cancel)
	default:
		return false
	}
	return true
}

// makeTask answers with a task. It reports the status of a task that no client knows, and the progress of this one. If
// the call's arguments say so, it asks the client in the task's name.
func (s *server) makeTask(m message, p callParams, cancel <-chan struct{}) {
	s.mu.Lock()
	t := &task{id: fmt.Sprintf("t-%d", len(s.made)+1), status: "working", params: m.Params, ended: make(chan struct{})}
	s.made = append(s.made, t)
	s.mu.Unlock()
	s.answer(m.ID, fmt.Appendf(nil, `{"task":%s,"x-unknown":1.0}`, t.describe()))
	s.notify("notifications/tasks/status", `{"taskId":"of-somebody-else","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":null}`)
	if p.Meta.ProgressToken != nil {
		s.notify("notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":1,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"%s"}}}`, p.Meta.ProgressToken, t.id))
	}
	if !p.Arguments.Ask {
		return
	}
	asks := fmt.Sprintf(`{"message":"Which colour?","requestedSchema":{"type":"object","properties":{}},"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"%s"}}}`, t.id)
	if _, ok := s.ask("elicitation/create", asks, cancel); ok {
		s.mu.Lock()
		t.end("completed")
		s.mu.Unlock()
	}
}

// end sets the task's final status, unless it has one. The caller MUST hold mu.
func (t *task) end(status string) {
	if t.status == "working" {
		t.status = status
		close(t.ended)
	}
}

func (t *task) describe() []byte {
	return fmt.Appendf(nil, `{"taskId":"%s","status":"%s","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":60000,"x-unknown":9007199254740993}`, t.id, t.status)
}

// serveTask answers the methods of tasks. It returns false for other requests.
func (s *server) serveTask(m message, cancel <-chan struct{}) bool {
	switch m.Method {
	case "tasks/get", "tasks/result", "tasks/cancel":
	default:
		return false
	}
	var p struct {
		TaskID string `json:"taskId"`
	}
	if err := json.Unmarshal(m.Params, &p); err != nil {
		s.fail(m.ID, -32602, err.Error(), nil)
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var t *task
	for _, have := range s.made {
		if have.id == p.TaskID {
			t = have
		}
	}
	switch {
	case t == nil:
		s.fail(m.ID, -32602, "no task "+p.TaskID, nil)
	case m.Method == "tasks/cancel":
		t.end("cancelled")
		s.answer(m.ID, t.describe())
	case m.Method == "tasks/get":
		s.answer(m.ID, t.describe())
	default:
		s.calls.Go(func() { s.taskResult(m, t, cancel) })
	}
	return true
}

// taskResult answers with the task's result once it has ended.
func (s *server) taskResult(m message, t *task, cancel <-chan struct{}) {
	select {
	case <-t.ended:
	case <-cancel:
		return
	}
	if t.status == "cancelled" {
		s.fail(m.ID, -32603, "the task was cancelled", nil)
		return
	}
	s.answer(m.ID, fmt.Appendf(nil, `{"content":[],"structuredContent":%s,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"%s"},"x-unknown":1.0}}`, t.params, t.id))
}
