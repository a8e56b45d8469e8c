package proxy

import (
	"bytes"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
)

// metaRelated is what says in a message's _meta to which task it belongs.
const metaRelated = "io.modelcontextprotocol/related-task"

// withRelated returns a result that says to which task it belongs.
func withRelated(result []byte, id string) []byte {
	related := append(append([]byte(`{"taskId":`), jsonx.Quote(id)...), '}')
	var meta [1]jsonx.Member
	if jsonx.Members(result, []string{"_meta"}, meta[:]) != nil {
		return result
	}
	if meta[0].Value == nil || meta[0].Value[0] != '{' {
		return jsonx.Put(result, "_meta", append(append(append([]byte{'{'}, jsonx.Quote(metaRelated)...), ':'), append(related, '}')...))
	}
	return jsonx.Put(result, "_meta", jsonx.Put(meta[0].Value, metaRelated, related))
}

// related returns params or a result, and the task id in it: with the id that translate makes of it, or, when that is "",
// without any.
func related(object []byte, translate func(id string) string) []byte {
	var meta, task, id [1]jsonx.Member
	if !jsonx.MayHold(object, metaRelated) || jsonx.Members(object, []string{"_meta"}, meta[:]) != nil || meta[0].Value == nil ||
		jsonx.Members(meta[0].Value, []string{metaRelated}, task[:]) != nil || task[0].Value == nil {
		return object
	}
	var other string
	if jsonx.Members(task[0].Value, []string{"taskId"}, id[:]) == nil {
		if text, ok := jsonx.String(id[0].Value); ok {
			other = translate(text)
		}
	}
	edit := jsonx.Delete(meta[0].Value, task[0])
	if other != "" {
		edit = jsonx.Edit{Start: task[0].Start + id[0].Start, End: task[0].Start + id[0].End(), With: jsonx.Quote(other)}
	}
	return jsonx.Splice(object, jsonx.Edit{Start: meta[0].Start + edit.Start, End: meta[0].Start + edit.End, With: edit.With})
}

// forHost returns a message of the server with the host's id of the task that it belongs to, or with none where the
// host knows no such task.
func (s *server) forHost(m rpc.Message) rpc.Message {
	params := related(m.Params, func(id string) string {
		if d := s.host.deferrals.theirs(s, id); d != nil {
			return d.id
		}
		return ""
	})
	return withParams(m, params)
}

func withParams(m rpc.Message, params []byte) rpc.Message {
	if len(params) == len(m.Params) && bytes.Equal(params, m.Params) {
		return m
	}
	raw := rpc.Request(m.ID, m.Method, params)
	changed, err := rpc.Parse(raw)
	if err != nil {
		return m
	}
	changed.Label = m.Label
	return changed
}

// forServer returns the host's answer to a request of the server with the server's id of the task.
func (s *server) forServer(answer rpc.Message) rpc.Message {
	return withResult(answer, related(answer.Result, s.nameOf))
}

// nameOf is the server's id of a task that the host knows by that id; "" where there is none of the server.
func (s *server) nameOf(id string) string {
	d := s.host.deferrals.ours(id)
	if d == nil || d.server != s {
		return ""
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.theirs
}

// unrelated returns the result of a task without the server's id of it.
func unrelated(answer rpc.Message) rpc.Message {
	return withResult(answer, related(answer.Result, func(string) string { return "" }))
}

func withResult(m rpc.Message, result []byte) rpc.Message {
	if len(result) == len(m.Result) && bytes.Equal(result, m.Result) {
		return m
	}
	changed, err := rpc.Parse(rpc.Result(m.ID, result))
	if err != nil {
		return m
	}
	return changed
}
