package proxy

import (
	"errors"
	"fmt"
	"strings"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/internal/upstream"
)

// asTask returns the params of a call, and whether they ask for a task. Hosts of the stateless revisions cannot ask:
// callgate wants one in their place where the tool's calls have to be tasks, or can be and the host can wait for one.
func (h *host) asTask(p callParams, to *entry, params []byte) (forwarded []byte, asks bool) {
	if h.era == upstream.Modern && (to.TaskSupport == "required" || to.TaskSupport == "optional" && h.waits) && to.server.makesTasks() {
		return jsonx.Put(params, "task", []byte("{}")), true
	}
	return params, p.wish != nil
}

// wantsTask reports whether a request is a call that is to be a task.
func wantsTask(m rpc.Message) bool {
	var task [1]jsonx.Member
	return m.Method == "tools/call" && jsonx.Members(m.Params, []string{"task"}, task[:]) == nil && task[0].Value != nil
}

// readWish reads what a host or a server says of the task that it wants, and returns it as it is passed on: how long
// the result is to be kept, and nothing that nobody has looked at.
func readWish(raw []byte) (wish []byte, err error) {
	if raw[0] != '{' {
		return nil, errors.New(`"task" is not an object`)
	}
	var ttl [1]jsonx.Member
	if err := jsonx.Members(raw, []string{"ttl"}, ttl[:]); err != nil {
		return nil, err
	}
	switch text := string(ttl[0].Value); {
	case text == "" || text == "null":
		return []byte("{}"), nil
	case len(text) > 15 || strings.Trim(text, "0123456789") != "":
		return nil, fmt.Errorf(`the "ttl" of "task" is %.40s: it has to be a whole number of milliseconds, of at most 15 digits`, text)
	default:
		return append(append([]byte(`{"ttl":`), text...), '}'), nil
	}
}

// timeToLive is the time to live of a wish, null without one.
func timeToLive(wish []byte) []byte {
	var ttl [1]jsonx.Member
	if jsonx.Members(wish, []string{"ttl"}, ttl[:]) != nil || ttl[0].Value == nil {
		return []byte("null")
	}
	return ttl[0].Value
}
