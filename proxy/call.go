package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/internal/traces"
	"callgate/internal/upstream"
	"callgate/permissions"
	"callgate/proxy/internal/limits"
	"callgate/proxy/internal/raw"
	"callgate/proxy/internal/tasks"
)

// gated is a request that passes the gate: tools/call, resources/read and prompts/get of a host, and
// sampling/createMessage of a server.
type gated struct {
	call   gate.Call // the one reading of the request, which the gate judges
	method string
	params []byte  // of the request; they name the trace that it belongs to
	server *server // where the request goes to, or comes from
	shown  string  // the host's name for a prompt

	steps

	// Set by pass.
	host    *host
	ctx     context.Context
	r       *inflight
	respond func(response []byte)
	span    *traces.Call
	verdict gate.Verdict
	kept    Kept
	began   time.Time // when forwarding began
}

// steps holds the steps that differ between kinds of requests.
type steps interface {
	// forward sends on exactly the judged call, and calls g.ended once, with the outcome. If onward is set, forward may
	// return before the answer comes. The goroutine that reads the server's answer then runs g.ended.
	forward(g *gated, onward bool)
	// refuse composes the response to a request that may not run.
	refuse(call gate.Call, v gate.Verdict) []byte
	// fail composes the response to a request that got no answer.
	fail(failure string) []byte
	// verify composes the response from the answer. It may check what the call did.
	verify(ctx context.Context, call gate.Call, v *gate.Verdict, kept Kept, answer rpc.Message) []byte
}

// pass takes a request through the gate, in the order that keeps it safe:
//
//	hooks before → the gate, on record → checkpoint → forward exactly that Call → outcome → verify → answer
//
// The outcome is recorded, and the hooks after the call run, once the host has its answer. Do not move any step across
// the gate. Nothing else in this program forwards such a request. r is the host's request that waits for the answer;
// nil for a request of a server.
//
// Over stdio, the goroutine that reads the request runs the steps before the answer, and the one that reads the answer
// runs the rest. Only a request that waits gets a goroutine of its own.
func (h *host) pass(ctx context.Context, r *inflight, g *gated, respond func(response []byte)) {
	g.host, g.ctx, g.r, g.respond = h, ctx, r, respond
	g.span = g.trace(h.p.tracer, h.session.ID())
	g.call = waiter{h}.askHooks(ctx, r, g.call)
	g.call.Admitted, g.call.Moved = h.admitted, func() tools.Place { return h.folders.Place(g.server.place) }
	waiting := func() {}
	if r != nil {
		g.call.HandOver, g.call.Asked = waiter{h}.handOver(r), func(a *gate.Approval) func() { return waiter{h}.elicit(r, a) }
		g.call.Revive = g.server.revive
		waiting = waiter{h}.heartbeat(r, "a person's approval")
	}
	decided := g.span.Deciding()
	g.verdict, g.call = h.p.o.Gate.Decide(ctx, h.session, g.call)
	decided(g.verdict.Decision, g.verdict.Risk().String())
	waiting()
	if g.verdict.Action != permissions.Allow {
		h.events.Refused(g.call, g.verdict)
		g.span.End()
		respond(g.refuse(g.call, g.verdict))
		return
	}

	var err error
	if h.p.o.Checkpoints != nil {
		g.kept, err = h.p.o.Checkpoints.Keep(ctx, h.p.o.Gate, h.session, g.call, &g.verdict)
	}
	g.began = time.Now()
	if err != nil {
		g.ended(rpc.Message{}, &unkeptError{err.Error()})
		return
	}
	h.events.Executes(g.call, g.verdict)
	g.forward(g, g.kept == nil && g.span == nil && h.p.o.Verification == nil) // onward: no later step waits
}

// ended runs the rest of pass, from the outcome on.
func (g *gated) ended(answer rpc.Message, err error) {
	defer g.span.End()
	if g.kept != nil {
		g.kept.End(g.ctx)
	}
	if errors.Is(err, context.Canceled) {
		err = cmp.Or(g.host.p.o.Gate.Controls.Stopped(), context.Cause(g.ctx), err)
	}
	result, isError, failure := outcome(answer, err)
	g.span.Failed(failureKind(isError, failure))
	took := time.Since(g.began)
	record := g.host.p.o.Gate.Finish(g.host.session, g.call, result, isError, failure, took)
	afterwards := g.host.events.Ended(record, g.call, g.verdict, result, isError, failure, took)
	if g.r != nil {
		g.r.afterwards = afterwards
	} else {
		defer afterwards()
	}
	if err != nil {
		g.respond(g.fail(failure))
		return
	}
	g.respond(g.verify(g.ctx, g.call, &g.verdict, g.kept, answer))
}

