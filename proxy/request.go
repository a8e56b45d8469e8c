package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-json-experiment/json"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/internal/upstream"
	"callgate/proxy/internal/stateless"
)

// requestHandler composes the response to one request.
type requestHandler func(h *host, ctx context.Context, m rpc.Message, r *inflight) (response []byte)

func onHandshake(serve func(handshake, context.Context, rpc.Message, *inflight) []byte) requestHandler {
	return func(h *host, ctx context.Context, m rpc.Message, r *inflight) []byte {
		return serve(handshake{h}, ctx, m, r)
	}
}

func onResources(serve func(resources, context.Context, rpc.Message, *inflight) []byte) requestHandler {
	return func(h *host, ctx context.Context, m rpc.Message, r *inflight) []byte {
		return serve(resources{h}, ctx, m, r)
	}
}

// requests are the methods a host may call. What is not here is refused: a method that nobody looked at
// is a way around the gate.
var requests = map[string]requestHandler{
	"initialize":               onHandshake(handshake.initialize),
	"ping":                     ping,
	"tools/list":               lists(upstream.Tools),
	"tools/call":               (*host).call,
	"prompts/list":             lists(upstream.Prompts),
	"prompts/get":              onResources(resources.getPrompt),
	"resources/list":           lists(upstream.Resources),
	"resources/templates/list": lists(upstream.Templates),
	"resources/read":           onResources(resources.readResource),
	"resources/subscribe":      onResources(resources.subscribe),
	"resources/unsubscribe":    onResources(resources.subscribe),
	"completion/complete":      onResources(resources.complete),
	"logging/setLevel":         onHandshake(handshake.setLevel),
	"tasks/get":                onTasks((*taskCalls).getTask),
	"tasks/result":             onTasks((*taskCalls).taskResult),
	"tasks/list":               onTasks((*taskCalls).listTasks),
	"tasks/cancel":             onTasks((*taskCalls).cancelTask),
}

// onTasks is a method about tasks.
func onTasks(handle func(c *taskCalls, ctx context.Context, m rpc.Message, r *inflight) []byte) requestHandler {
	return func(h *host, ctx context.Context, m rpc.Message, r *inflight) []byte {
		return handle(&h.tasks, ctx, m, r)
	}
}

// inflight is a request of the host that has no answer yet.
type inflight struct {
	id         []byte                 // as spelled
	stateless  *stateless.Request     // that it is, of a host without sessions; nil for other hosts
	deferred   *deferred              // set before it is forwarded, where the host wants a task; else nil
	number     uint64                 // in the order of arrival
	token      []byte                 // progress token as spelled, nil without one
	from       atomic.Pointer[server] // who works on it, and may tell of its progress; nil until it is forwarded
	cancel     context.CancelCauseFunc
	afterwards func() // what is left to do once the host has its answer; nil for nothing

	// mu makes "notifications before the response, none after it" true: it is held while a notification
	// of the call is written, and while the call ends.
	mu      sync.Mutex
	ended   bool
	reached float64 // the highest progress that the host was told of
	ours    bool    // it was callgate that told it
}

// running are the requests of one host that run.
type running struct {
	mu    sync.Mutex
	byKey map[string]*inflight // by id as spelled, or by what stands for it
	begun uint64               // requests so far
}

// add registers a request; false when one with its id runs.
func (q *running) add(r *inflight) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.byKey[string(r.id)] != nil {
		return false
	}
	q.begun++
	r.number = q.begun
	q.byKey[string(r.id)] = r
	return true
}

// end makes sure that no notification of the request follows its response.
func (q *running) end(r *inflight) {
	q.mu.Lock()
	delete(q.byKey, r.key())
	q.mu.Unlock()
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
}

// rename lets the request run under another key: its id is free again.
func (q *running) rename(r *inflight, key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.byKey, string(r.id))
	q.byKey[key] = r
}

// byID returns the request with that id; nil when it does not run.
func (q *running) byID(id []byte) *inflight {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.byKey[string(id)]
}

// byToken returns the request with that progress token, nil for none.
func (q *running) byToken(token []byte) *inflight {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range q.byKey {
		if sameToken(r.token, token) {
			return r
		}
	}
	return nil
}

// cancel ends every request.
func (q *running) cancel() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range q.byKey {
		r.cancel(nil)
	}
}

