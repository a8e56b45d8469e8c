package proxy

import (
	"context"
	"fmt"
	"time"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/internal/traces"
)

// resources serves what a host asks for beside calls of tools.
type resources struct{ *host }

// readResource is the life of a resources/read: it passes the gate as the kind resource_read.
func (h resources) readResource(ctx context.Context, m rpc.Message, r *inflight) []byte {
	uri, err := stringParam(m, "uri")
	if err != nil {
		h.refuse(err)
		return rpc.Error(m.ID, rpc.CodeInvalidParams, err.Error())
	}
	s := h.offers.resource(ctx, uri)
	if s == nil {
		return rpc.Error(m.ID, codeNoResource, "resource not found: "+uri)
	}
	return h.passKind(ctx, m, r, s, kindTool(tools.KindResource, s), "", "uri", uri, m.Params)
}

// getPrompt is the life of a prompts/get: it passes the gate as the kind prompt_get.
func (h resources) getPrompt(ctx context.Context, m rpc.Message, r *inflight) []byte {
	name, err := stringParam(m, "name")
	if err != nil {
		h.refuse(err)
		return rpc.Error(m.ID, rpc.CodeInvalidParams, err.Error())
	}
	e := h.offers.prompt(ctx, name)
	if e == nil {
		return rpc.Error(m.ID, rpc.CodeInvalidParams, "unknown prompt: "+name)
	}
	params, err := renameParam(m.Params, "name", e.Name)
	if err != nil {
		return rpc.Error(m.ID, rpc.CodeInvalidParams, err.Error())
	}
	return h.passKind(ctx, m, r, e.server, e.Tool, name, "name", e.Name, params)
}

// codeNoResource is what MCP gives for a resource that nobody has.
const codeNoResource = -32002

// passKind lets a request through the gate as a call of a kind whose rules see one argument, and forwards it. params is
// what the server gets. A refusal is an error: these methods have no place for one in a result.
func (h resources) passKind(ctx context.Context, m rpc.Message, r *inflight, s *server, tool *tools.Tool, shown, argument, value string, params []byte) []byte {
	var more []byte
	var known [2]jsonx.Member
	names := []string{argument, "_meta"}
	err := jsonx.Members(params, names, known[:])
	if err == nil && saysMore(params, known[:]) {
		more, err = jsonx.Others(params, names)
	}
	if err != nil {
		return rpc.Error(m.ID, rpc.CodeInvalidParams, err.Error())
	}
	call, err := h.newCall(tool, s, argument, value, more)
	if err != nil {
		return rpc.Error(m.ID, rpc.CodeInternal, err.Error())
	}
	call.ID = r.callID(call.ID)
	return h.pass(ctx, r, gated{call: call, method: m.Method, params: m.Params, server: s, shown: shown, steps: &kindRequest{s: s, m: m, r: r, value: value, params: params}})
}

// kindRequest is a resources/read or prompts/get on its way through pass.
type kindRequest struct {
	s      *server
	m      rpc.Message
	r      *inflight
	value  string // what the rules see
	params []byte // what the server gets
}

func (k *kindRequest) refuse(call gate.Call, v gate.Verdict) []byte {
	if away := k.r.leadAway(call, v); away != nil {
		return rpc.Result(k.m.ID, away)
	}
	return rpc.Error(k.m.ID, rpc.CodeInvalidRequest, denied(k.m.Method, v))
}

func (k *kindRequest) fail(failure string) []byte {
	return rpc.Error(k.m.ID, rpc.CodeInternal, failure)
}

func (k *kindRequest) verify(_ context.Context, _ gate.Call, _ *gate.Verdict, _ *kept, answer rpc.Message) []byte {
	return answer.WithID(k.m.ID)
}

// denied is the error for a request that may not run, or not yet.
func denied(what string, v gate.Verdict) string {
	if v.Decision == gate.DecidedPending {
		return "callgate: " + v.Reason
	}
	return fmt.Sprintf("callgate denied %s. %s", what, v.Reason)
}

// forward sends the request with the params that were judged.
func (k *kindRequest) forward(ctx context.Context, _ gate.Call, limit time.Duration, span *traces.Call) (rpc.Message, error) {
	name := k.value
	ctx, stop := k.s.clock.bound(ctx, limit, errTooLong)
	defer stop()
	if k.m.Method == "resources/read" {
		name = "" // spans hold no addresses
	}
	trace, forwarded := span.Forwarding(name)
	defer forwarded()
	params := carrying(k.params, trace)
	k.r.from.Store(k.s)
	answer, err := k.s.forward(ctx, func(id []byte) []byte { return k.m.WithParams(id, params) })
	if err != nil {
		return answer, timed(ctx, err, limit)
	}
	return answer, k.s.bounds.exceeded(answer, k.s.alias)
}

