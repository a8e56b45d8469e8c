package upstream

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
)

// protocolMeta lists the members of _meta that describe the era of a message. They concern only two neighbours: the
// server must not see the host's.
var protocolMeta = []string{
	"io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientInfo",
	"io.modelcontextprotocol/clientCapabilities", "io.modelcontextprotocol/logLevel",
}

// modern is the state of a conversation in the modern era, in which the server keeps no session.
type modern struct {
	client []byte // members of _meta: the version, the host and its capabilities
	tasks  bool   // a call may be answered with a task

	mu    sync.Mutex
	level []byte // the log level that the host wants, a raw string, or nil

	listening
}

func newModern(hello Hello) *modern {
	capabilities, client := hello.lines()
	if older, err := without(capabilities, "tasks"); err == nil { // this capability does not belong to the modern era
		capabilities = older
	}
	if hello.Tasks {
		capabilities = withTasks(capabilities)
	}
	return &modern{tasks: hello.Tasks, listening: newListening(), client: fmt.Appendf(nil, `%s:%s,%s:%s,%s:%s`,
		jsonx.Quote(protocolMeta[0]), jsonx.Quote(modernVersion), jsonx.Quote(protocolMeta[1]), client, jsonx.Quote(protocolMeta[2]), capabilities)}
}

// withTasks returns capabilities with the tasks extension.
func withTasks(capabilities []byte) []byte {
	var extensions, tasks [1]jsonx.Member
	entry := append(jsonx.Quote(extensionTasks), ":{}"...)
	switch {
	case jsonx.Members(capabilities, []string{"extensions"}, extensions[:]) != nil:
		return capabilities
	case extensions[0].Value == nil:
		return insertFirst(capabilities, 0, fmt.Appendf(nil, `"extensions":{%s}`, entry))
	case extensions[0].Value[0] != '{' || jsonx.Members(extensions[0].Value, []string{extensionTasks}, tasks[:]) != nil || tasks[0].Value != nil:
		return capabilities
	}
	return insertFirst(capabilities, extensions[0].Start, entry)
}

// describe returns params with what every modern request says about its sender.
func (c *modern) describe(params []byte) []byte {
	own := slices.Clone(c.client)
	c.mu.Lock()
	if c.level != nil {
		own = fmt.Appendf(own, `,%s:%s`, jsonx.Quote(protocolMeta[3]), c.level)
	}
	c.mu.Unlock()
	if params == nil {
		return fmt.Appendf(nil, `{"_meta":{%s}}`, own)
	}
	params = withoutProtocol(params)
	var meta [1]jsonx.Member
	switch err := jsonx.Members(params, []string{"_meta"}, meta[:]); {
	case err != nil || meta[0].Value == nil:
		return insertFirst(params, 0, fmt.Appendf(nil, `"_meta":{%s}`, own))
	case meta[0].Value[0] != '{': // it holds nothing, and a second _meta could be read in two ways
		return jsonx.Splice(params, jsonx.Edit{Start: meta[0].Start, End: meta[0].End(), With: fmt.Appendf(nil, `{%s}`, own)})
	}
	return insertFirst(params, meta[0].Start, own)
}

// insertFirst inserts members at the beginning of the first object at or after start in text.
func insertFirst(text []byte, start int, members []byte) []byte {
	open := bytes.IndexByte(text[start:], '{')
	if open < 0 {
		return text
	}
	at := start + open + 1
	if rest := bytes.TrimLeft(text[at:], " \t\r\n"); len(rest) > 0 && rest[0] != '}' {
		members = append(members, ',')
	}
	return jsonx.Splice(text, jsonx.Edit{Start: at, End: at, With: members})
}

// withoutProtocol returns params without protocolMeta. Params with none of these stay unchanged.
func withoutProtocol(params []byte) []byte {
	for _, name := range protocolMeta {
		var meta, member [1]jsonx.Member
		if jsonx.Members(params, []string{"_meta"}, meta[:]) != nil || meta[0].Value == nil ||
			jsonx.Members(meta[0].Value, []string{name}, member[:]) != nil || member[0].Value == nil {
			continue
		}
		edit := jsonx.Delete(meta[0].Value, member[0])
		edit.Start, edit.End = edit.Start+meta[0].Start, edit.End+meta[0].Start
		params = jsonx.Splice(params, edit)
	}
	return params
}

