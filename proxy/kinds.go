package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/guard"
	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/internal/sandbox"
	"callgate/internal/traces"
	"callgate/proxy/internal/catalogue"
	"callgate/proxy/internal/limits"
	"callgate/proxy/internal/raw"
)

// resources serves a host's requests other than tools/call.
type resources struct{ host *host }

// readResource answers a resources/read, which passes the gate as the kind resource_read.
func (h resources) readResource(ctx context.Context, m rpc.Message, r *inflight) []byte {
	uri, err := raw.String(m, "uri")
	if err != nil {
		h.host.refuse(err)
		return rpc.Error(m.ID, rpc.CodeInvalidParams, err.Error())
	}
	s := h.host.offers.resource(ctx, uri)
	if s == nil {
		return rpc.Error(m.ID, codeNoResource, "resource not found: "+uri)
	}
	return h.passKind(ctx, m, r, s, kindTool(tools.KindResource, s), "", "uri", uri, m.Params)
}

// getPrompt answers a prompts/get, which passes the gate as the kind prompt_get.
func (h resources) getPrompt(ctx context.Context, m rpc.Message, r *inflight) []byte {
	name, err := raw.String(m, "name")
	if err != nil {
		h.host.refuse(err)
		return rpc.Error(m.ID, rpc.CodeInvalidParams, err.Error())
	}
	e := h.host.offers.prompt(ctx, name)
	if e == nil {
		return rpc.Error(m.ID, rpc.CodeInvalidParams, "unknown prompt: "+name)
	}
	params, err := raw.Rename(m.Params, "name", e.Name)
	if err != nil {
		return rpc.Error(m.ID, rpc.CodeInvalidParams, err.Error())
	}
	return h.passKind(ctx, m, r, e.server, e.Tool, name, "name", e.Name, params)
}

// codeNoResource is MCP's error code for a resource that does not exist.
const codeNoResource = -32002

// passKind takes a request through the gate as a call of a kind, of which rules see one argument, and forwards it with
// params. A refusal is an error, because results of these methods have no place for one.
func (h resources) passKind(ctx context.Context, m rpc.Message, r *inflight, s *server, tool *tools.Tool, shown, argument, value string, params []byte) []byte {
	var more []byte
	var known [2]jsonx.Member
	names := []string{argument, "_meta"}
	err := jsonx.Members(params, names, known[:])
	if err == nil && raw.SaysMore(params, known[:]) {
		more, err = jsonx.Others(params, names)
	}
	if err != nil {
		return rpc.Error(m.ID, rpc.CodeInvalidParams, err.Error())
	}
	call, err := h.host.kindCall(tool, s, named(argument, value, more))
	if err != nil {
		return rpc.Error(m.ID, rpc.CodeInternal, err.Error())
	}
	call.ID = r.callID(call.ID)
	return h.host.passed(ctx, r, gated{call: call, method: m.Method, params: m.Params, server: s, shown: shown, steps: &kindRequest{s: s, m: m, r: r, value: value, params: params}})
}

// kindRequest is a resources/read or prompts/get on its way through pass.
type kindRequest struct {
	s      *server
	m      rpc.Message
	r      *inflight
	value  string // what rules see
	params []byte // what the server gets
}

func (k *kindRequest) refuse(call gate.Call, v gate.Verdict) []byte {
	if away := k.r.redirect(call, v); away != nil {
		return rpc.Result(k.m.ID, away)
	}
	return rpc.Error(k.m.ID, rpc.CodeInvalidRequest, denied(k.m.Method, v))
}

func (k *kindRequest) fail(failure string) []byte {
	return rpc.Error(k.m.ID, rpc.CodeInternal, failure)
}

func (k *kindRequest) verify(_ context.Context, _ gate.Call, _ *gate.Verdict, _ Kept, answer rpc.Message) []byte {
	return answer.WithID(k.m.ID)
}

// denied returns the error text for a request that may not run, or not yet.
func denied(what string, v gate.Verdict) string {
	if v.Decision == gate.DecidedPending {
		return "callgate: " + v.Reason
	}
	return fmt.Sprintf("callgate denied %s. %s", what, v.Reason)
}

// forward sends the request with the judged params.
func (k *kindRequest) forward(g *gated, _ bool) {
	name, limit := k.value, g.verdict.Timeout
	ctx, stop := k.s.clock.Bound(g.ctx, limit, limits.ErrTooLong)
	defer stop()
	if k.m.Method == "resources/read" {
		name = "" // spans hold no addresses
	}
	trace, forwarded := g.span.Forwarding(name)
	defer forwarded()
	params := raw.WithTrace(k.params, trace)
	k.r.from.Store(k.s)
	answer, err := k.s.forward(ctx, func(id []byte) []byte { return rpc.WithParams(k.m, id, params) })
	if err != nil {
		err = limits.Timed(ctx, err, limit)
	} else {
		err = limits.Exceeded(answer, k.s.bounds, k.s.alias)
	}
	g.ended(answer, err)
}