// newCall makes the Call of a kind whose rules see one argument. What else the request says, an object or nil,
// is shown, digested and recorded with it. An approver cannot change it: it is not what is sent.
func (h resources) newCall(tool *tools.Tool, s *server, argument, value string, more []byte) (gate.Call, error) {
	arguments := append(append(append([]byte{'{'}, jsonx.Quote(argument)...), ':'), jsonx.Quote(value)...)
	if more != nil {
		arguments = append(append(arguments, `,"params":`...), more...)
	}
	arguments = append(arguments, '}')
	digest, err := jsonx.Digest(arguments, h.session.Agent())
	if err != nil {
		return gate.Call{}, err
	}
	return gate.Call{
		ID: newCallID(), SessionID: h.session.ID(), Principal: h.principal, Agent: h.session.Agent(), Tool: tool, Arguments: arguments, Digest: digest, Place: h.folders.placeOf(s), Fixed: true,
	}, nil
}

// subscribe passes resources/subscribe and unsubscribe on to the server that the URI belongs to. Nothing is
// read by it: the notifications that follow carry the URI alone.
func (h resources) subscribe(ctx context.Context, m rpc.Message, _ *inflight) []byte {
	uri, err := stringParam(m, "uri")
	if err != nil {
		return rpc.Error(m.ID, rpc.CodeInvalidParams, err.Error())
	}
	s := h.offers.resource(ctx, uri)
	if s == nil {
		return rpc.Error(m.ID, codeNoResource, "resource not found: "+uri)
	}
	return h.passOn(ctx, m, s, func(id []byte) []byte { return m.WithID(id) })
}

// complete passes completion/complete on to the server whose prompt or resource template it is about.
func (h resources) complete(ctx context.Context, m rpc.Message, _ *inflight) []byte {
	if err := jsonx.Check(m.Raw); err != nil {
		return rpc.Error(m.ID, rpc.CodeInvalidParams, err.Error())
	}
	var ref [1]jsonx.Member
	var of [3]jsonx.Member
	if m.Params == nil || jsonx.Members(m.Params, []string{"ref"}, ref[:]) != nil || ref[0].Value == nil ||
		jsonx.Members(ref[0].Value, []string{"type", "name", "uri"}, of[:]) != nil {
		return rpc.Error(m.ID, rpc.CodeInvalidParams, `completion/complete needs a "ref"`)
	}
	if uri, ok := jsonx.String(of[2].Value); ok {
		t := h.offers.now.Load()
		if from, ok := t.Template(uri); ok {
			return h.passOn(ctx, m, t.servers[from], func(id []byte) []byte { return m.WithID(id) })
		}
		if s := h.offers.resource(ctx, uri); s != nil {
			return h.passOn(ctx, m, s, func(id []byte) []byte { return m.WithID(id) })
		}
		return rpc.Error(m.ID, rpc.CodeInvalidParams, "unknown resource: "+uri)
	}
	name, _ := jsonx.String(of[1].Value)
	e := h.offers.prompt(ctx, name)
	if e == nil {
		return rpc.Error(m.ID, rpc.CodeInvalidParams, "unknown prompt: "+name)
	}
	renamedRef := jsonx.Splice(ref[0].Value, jsonx.Edit{Start: of[1].Start, End: of[1].End(), With: jsonx.Quote(e.Name)})
	params := jsonx.Splice(m.Params, jsonx.Edit{Start: ref[0].Start, End: ref[0].End(), With: renamedRef})
	return h.passOn(ctx, m, e.server, func(id []byte) []byte { return m.WithParams(id, params) })
}

// passOn forwards a request that needs no gate and relays the answer.
func (h resources) passOn(ctx context.Context, m rpc.Message, s *server, compose func(id []byte) []byte) []byte {
	answer, err := s.forward(ctx, compose)
	if err != nil {
		return rpc.Error(m.ID, rpc.CodeInternal, fmt.Sprintf("callgate: the request did not end: %v", err))
	}
	return answer.WithID(m.ID)
}

// stringParam returns a required string of the params, after the strict check of the whole message.
func stringParam(m rpc.Message, name string) (string, error) {
	if err := jsonx.Check(m.Raw); err != nil {
		return "", err
	}
	var member [1]jsonx.Member
	if m.Params == nil {
		return "", fmt.Errorf("%s needs params", m.Method)
	}
	if err := jsonx.Members(m.Params, []string{name}, member[:]); err != nil {
		return "", err
	}
	value, ok := jsonx.String(member[0].Value)
	if !ok {
		return "", fmt.Errorf("%s needs a %q", m.Method, name)
	}
	return value, nil
}

// renameParam replaces one string of the params.
func renameParam(params []byte, name, value string) ([]byte, error) {
	var m [1]jsonx.Member
	if err := jsonx.Members(params, []string{name}, m[:]); err != nil {
		return nil, err
	}
	return jsonx.Splice(params, jsonx.Edit{Start: m[0].Start, End: m[0].End(), With: jsonx.Quote(value)}), nil
}