// passed runs pass for a request whose forward waits, and returns the response.
func (h *host) passed(ctx context.Context, r *inflight, g gated) (response []byte) {
	h.pass(ctx, r, &g, func(composed []byte) { response = composed })
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
	t := &toolCall{gated: gated{call: call, method: m.Method, params: m.Params, server: to.server}, m: m, p: p, to: to}
	t.steps, t.call.Changed = t, t.redefined
	h.pass(ctx, r, &t.gated, respond)
}

// toolCall is a tools/call on its way through pass.
type toolCall struct {
	gated
	m    rpc.Message
	p    callParams
	to   *entry
	sent changed // the params as sent
}

func (t *toolCall) refuse(call gate.Call, v gate.Verdict) []byte {
	if away := t.r.redirect(call, v); away != nil {
		return rpc.Result(t.m.ID, away)
	}
	return rpc.Result(t.m.ID, refusal(call, v))
}

func (t *toolCall) fail(failure string) []byte { return rpc.Result(t.m.ID, raw.ErrorResult(failure)) }

func (t *toolCall) verify(ctx context.Context, call gate.Call, v *gate.Verdict, kept Kept, answer rpc.Message) []byte {
	answer = t.to.server.refusals.note(raw.WithNote(answer, v.Note), t.to.server.alias)
	return t.host.checks.After(ctx, t, call, v, kept, answer).Readdressed(t.m.ID)
}

// readCall parses the message, once, into the Call that callgate judges, shows, records and forwards. It refuses text
// that decoders could read differently. Refusals are recorded too, so even a refused Call is as complete as the message
// allows.
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
	call.Tool, call.Place, call.Redefined = to.Tool, h.folders.Place(to.server.place), h.offers.maker.Redefined(to.Offer)
	call.Before.Marks = h.offers.maker.Steered(to.Offer)
	return call, to, p, nil
}

// forward sends exactly the judged call: the host's params with the upstream's own tool name, and with
// the call's arguments where an approver changed them.
func (t *toolCall) forward(g *gated, onward bool) {
	limit := g.verdict.Timeout
	ctx, stop := t.to.server.clock.Bound(g.ctx, limit, limits.ErrTooLong)
	defer stop()
	arguments := g.call.Arguments
	if g.call.Fixed { // the host's own arguments go out, with the members beside them
		arguments = t.p.judged()
	}
	trace, forwarded := g.span.Forwarding(t.to.Tool.Name)
	params, asTask := taskCalls{t.host}.asTask(t.p, t.to, forwardParams(t.p, t.to.Tool.Name, arguments))
	if len(trace) > 0 || tasks.MayRelate(params.of) {
		params = changed{of: raw.WithTrace(tasks.Related(params.bytes(), t.to.server.nameOf), trace)}
	}
	if !t.to.server.up.Lists.Heard(upstream.Tools) { // the server restarted while the call waited
		t.r.waits()
		t.host.offers.awaitTools(ctx, t.to.server)
	}
	if err := t.redefined(); err != nil {
		forwarded()
		g.ended(rpc.Message{}, err)
		return
	}
	t.sent = params
	t.r.from.Store(t.to.server)
	if onward && t.r.line != nil && t.r.deferred == nil && !asTask && limit == 0 && t.to.server.post(&t.r.life, t) {
		return
	}
	t.r.waits()
	answer, err := t.to.server.forward(ctx, t.Compose)
	if err == nil {
		answer, err = taskCalls{t.host}.follow(ctx, t.r, t.to.server, answer, asTask)
	}
	forwarded()
	g.ended(limits.Limited(answer, t.to.server.bounds, t.to.server.alias), limits.Timed(ctx, err, limit))
}

// Compose implements rpc.Posted.
func (t *toolCall) Compose(id []byte) []byte {
	return rpc.WithParams(t.m, id, t.sent.of, t.sent.edits...)
}

// Answered implements rpc.Posted.
func (t *toolCall) Answered(answer rpc.Message, err error) { t.to.server.heard(&t.gated, answer, err) }

// redefined returns errRedefined if the tool is no longer the one that the call was judged for, else nil.
func (t *toolCall) redefined() error {
	if !t.host.offers.still(t.to) {
		return errRedefined
	}
	return nil
}

var errRedefined = errors.New("the server changed the tool's definition while the call waited; look at the tool again before you repeat the call")

// trace begins the trace of a request, below the one that its params name. If tracing is off, it reads nothing and
// returns nil.
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

// failureKind returns how a call failed, as a trace names it, or "" if it did not fail.
func failureKind(isError bool, failure string) string {
	switch {
	case failure != "":
		return "call_failed"
	case isError:
		return "tool_error"
	}
	return ""
}
