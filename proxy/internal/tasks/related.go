package tasks

import (
	"callgate/internal/jsonx"
)

// metaRelated is the member of a message's _meta that names the task it belongs to.
const metaRelated = "io.modelcontextprotocol/related-task"

// WithRelated returns a result that names the task it belongs to.
func WithRelated(result []byte, id string) []byte {
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

// MayRelate reports whether params or a result may name the task that they belong to.
func MayRelate(object []byte) bool { return jsonx.MayHold(object, metaRelated) }

// Related returns params or a result with the task id that translate returns for theirs. If that is "", the id is
// removed.
func Related(object []byte, translate func(id string) string) []byte {
	var meta, task, id [1]jsonx.Member
	if !MayRelate(object) || jsonx.Members(object, []string{"_meta"}, meta[:]) != nil || meta[0].Value == nil ||
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