// named returns the arguments of a call of a kind. Rules see one of them. more is the rest of the request, an object or
// nil, which is shown, digested and recorded too.
func named(argument, value string, more []byte) []byte {
	arguments := raw.Named(argument, value)
	if more != nil {
		arguments = append(append(append(arguments[:len(arguments)-1], `,"params":`...), more...), '}')
	}
	return arguments
}

// kindCall returns the Call of a kind. An approver cannot change its arguments, because they are not what is sent.
func (h *host) kindCall(tool *tools.Tool, s *server, arguments []byte) (gate.Call, error) {
	digest, err := jsonx.Digest(arguments, h.session.Agent())
	if err != nil {
		return gate.Call{}, err
	}
	return gate.Call{
		ID: newCallID(), SessionID: h.session.ID(), Principal: h.principal, Agent: h.session.Agent(), Tool: tool, Arguments: arguments, Digest: digest, Place: h.folders.Place(s.place), Fixed: true,
	}, nil
}

// subscribe passes resources/subscribe and unsubscribe on to the URI's server. That reads nothing: the notifications
// that follow hold only the URI.
func (h resources) subscribe(ctx context.Context, m rpc.Message, _ *inflight) []byte {
	uri, err := raw.String(m, "uri")
	if err != nil {
		return rpc.Error(m.ID, rpc.CodeInvalidParams, err.Error())
	}
	s := h.host.offers.resource(ctx, uri)
	if s == nil {
		return rpc.Error(m.ID, codeNoResource, "resource not found: "+uri)
	}
	if m.Method == "resources/unsubscribe" {
		s.subscriptions.drop(uri)
	}
	response := h.passOn(ctx, m, s, func(id []byte) []byte { return m.WithID(id) })
	if m.Method == "resources/subscribe" && raw.IsResult(response) {
		s.subscriptions.add(uri)
	}
	return response
}

// complete passes completion/complete on to the server of the prompt or resource template that it names.
func (h resources) complete(ctx context.Context, m rpc.Message, _ *inflight) []byte {
	if err := m.Check(); err != nil {
		return rpc.Error(m.ID, rpc.CodeInvalidParams, err.Error())
	}
	var ref [1]jsonx.Member
	var of [3]jsonx.Member
	if m.Params == nil || jsonx.Members(m.Params, []string{"ref"}, ref[:]) != nil || ref[0].Value == nil ||
		jsonx.Members(ref[0].Value, []string{"type", "name", "uri"}, of[:]) != nil {
		return rpc.Error(m.ID, rpc.CodeInvalidParams, `completion/complete needs a "ref"`)
	}
	if uri, ok := jsonx.String(of[2].Value); ok {
		t := h.host.offers.now.Load()
		if from, ok := t.Template(uri); ok {
			return h.passOn(ctx, m, t.servers[from], func(id []byte) []byte { return m.WithID(id) })
		}
		if s := h.host.offers.resource(ctx, uri); s != nil {
			return h.passOn(ctx, m, s, func(id []byte) []byte { return m.WithID(id) })
		}
		return rpc.Error(m.ID, rpc.CodeInvalidParams, "unknown resource: "+uri)
	}
	name, _ := jsonx.String(of[1].Value)
	e := h.host.offers.prompt(ctx, name)
	if e == nil {
		return rpc.Error(m.ID, rpc.CodeInvalidParams, "unknown prompt: "+name)
	}
	renamedRef := jsonx.Splice(ref[0].Value, jsonx.Edit{Start: of[1].Start, End: of[1].End(), With: jsonx.Quote(e.Name)})
	params := jsonx.Splice(m.Params, jsonx.Edit{Start: ref[0].Start, End: ref[0].End(), With: renamedRef})
	return h.passOn(ctx, m, e.server, func(id []byte) []byte { return rpc.WithParams(m, id, params) })
}

// passOn forwards a request that needs no gate and relays the answer.
func (h resources) passOn(ctx context.Context, m rpc.Message, s *server, compose func(id []byte) []byte) []byte {
	answer, err := s.forward(ctx, compose)
	if err != nil {
		return rpc.Error(m.ID, rpc.CodeInternal, fmt.Sprintf("callgate: the request did not end: %v", err))
	}
	return answer.WithID(m.ID)
}

// stepFuncs implements steps with functions.
type stepFuncs struct {
	onForward func(ctx context.Context, span *traces.Call) (rpc.Message, error)
	onRefuse  func(v gate.Verdict) []byte
	onFail    func() []byte
	onAnswer  func(answer rpc.Message) []byte
}

