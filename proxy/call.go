package proxy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"callgate/gate"
	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/internal/traces"
	"callgate/permissions"
	"callgate/proxy/internal/checkpoints"
	"callgate/proxy/internal/limits"
	"callgate/proxy/internal/raw"
	"callgate/proxy/internal/tasks"
)

// gated is a request that passes the gate: tools/call, resources/read and prompts/get of a host, and
// sampling/createMessage of a server.
type gated struct {
	call   gate.Call // what is judged: the one reading of the request
	method string
	params []byte  // of the request, which say what trace it belongs to
	server *server // that the request goes to, or that it comes from
	shown  string  // the host's name of a prompt

	steps
}

// steps are what differs from one kind of request to another.
type steps interface {
	// forward sends on exactly the judged call, and calls then once, with the outcome. If onward is set, forward may
	// return earlier: then runs where the server's answer is read.
	forward(ctx context.Context, call gate.Call, limit time.Duration, span *traces.Call, onward bool, then func(rpc.Message, error))
	// refuse composes the response to a request that may not run.
	refuse(call gate.Call, v gate.Verdict) []byte
	// fail composes the response to a request that got no answer.
	fail(failure string) []byte
	// verify composes the response from the answer. It may check what the call did.
	verify(ctx context.Context, call gate.Call, v *gate.Verdict, kept *checkpoints.Kept, answer rpc.Message) []byte
}

// pass is the life of every request that passes the gate, in the order that keeps it safe:
//
//	hooks before → the gate, on record → checkpoint → forward exactly that Call → outcome → verify → answer
//
// The outcome is recorded, and the hooks after the call run, once the host has its answer. Do not move any step across
// the gate. Nothing else in this program forwards such a request. r is the host's request that waits for the answer;
// nil for a request of a server.
//
// Over stdio, the goroutine that reads the request runs the steps before the answer, and the one that reads the answer
// runs the rest. Only a request that waits gets a goroutine of its own.
func (h *host) pass(ctx context.Context, r *inflight, g gated, respond func(response []byte)) {
	span := g.trace(h.p.o.Tracer, h.session.ID())
	call := waiter{h}.askHooks(ctx, r, g.call)
	waiting := func() {}
	if r != nil {
		call.HandOver, call.Asked = waiter{h}.handOver(r), func(a *gate.Approval) func() { return waiter{h}.elicit(r, a) }
		call.Revive = g.server.revive
		waiting = waiter{h}.heartbeat(r, "a person's approval")
	}
	decided := span.Deciding()
	verdict, call := h.p.o.Gate.Decide(ctx, h.session, call)
	decided(verdict.Decision, verdict.Risk().String())
	waiting()
	if verdict.Action != permissions.Allow {
		h.events.Refused(call, verdict)
		span.End()
		respond(g.refuse(call, verdict))
		return
	}

	kept, err := h.p.o.Checkpoints.Keep(ctx, h.p.o.Gate, h.session, h.log, call, &verdict)
	began, steps := time.Now(), g.steps
	then := func(answer rpc.Message, err error) {
		defer span.End()
		kept.End(ctx)
		result, isError, failure := outcome(answer, err)
		span.Failed(failureKind(isError, failure))
		took := time.Since(began)
		record := h.p.o.Gate.Finish(h.session, call, result, isError, failure, took)
		afterwards := h.events.Ended(record, call, verdict, result, isError, failure, took)
		if r != nil {
			r.afterwards = afterwards
		} else {
			defer afterwards()
		}
		if err != nil {
			respond(steps.fail(failure))
			return
		}
		respond(steps.verify(ctx, call, &verdict, kept, answer))
	}
	if err != nil {
		then(rpc.Message{}, err)
		return
	}
	h.events.Executes(call, verdict)
	onward := kept == nil && span == nil && h.p.o.Verification == nil // what is left to do does not wait
	steps.forward(ctx, call, verdict.Timeout, span, onward, then)
}

// passed is pass for a request whose forward waits.
func (h *host) passed(ctx context.Context, r *inflight, g gated) (response []byte) {
	h.pass(ctx, r, g, func(composed []byte) { response = composed })
	return response
}

// call answers tools/call.
func (h *host) call(ctx context.Context, m rpc.Message, r *inflight, respond func([]byte)) {
	call, to, p, err := h.readCall(ctx, m, r)
	call.ID = r.callID(call.ID)
	if err == nil {
		err = taskCalls{h}.defers(r, &p, to)
	}
	if err != nil {
		verdict := h.p.o.Gate.Refuse(h.session, call, err.Error())
		h.events.Refused(call, verdict)
		respond(rpc.Error(m.ID, codeOf(err), verdict.Reason))
		return
	}
	h.pass(ctx, r, gated{call: call, method: m.Method, params: m.Params, server: to.server, steps: &toolCall{h: h, m: m, r: r, p: p, to: to}}, respond)
}

// toolCall is a tools/call on its way through pass.
type toolCall struct {
	h  *host
	m  rpc.Message
	r  *inflight
	p  callParams
	to *entry
}

