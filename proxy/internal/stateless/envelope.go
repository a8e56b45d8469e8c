package stateless

import (
	"sync"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
)

// cacheable lists the methods whose results say how long they are valid. callgate's results are never cacheable: lists
// grow while servers start, and differ between principals.
var cacheable = map[string]bool{
	"server/discover": true, "tools/list": true, "prompts/list": true, "resources/list": true, "resources/templates/list": true, "resources/read": true,
}

// wrap adds to a result the members that results of the stateless revisions have. Existing members stay.
func (c *Client) wrap(method string, result []byte) []byte {
	var m [4]jsonx.Member
	if jsonx.Members(result, []string{"resultType", "_meta", "ttlMs", "cacheScope"}, m[:]) != nil {
		return result
	}
	var more []byte
	add := func(member string, value []byte) {
		more = append(append(append(more, jsonx.Quote(member)...), ':'), append(value, ',')...)
	}
	if m[0].Value == nil {
		add("resultType", []byte(`"complete"`))
	}
	if cacheable[method] && m[2].Value == nil {
		add("ttlMs", []byte("0"))
	}
	if cacheable[method] && m[3].Value == nil {
		add("cacheScope", []byte(`"private"`))
	}
	var edits []jsonx.Edit
	server := append(append(jsonx.Quote(metaServer), ':'), c.welcome.serverInfo()...)
	var named [1]jsonx.Member
	switch {
	case m[1].Value == nil:
		add("_meta", append(append([]byte{'{'}, server...), '}'))
	case m[1].Value[0] == '{' && jsonx.Members(m[1].Value, []string{metaServer}, named[:]) == nil && named[0].Value == nil:
		edits = append(edits, jsonx.Prepend(result, m[1].Start, server))
	}
	if len(more) > 0 {
		edits = append(edits, jsonx.Prepend(result, 0, more[:len(more)-1]))
	}
	return jsonx.Splice(result, edits...)
}

// completed returns a server's result as final, whatever the server says of it. callgate itself puts a server's
// questions to the host, signed and gated. Nothing that a server writes into a result is a question.
func completed(result []byte) ([]byte, error) {
	for _, name := range []string{"resultType", "inputRequests", "requestState"} {
		var m [1]jsonx.Member
		if err := jsonx.Members(result, []string{name}, m[:]); err != nil {
			return nil, err
		}
		if kind, ok := jsonx.String(m[0].Value); m[0].Value != nil && !(name == "resultType" && ok && kind == "complete") {
			result = jsonx.Splice(result, jsonx.Delete(result, m[0]))
		}
	}
	return result, nil
}

// translate turns a response of the host behind the client into one of the stateless revision, with that id. own says
// that the result is callgate's, not the server's.
func (c *Client) translate(method string, response, id []byte, own bool) []byte {
	m, err := rpc.Parse(response)
	if err != nil {
		return unreadable(id, err)
	}
	if m.Error == nil {
		if !own {
			if m.Result, err = completed(m.Result); err != nil {
				return unreadable(id, err)
			}
		}
		return rpc.Result(id, c.wrap(method, m.Result))
	}
	var code [1]jsonx.Member
	if jsonx.Members(m.Error, []string{"code"}, code[:]) == nil && string(code[0].Value) == "-32002" { // renamed in this revision
		fault := jsonx.Splice(m.Error, jsonx.Edit{Start: code[0].Start, End: code[0].End(), With: []byte("-32602")})
		whole := append(append([]byte(`{"jsonrpc":"2.0","id":`), id...), `,"error":`...)
		return append(append(whole, fault...), '}')
	}
	return m.WithID(id)
}

func unreadable(id []byte, err error) []byte {
	return rpc.Error(id, rpc.CodeInternal, "the response cannot be read: "+err.Error())
}

// latest returns the newest revision with a handshake.
func (all *Clients) latest() string { return all.o.Versions[len(all.o.Versions)-1] }

// welcome is the most recent result of the handshake.
type welcome struct {
	mu     sync.Mutex
	result []byte
}

func (w *welcome) keep(result []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.result = result
}

// said reads members of the result. It returns false if it cannot, which does not happen: we made the result.
func (w *welcome) said(names []string, into []jsonx.Member) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return jsonx.Members(w.result, names, into) == nil
}

// serverInfo returns who answers, as in the result of initialize.
func (w *welcome) serverInfo() []byte {
	var m [1]jsonx.Member
	if !w.said([]string{"serverInfo"}, m[:]) || m[0].Value == nil {
		return []byte(`{"name":"callgate","version":"0"}`)
	}
	return m[0].Value
}

// discovered returns the result of server/discover, which is the handshake's result in other words.
func (c *Client) discovered() []byte {
	var m [2]jsonx.Member
	if !c.welcome.said([]string{"capabilities", "instructions"}, m[:]) {
		return []byte("{}")
	}
	b := []byte(`{"supportedVersions":[`)
	for i, version := range c.all.supported() {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, jsonx.Quote(version)...)
	}
	extension := append(append([]byte(`"extensions":{`), jsonx.Quote(ExtensionTasks)...), ":{}}"...)
	b = append(append(b, `],"capabilities":`...), jsonx.Splice(m[0].Value, jsonx.Prepend(m[0].Value, 0, extension))...)
	if m[1].Value != nil {
		b = append(append(b, `,"instructions":`...), m[1].Value...)
	}
	return append(b, '}')
}
