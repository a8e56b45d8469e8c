package proxy

import (
	"strconv"
	"time"

	"callgate/internal/jsonx"
)

// serverTask is what a server says of a task.
type serverTask struct {
	raw        []byte
	id, status string
	message    string        // for people; "" for none
	ttl        time.Duration // 0 is none
}

func (t serverTask) over() bool {
	return t.status == "completed" || t.status == "failed" || t.status == "cancelled"
}

// taskIn reads the result of a call that has become a task.
func taskIn(result []byte) (serverTask, bool) {
	var m [1]jsonx.Member
	if !jsonx.MayHold(result, "task") || jsonx.Members(result, []string{"task"}, m[:]) != nil || m[0].Value == nil {
		return serverTask{}, false
	}
	return readTask(m[0].Value)
}

// maxTask bounds what a server may say of a task: it is kept, and told again and again.
const maxTask = 64 << 10

func readTask(raw []byte) (t serverTask, ok bool) {
	var m [4]jsonx.Member
	if len(raw) == 0 || len(raw) > maxTask || raw[0] != '{' || jsonx.Members(raw, []string{"taskId", "status", "ttl", "statusMessage"}, m[:]) != nil {
		return t, false
	}
	t.raw = raw
	t.id, ok = jsonx.String(m[0].Value)
	t.status, _ = jsonx.String(m[1].Value)
	t.message, _ = jsonx.String(m[3].Value)
	if milliseconds, err := strconv.ParseFloat(string(m[2].Value), 64); err == nil {
		t.ttl = time.Duration(max(0, min(milliseconds, 1e12))) * time.Millisecond
	}
	return t, ok && t.id != ""
}
