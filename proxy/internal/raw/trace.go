package raw

import (
	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/internal/traces"
)

// WithTrace returns the params with trace in their _meta, in place of the host's. They stay unchanged if there is no
// trace, or no place for it.
func WithTrace(params []byte, trace map[string]string) []byte {
	if len(trace) == 0 {
		return params
	}
	var meta [1]jsonx.Member
	if jsonx.Members(params, []string{"_meta"}, meta[:]) != nil {
		return params
	}
	object := []byte("{}")
	if meta[0].Value != nil {
		object = meta[0].Value
	}
	var before [2]jsonx.Member
	if jsonx.Members(object, traces.Names, before[:]) != nil {
		return params
	}
	for i, name := range traces.Names { // the next trace may have fewer members than the host's
		if jsonx.Members(object, traces.Names, before[:]) == nil && before[i].Value != nil {
			object = jsonx.Splice(object, jsonx.Delete(object, before[i]))
		}
		if value, ok := trace[name]; ok {
			object = jsonx.Put(object, name, jsonx.Quote(value))
		}
	}
	if meta[0].Value == nil {
		return jsonx.Put(params, "_meta", object)
	}
	return jsonx.Splice(params, jsonx.Edit{Start: meta[0].Start, End: meta[0].End(), With: object})
}

// Traced does what WithTrace does for a server's request.
func Traced(m rpc.Message, trace map[string]string) (rpc.Message, error) {
	if len(trace) == 0 || m.Params == nil {
		return m, nil
	}
	return rpc.Parse(rpc.WithParams(m, m.ID, WithTrace(m.Params, trace)))
}

// Trace returns the trace that the params name.
func Trace(params []byte) map[string]string {
	carried := map[string]string{}
	var meta [1]jsonx.Member
	var members [2]jsonx.Member
	if jsonx.Members(params, []string{"_meta"}, meta[:]) == nil && meta[0].Value != nil && jsonx.Members(meta[0].Value, traces.Names, members[:]) == nil {
		for i, name := range traces.Names {
			if text, ok := jsonx.String(members[i].Value); ok {
				carried[name] = text
			}
		}
	}
	return carried
}