// at returns the requests that the server works on, the newest first.
func (q *running) at(s *server) (found []*inflight) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range q.byKey {
		if r.from.Load() == s {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b *inflight) int { return cmp.Compare(b.number, a.number) })
	return found
}

// begin starts a request, which may be one of a host without sessions.
func (h *host) begin(m rpc.Message, e *stateless.Request) {
	answer := h.admit(m, e)
	h.jobs.Run(h.ctx, func() { answer(func() {}) })
}

// Serve implements Peer.
func (h *host) Serve(m rpc.Message, answered func()) {
	answer := h.admit(m, nil)
	h.jobs.Here(func() { answer(answered) })
}

// admit registers a request, so that a cancellation in the next message finds it. What it returns answers the request,
// calls answered, and does the rest.
func (h *host) admit(m rpc.Message, e *stateless.Request) func(answered func()) {
	handler, ok := requests[m.Method]
	if !ok {
		return func(answered func()) {
			h.turnAway(m.ID, rpc.CodeMethodNotFound, "method not found: "+m.Method)
			answered()
		}
	}
	ctx, cancel := context.WithCancelCause(h.ctx)
	r := &inflight{id: m.ID, stateless: e, cancel: cancel, token: progressToken(m.Params)}
	ctx = upstream.Because(ctx, r)
	if !h.running.add(r) {
		cancel(nil)
		return func(answered func()) {
			h.turnAway(m.ID, rpc.CodeInvalidRequest, "a request with this id is still running")
			answered()
		}
	}
	return func(answered func()) {
		response := handler(h, ctx, m, r)
		if errors.Is(context.Cause(ctx), errTakenBack) {
			response = nil
		}
		h.tasks.deliver(r, response)
		answered()
		if r.afterwards != nil {
			r.afterwards()
		}
		cancel(nil)
	}
}

// cancelled ends the request that the host names. One that has ended already is no error: hosts cancel late.
func (h *host) cancelled(m rpc.Message) {
	var member [1]jsonx.Member
	if m.Params == nil || jsonx.Members(m.Params, []string{"requestId"}, member[:]) != nil {
		return
	}
	h.takeBack(member[0].Value)
}

// takeBack ends the request with that id, if it runs: its host does not want the response any more.
func (h *host) takeBack(id []byte) {
	if r := h.running.byID(id); r != nil {
		r.cancel(errTakenBack)
	}
}

// errTakenBack is why a request ended that the host cancelled: such a request gets no response.
var errTakenBack = errors.New("the host cancelled the request")

// about is the id of the request that what is told of r belongs to; nil for none.
func (r *inflight) about() []byte {
	switch {
	case r == nil:
		return nil
	case r.deferred != nil && r.deferred.Announced.Load():
		return r.deferred.Listening()
	}
	return r.id
}

// key is what the request runs under.
func (r *inflight) key() string {
	if r.deferred != nil && r.deferred.Announced.Load() {
		return r.deferred.Key()
	}
	return string(r.id)
}

// server is who works on the request; nil for none, and for no request.
func (r *inflight) server() *server {
	if r == nil {
		return nil
	}
	return r.from.Load()
}

// told notes how far the progress is that the host is told of by the server, and returns the params for the host.
// They are the server's own unless values of ours came before and the server's would not rise above them: a server
// that begins at 0 after a wait. The caller holds r.mu.
func (r *inflight) told(params []byte) []byte {
	var m [1]jsonx.Member
	var progress float64
	if jsonx.Members(params, []string{"progress"}, m[:]) != nil || m[0].Value == nil || json.Unmarshal(m[0].Value, &progress) != nil {
		return params
	}
	if r.ours && progress <= r.reached {
		r.reached += progressStep
		return jsonx.Splice(params, jsonx.Edit{Start: m[0].Start, End: m[0].End(), With: fmt.Appendf(nil, "%.4f", r.reached)})
	}
	r.reached, r.ours = max(r.reached, progress), false
	return params
}

// progressToken returns the token of a request as spelled, nil without one.
func progressToken(params []byte) []byte {
	if !jsonx.MayHold(params, "progressToken") {
		return nil
	}
	var meta, token [1]jsonx.Member
	if jsonx.Members(params, []string{"_meta"}, meta[:]) != nil || meta[0].Value == nil {
		return nil
	}
	if jsonx.Members(meta[0].Value, []string{"progressToken"}, token[:]) != nil {
		return nil
	}
	return token[0].Value
}