func (s stepFuncs) forward(g *gated, _ bool) { g.ended(s.onForward(g.ctx, g.span)) }

func (s stepFuncs) refuse(_ gate.Call, v gate.Verdict) []byte { return s.onRefuse(v) }

func (s stepFuncs) fail(string) []byte { return s.onFail() }

func (s stepFuncs) verify(_ context.Context, _ gate.Call, _ *gate.Verdict, _ Kept, answer rpc.Message) []byte {
	return s.onAnswer(answer)
}

func kindTool(kind string, s *server) *tools.Tool { return catalogue.KindTool(kind, s.alias) }

// hostError is the reason why a request to the host's model failed.
type hostError struct{ text string }

func (e *hostError) Error() string { return e.text }

// sample takes a server's request to the host's model through the gate, as the kind sampling, and puts it to the host.
// The gate judges m, and the host gets message.
func (s serverSide) sample(ctx context.Context, m, message rpc.Message, asTask bool, r *inflight) []byte {
	call, err := s.server.host.kindCall(kindTool(tools.KindSampling, s.server), s.server, named("server", s.server.alias, m.Params))
	if err != nil {
		return rpc.Error(m.ID, -1, "callgate denied sampling. "+err.Error())
	}
	var fault []byte // the response if there is no answer
	var refused rpc.Message
	return s.server.host.passed(ctx, nil, gated{
		call: call, method: m.Method, params: m.Params, server: s.server, steps: stepFuncs{
			onForward: func(ctx context.Context, span *traces.Call) (rpc.Message, error) {
				trace, forwarded := span.Forwarding("")
				defer forwarded()
				traced, err := raw.Traced(message, trace)
				if err != nil {
					fault = rpc.Error(m.ID, rpc.CodeInvalidParams, err.Error())
					return rpc.Message{}, &hostError{err.Error()}
				}
				answer, none := s.putToHost(ctx, m, traced, r)
				switch {
				case none != nil:
					fault = none
					return answer, &hostError{"the host gave no answer"}
				case answer.Error != nil:
					refused = answer
					return answer, &hostError{"the host refused: " + raw.ErrorText(answer.Error)}
				}
				return answer, nil
			},
			onRefuse: func(v gate.Verdict) []byte {
				return rpc.Error(m.ID, -1, "callgate denied sampling. "+v.Reason)
			},
			onFail: func() []byte {
				if fault != nil {
					return fault
				}
				return s.answered(ctx, m, refused, asTask)
			},
			onAnswer: func(answer rpc.Message) []byte {
				return s.answered(ctx, m, answer, asTask)
			},
		}})
}

// wall is the sandbox around a server. The gate judges whatever the server wants from outside.
type wall struct{ server *server }

// connects asks the gate whether a sandboxed server may make a connection, as the kind connect. It returns an error if
// not.
func (s wall) connects(ctx context.Context, to sandbox.Peer) error {
	arguments := append([]byte(`{"to":`), jsonx.Quote(to.String())...)
	if to.Private.IsValid() {
		arguments = append(append(arguments, `,"private":`...), jsonx.Quote(netip.AddrPortFrom(to.Private, to.Port).String())...)
	}
	return s.judges(ctx, tools.KindConnect, append(arguments, '}'))
}

// widens asks the gate for an access that the sandbox refused. If the gate allows it, the server's next process may
// have it.
func (s wall) widens(ctx context.Context, a guard.Access) error {
	kind := tools.KindSandboxRead
	if a.Write {
		kind = tools.KindSandboxWrite
	}
	return s.judges(ctx, kind, append(append([]byte(`{"path":`), jsonx.Quote(a.Path)...), '}'))
}

// refused notes an access that the sandbox refused, to tell the model.
func (s wall) refused(a guard.Access) { s.server.refusals.add(a) }

// judges asks the gate for what a server wants beside its calls, as a kind. It returns an error if the gate refuses.
func (s wall) judges(ctx context.Context, kind string, arguments []byte) error {
	h := s.server.host
	call, err := h.kindCall(kindTool(kind, s.server), s.server, arguments)
	if err != nil {
		return err
	}
	refused := errors.New("it was not judged")
	h.passed(ctx, nil, gated{call: call, method: kind, params: arguments, server: s.server, steps: stepFuncs{
		onForward: func(context.Context, *traces.Call) (rpc.Message, error) { refused = nil; return rpc.Message{}, nil },
		onRefuse:  func(v gate.Verdict) []byte { refused = errors.New(v.Reason); return nil },
		onFail:    func() []byte { return nil },
		onAnswer:  func(rpc.Message) []byte { return nil },
	}})
	return refused
}
