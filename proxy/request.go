package proxy

import (
	"context"
	"errors"

	"callgate/gate"
	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/internal/upstream"
	"callgate/proxy/internal/raw"
	"callgate/proxy/internal/stateless"
)

// requestHandler composes the response to one request and calls respond once with it.
type requestHandler func(h *host, ctx context.Context, m rpc.Message, r *inflight, respond func(response []byte))

// handles returns a handler from a function that returns the response.
func handles(serve func(h *host, ctx context.Context, m rpc.Message, r *inflight) (response []byte)) requestHandler {
	return func(h *host, ctx context.Context, m rpc.Message, r *inflight, respond func([]byte)) {
		respond(serve(h, ctx, m, r))
	}
}

// as returns a handler from a method of a view of the host.
func as[view ~struct{ host *host }](serve func(view, context.Context, rpc.Message, *inflight) []byte) requestHandler {
	return handles(func(h *host, ctx context.Context, m rpc.Message, r *inflight) []byte {
		return serve(view{host: h}, ctx, m, r)
	})
}

// requests lists the methods that a host may call. All others are refused, because an unexamined method is a way around
// the gate.
var requests = map[string]requestHandler{
	"initialize":               as(handshake.initialize),
	"ping":                     handles(ping),
	"tools/list":               lists(upstream.Tools),
	"tools/call":               (*host).call,
	"prompts/list":             lists(upstream.Prompts),
	"prompts/get":              as(resources.getPrompt),
	"resources/list":           lists(upstream.Resources),
	"resources/templates/list": lists(upstream.Templates),
	"resources/read":           as(resources.readResource),
	"resources/subscribe":      as(resources.subscribe),
	"resources/unsubscribe":    as(resources.subscribe),
	"completion/complete":      as(resources.complete),
	"logging/setLevel":         as(handshake.setLevel),
	"tasks/get":                as(taskCalls.getTask),
	"tasks/result":             as(taskCalls.taskResult),
	"tasks/list":               as(taskCalls.listTasks),
	"tasks/cancel":             as(taskCalls.cancelTask),
}

// begin starts a request, which may come from a host without sessions. A short tool call is handled on the goroutine
// that read it, because waking another costs as much as judging the call.
func (h *host) begin(m rpc.Message, e *stateless.Request) {
	line, ok := h.line.(stdio)
	if !ok || e != nil || m.Method != "tools/call" || len(m.Raw) > long {
		r := h.admit(m, e, nil)
		h.jobs.Run(h.ctx, func() { r.serve(nothing) })
		return
	}
	r := h.admit(m, nil, line.conn)
	h.jobs.Here(func() { line.conn.Here(func() { r.serve(nothing) }) }) // in this order, so that closing waits for a job left behind
}

func nothing() {}

// long is the size in bytes from which a message takes a while to read. Other requests do not wait for it.
const long = 16 << 10

// Serve implements Peer.
func (h *host) Serve(m rpc.Message, answered func()) {
	r := h.admit(m, nil, nil)
	h.jobs.Here(func() { r.serve(answered) })
}

// earlyRefusal is how a request is refused before it begins.
type earlyRefusal struct {
	code int
	why  string
}

// admit registers a request, so that a cancellation in the next message finds it. The caller MUST have it served.
func (h *host) admit(m rpc.Message, e *stateless.Request, line *rpc.Conn) *inflight {
	r := &inflight{host: h, message: m, id: m.ID, stateless: e, handler: requests[m.Method], token: raw.ProgressToken(m.Params), line: line}
	r.life.Begin(h.ctx, r)
	switch {
	case r.handler == nil:
		r.away = earlyRefusal{rpc.CodeMethodNotFound, "method not found: " + m.Method}
	case !h.running.add(r):
		r.handler, r.away = nil, earlyRefusal{rpc.CodeInvalidRequest, "a request with this id is still running"}
	case h.ctx.Err() != nil: // the session has ended, so nothing else ends the request
		r.life.End(nil)
	}
	return r
}

// serve answers the request, calls answered, and then does the remaining work.
func (r *inflight) serve(answered func()) {
	if r.handler == nil {
		r.host.turnAway(r.id, r.away.code, r.away.why)
		answered()
		return
	}
	r.answered = answered
	r.handler(r.host, &r.life, r.message, r, r.respond)
}

func (r *inflight) respond(response []byte) {
	if errors.Is(r.life.Cause(), errTakenBack) {
		response = nil
	}
	taskCalls{r.host}.deliver(r, response)
	r.answered()
	if len(response) > long && r.line == nil { // so that the host's next request does not wait
		r.host.jobs.Run(r.host.ctx, r.finish)
	} else {
		r.finish()
	}
}

// finish does the work that is left once the host has its answer.
func (r *inflight) finish() {
	if r.afterwards != nil {
		r.afterwards()
	}
	r.life.End(nil)
}

// lists returns the handler of the method that lists a kind.
func lists(k upstream.Kind) requestHandler {
	return handles(func(h *host, ctx context.Context, m rpc.Message, _ *inflight) []byte { return h.offers.list(ctx, m, k) })
}

// Handle takes every message of the host, in order, except the answers to our requests. It does not wait for any of
// them.
func (h *host) Handle(m rpc.Message) {
	switch {
	case m.IsRequest():
		h.begin(m, nil)
	case m.IsNotification():
		h.notified(m)
	default:
		h.log.Debug("answer of the host dropped: nobody waits for it", "id", string(m.ID))
	}
}

// notified handles a notification of the host.
func (h *host) notified(m rpc.Message) {
	switch m.Method {
	case "notifications/initialized":
		h.initialized.Store(true)
		h.offers.rebuild()
		handshake{h}.learnFolders()
	case "notifications/cancelled":
		h.takeBack(jsonx.At(m.Params, "requestId")) // a request that has ended already is no error: hosts cancel late
	case "notifications/roots/list_changed":
		handshake{h}.learnFolders()
		for _, s := range h.servers {
			if s.shared == nil {
				s.up.Notify(m.Method, m.Params)
			}
		}
	case "notifications/progress":
		progressForServers(h, m)
	case "notifications/tasks/status":
		taskCalls{h}.assignmentStatus(m)
	default:
		h.log.Debug("notification of the host dropped", "method", m.Method)
	}
}

// cancelCalls ends every running request because an approver wants that.
func (h *host) cancelCalls() {
	h.running.cancel(errCancelled)
	for _, cancel := range h.chats.all() {
		cancel(gate.ErrCancelled)
	}
}

func ping(_ *host, _ context.Context, m rpc.Message, _ *inflight) []byte {
	return rpc.Result(m.ID, []byte("{}"))
}