func (t *toolCall) refuse(call gate.Call, v gate.Verdict) []byte {
	if away := t.r.redirect(call, v); away != nil {
		return rpc.Result(t.m.ID, away)
	}
	return rpc.Result(t.m.ID, refusal(call, v))
}

func (t *toolCall) fail(failure string) []byte { return rpc.Result(t.m.ID, raw.ErrorResult(failure)) }

func (t *toolCall) verify(ctx context.Context, call gate.Call, v *gate.Verdict, kept *checkpoints.Kept, answer rpc.Message) []byte {
	answer = t.to.server.refusals.note(raw.WithNote(answer, v.Note), t.to.server.alias)
	return t.h.checks.After(ctx, t, call, v, kept, answer).Readdressed(t.m.ID)
}

// readCall makes the Call, the one reading of the message that callgate judges, shows, records and forwards. It refuses
// text that decoders could read differently. Refusals are recorded too, so even a refused Call is as complete as the
// message allows.
func (h *host) readCall(ctx context.Context, m rpc.Message, r *inflight) (call gate.Call, to *entry, p callParams, err error) {
	call = gate.Call{ID: newCallID(), SessionID: h.session.ID(), Principal: h.principal, Agent: h.session.Agent()}
	if err = m.Check(); err != nil {
		return call, nil, p, err
	}
	if p, err = readCallParams(m.Params); err != nil {
		return call, nil, p, err
	}
	if h.p.o.Expose != nil {
		if p, err = innerCall(m.Params, p); err != nil {
			return call, nil, p, err
		}
	}
	if call.Arguments = p.judged(); call.Arguments != nil && call.Arguments[0] != '{' {
		return call, nil, p, errors.New("the arguments are not an object")
	}
	if p.beside != nil {
		call.Arguments, call.Fixed = p.judgedWithBeside(), true
	}
	if p.agent != "" {
		call.Agent = p.agent
	}
	if call.Digest, err = jsonx.Digest(call.Arguments, call.Agent); err != nil {
		return call, nil, p, err
	}
	if to = h.offers.tool(ctx, r, p.name); to == nil {
		return call, nil, p, fmt.Errorf("unknown tool: %s%s", p.name, h.offers.downNote())
	}
	call.Tool, call.Place, call.Redefined = to.Tool, h.folders.Place(to.server.place), h.p.set.Load().maker.Redefined(to.Offer)
	call.Before.Marks = h.p.set.Load().maker.Steered(to.Offer)
	return call, to, p, nil
}

// forward sends exactly the judged call: the host's params with the upstream's own tool name, and with
// the call's arguments where an approver changed them.
func (t *toolCall) forward(ctx context.Context, call gate.Call, limit time.Duration, span *traces.Call, onward bool, then func(rpc.Message, error)) {
	ctx, stop := t.to.server.clock.Bound(ctx, limit, limits.ErrTooLong)
	arguments := call.Arguments
	if call.Fixed { // the host's own go out, with what is beside them
		arguments = t.p.judged()
	}
	trace, forwarded := span.Forwarding(t.to.Tool.Name)
	params, asTask := taskCalls{t.h}.asTask(t.p, t.to, forwardParams(t.p, t.to.Tool.Name, arguments))
	if len(trace) > 0 || tasks.MayRelate(params.of) {
		params = changed{of: raw.WithTrace(tasks.Related(params.bytes(), t.to.server.nameOf), trace)}
	}
	ended := func(answer rpc.Message, err error) {
		forwarded()
		answer, err = t.to.server.bounds.Limited(answer, t.to.server.alias), limits.Timed(ctx, err, limit)
		stop()
		then(answer, err)
	}
	if !t.h.offers.still(t.to) {
		ended(rpc.Message{}, errRedefined)
		return
	}
	t.r.from.Store(t.to.server)
	compose := func(id []byte) []byte { return t.m.WithParams(id, params.of, params.edits...) }
	if onward && t.r.lend != nil && t.r.deferred == nil && !asTask && limit == 0 && t.to.server.post(ctx, compose, ended) {
		return
	}
	t.r.waits()
	answer, err := t.to.server.forward(ctx, compose)
	if err == nil {
		answer, err = taskCalls{t.h}.follow(ctx, t.r, t.to.server, answer, asTask)
	}
	ended(answer, err)
}

var errRedefined = errors.New("the server changed the tool's definition while the call waited; look at the tool again before you repeat the call")

// trace begins the trace of a request, below the one that its params say it belongs to. It is nil, and nothing is read,
// when no traces are made.
func (g *gated) trace(tracer *traces.Tracer, session string) *traces.Call {
	if tracer == nil {
		return nil
	}
	params, about := g.params, traces.About{Method: g.method, Server: g.server.alias, Session: session}
	switch g.method {
	case "tools/call":
		about.Tool = g.call.Tool.Qualified
	case "prompts/get":
		about.Prompt = g.shown
	}
	return tracer.Begin(raw.Trace(params), about)
}

// failureKind says in a trace how a call failed; "" if it did not fail.
func failureKind(isError bool, failure string) string {
	switch {
	case failure != "":
		return "call_failed"
	case isError:
		return "tool_error"
	}
	return ""
}
