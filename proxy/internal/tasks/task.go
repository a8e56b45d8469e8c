// Package tasks holds the MCP 2025-11-25 tasks of one host.
//
// They are calls of the host that run as tasks, and requests of servers that the host runs as tasks. The package sends
// nothing.
package tasks

import (
	"strconv"
	"time"

	"callgate/internal/jsonx"
)

// Task is a task as its maker describes it.
type Task struct {
	Raw        []byte
	ID, Status string
	Message    string        // for people; may be ""
	TTL        time.Duration // 0 means none
}

func (t Task) Over() bool {
	return t.Status == "completed" || t.Status == "failed" || t.Status == "cancelled"
}

// In reads the task from the result of a call that has become one.
func In(result []byte) (Task, bool) {
	if !jsonx.MayHold(result, "task") {
		return Task{}, false
	}
	return Read(jsonx.At(result, "task"))
}

// maxSize bounds the description of a task, because callgate keeps it and sends it again and again.
const maxSize = 64 << 10

func Read(raw []byte) (t Task, ok bool) {
	var m [4]jsonx.Member
	if len(raw) == 0 || len(raw) > maxSize || raw[0] != '{' || jsonx.Members(raw, []string{"taskId", "status", "ttl", "statusMessage"}, m[:]) != nil {
		return t, false
	}
	t.Raw = raw
	t.ID, ok = jsonx.String(m[0].Value)
	t.Status, _ = jsonx.String(m[1].Value)
	t.Message, _ = jsonx.String(m[3].Value)
	if milliseconds, err := strconv.ParseFloat(string(m[2].Value), 64); err == nil {
		t.TTL = time.Duration(max(0, min(milliseconds, 1e12))) * time.Millisecond
	}
	return t, ok && t.ID != ""
}