// ask sends a request in the era of the server and waits for its answer.
func (in *incarnation) ask(ctx context.Context, compose func(id []byte) []byte) (rpc.Message, error) {
	if !in.usage.begin() {
		return rpc.Message{}, errNotRun
	}
	defer in.usage.end()
	if in.modern != nil {
		return in.askModern(ctx, compose)
	}
	return in.send(ctx, func(id []byte) []byte { return legacy(id, compose(id)) })
}

// legacy returns the message with that id for a server of the eras with a handshake.
func legacy(id, message []byte) []byte {
	if !jsonx.MayHold(message, "modelcontextprotocol") {
		return message
	}
	m, err := rpc.Parse(message)
	if err != nil || m.Params == nil {
		return message
	}
	return rpc.WithParams(m, id, withoutProtocol(m.Params))
}

// askModern sends a request to a modern server. It also answers the methods that the modern era does not have, and the
// server's questions before the result.
func (in *incarnation) askModern(ctx context.Context, compose func(id []byte) []byte) (rpc.Message, error) {
	request, err := rpc.Parse(oneLine(compose([]byte(`"cg"`))))
	if err != nil {
		return rpc.Message{}, err
	}
	switch request.Method {
	case "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe":
		return in.answerLocally(ctx, request)
	}
	params := request.Params
	for leg := 1; ; leg++ {
		described := in.modern.describe(params)
		m, err := in.send(ctx, func(id []byte) []byte {
			if request.Params == nil {
				return rpc.Request(id, request.Method, described)
			}
			return rpc.WithParams(request, id, described)
		})
		if err != nil || m.Error != nil {
			return m, err
		}
		switch kind := resultType(m.Result); kind {
		case "", "complete":
			return m, nil
		case "task":
			if in.modern.tasks && request.Method == "tools/call" {
				return m, nil
			}
			return rpc.Message{}, in.unasked(kind)
		case "input_required":
		default:
			return rpc.Message{}, in.unasked(kind)
		}
		if leg == maxLegs {
			return rpc.Message{}, fmt.Errorf("server %q asks for more input again and again: callgate gave up after %d times", in.u.cfg.Name, maxLegs)
		}
		var fault []byte
		if params, fault, err = in.collectInputs(ctx, request.Params, m.Result, leg); err != nil {
			return rpc.Message{}, err
		} else if fault != nil {
			return rpc.Parse(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"cg","error":%s}`, fault))
		}
	}
}

func (in *incarnation) unasked(kind string) error {
	return fmt.Errorf("server %q answered with a result of the type %.40q, which nobody asked for", in.u.cfg.Name, kind)
}

// resultType returns the type that the server gives its result, or "".
func resultType(result []byte) string {
	kind, _ := jsonx.String(jsonx.At(result, "resultType"))
	return kind
}

// answerLocally answers, in place of the server, the methods that the modern era does not have.
func (in *incarnation) answerLocally(ctx context.Context, request rpc.Message) (rpc.Message, error) {
	var m [2]jsonx.Member
	if request.Params != nil {
		if err := jsonx.Members(request.Params, []string{"level", "uri"}, m[:]); err != nil {
			return rpc.Parse(rpc.Error(request.ID, rpc.CodeInvalidParams, err.Error()))
		}
	}
	switch request.Method {
	case "logging/setLevel":
		if _, ok := jsonx.String(m[0].Value); !ok {
			return rpc.Parse(rpc.Error(request.ID, rpc.CodeInvalidParams, "logging/setLevel needs a level"))
		}
		in.modern.mu.Lock()
		in.modern.level = bytes.Clone(m[0].Value)
		in.modern.mu.Unlock()
	case "resources/subscribe", "resources/unsubscribe":
		uri, ok := jsonx.String(m[1].Value)
		switch {
		case !ok:
			return rpc.Parse(rpc.Error(request.ID, rpc.CodeInvalidParams, request.Method+" needs a uri"))
		case request.Method == "resources/unsubscribe":
			in.modern.unwatch(uri)
		default:
			fault, err := in.modern.watch(ctx, uri)
			if err != nil {
				return rpc.Message{}, err
			}
			if fault != nil {
				return rpc.Parse(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":%s}`, request.ID, fault))
			}
		}
	}
	return rpc.Parse(rpc.Result(request.ID, []byte("{}")))
}

// maxLegs bounds how often a server may ask for input in one request.
const maxLegs = 10

// can reports whether the server declares a capability with a member that is true.
func (i *Info) can(capability, member string) bool {
	return string(jsonx.At(i.Capabilities, capability, member)) == "true"
}
