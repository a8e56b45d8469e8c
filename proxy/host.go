package proxy

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"callgate/gate"
	"callgate/internal/jsonx"
	"callgate/internal/pool"
	"callgate/internal/rpc"
	"callgate/internal/upstream"
	"callgate/proxy/internal/stateless"
)

// host is one host's connection with everything that belongs to it.
type host struct {
	p         *Proxy
	log       *slog.Logger
	line      Line
	view      View
	principal string       // who the host has proven to be to its transport
	era       upstream.Era // that the host speaks
	waits     bool         // it can wait for a task of the extension; see task
	session   *gate.Session
	servers   []*server // those of the view, in the order of the configuration

	inviting sync.Mutex                // held while guests changes
	guests   atomic.Pointer[[]*server] // that clients of the companion brought; nil for none

	ctx    context.Context // ends with the connection
	cancel context.CancelFunc
	work   sync.WaitGroup
	jobs   *pool.Pool // the host's requests

	offers      offers
	capable     atomic.Pointer[hostCapabilities] // nil before initialize
	initialized atomic.Bool
	roots       atomic.Pointer[[]string] // the host's workspace folders, nil until it has named them

	mu      sync.Mutex
	calls   map[string]*inflight      // the host's requests that run, by id as spelled
	begun   uint64                    // requests so far
	asked   map[string]*serverRequest // the upstreams' requests that the host has, by their id
	reports []report                  // of verifications that the host could not wait for

	chats map[*chatting]struct{} // questions of people to the host's model; guarded by mu

	deferrals   deferrals
	assignments assignments
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

// Handle takes every message of the host but the answers to our requests, in their order. It does not wait
// for any of them.
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

// requestHandler composes the response to one request.
type requestHandler func(h *host, ctx context.Context, m rpc.Message, r *inflight) (response []byte)

// requests are the methods a host may call. What is not here is refused: a method that nobody looked at
// is a way around the gate.
var requests = map[string]requestHandler{
	"initialize":               (*host).initialize,
	"ping":                     (*host).ping,
	"tools/list":               (*host).listTools,
	"tools/call":               (*host).call,
	"prompts/list":             (*host).listPrompts,
	"prompts/get":              (*host).getPrompt,
	"resources/list":           (*host).listResources,
	"resources/templates/list": (*host).listTemplates,
	"resources/read":           (*host).readResource,
	"resources/subscribe":      (*host).subscribe,
	"resources/unsubscribe":    (*host).subscribe,
	"completion/complete":      (*host).complete,
	"logging/setLevel":         (*host).setLevel,
	"tasks/get":                (*host).getTask,
	"tasks/result":             (*host).taskResult,
	"tasks/list":               (*host).listTasks,
	"tasks/cancel":             (*host).cancelTask,
}

// begin starts a request, which may be one of a host without sessions. It is registered before the next message is read, so that a
// cancellation finds it.
func (h *host) begin(m rpc.Message, e *stateless.Request) {
	handler, ok := requests[m.Method]
	if !ok {
		h.turnAway(m.ID, rpc.CodeMethodNotFound, "method not found: "+m.Method)
		return
	}
	ctx, cancel := context.WithCancelCause(h.ctx)
	r := &inflight{id: m.ID, stateless: e, cancel: cancel, token: progressToken(m.Params)}
	ctx = upstream.Because(ctx, r)
	id := string(m.ID)
	h.mu.Lock()
	_, twice := h.calls[id]
	if !twice {
		h.begun++
		r.number = h.begun
		h.calls[id] = r
	}
	h.mu.Unlock()
	if twice {
		cancel(nil)
		h.turnAway(m.ID, rpc.CodeInvalidRequest, "a request with this id is still running")
		return
	}
	h.jobs.Run(h.ctx, func() {
		response := handler(h, ctx, m, r)
		if errors.Is(context.Cause(ctx), errTakenBack) {
			response = nil
		}
		h.deliver(r, response)
		if r.afterwards != nil {
			r.afterwards()
		}
		cancel(nil)
	})
}

// end makes sure that no notification of the request follows its response.
func (h *host) end(r *inflight) {
	h.mu.Lock()
	delete(h.calls, r.key())
	h.mu.Unlock()
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
}

// notified takes a notification of the host.
func (h *host) notified(m rpc.Message) {
	switch m.Method {
	case "notifications/initialized":
		h.initialized.Store(true)
		h.offers.rebuild()
		h.learnRoots()
	case "notifications/cancelled":
		h.cancelled(m)
	case "notifications/roots/list_changed":
		h.learnRoots()
		for _, s := range h.servers {
			if s.shared == nil {
				s.up.Notify(m.Method, m.Params)
			}
		}
	case "notifications/progress":
		h.progressForUpstream(m)
	case "notifications/tasks/status":
		h.assignmentStatus(m)
	default:
		h.log.Debug("notification of the host dropped", "method", m.Method)
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
	h.mu.Lock()
	r := h.calls[string(id)]
	h.mu.Unlock()
	if r != nil {
		r.cancel(errTakenBack)
	}
}

// errTakenBack is why a request ended that the host cancelled: such a request gets no response.
var errTakenBack = errors.New("the host cancelled the request")

// cancelCalls ends every running request, for an approver who says so.
func (h *host) cancelCalls() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.calls {
		r.cancel(nil)
	}
	for c := range h.chats {
		c.cancel()
	}
}

// respond writes the response to the request with that id, or, when it is nil, lets the line know that there
// will be none. A host that is gone ends the connection elsewhere.
func (h *host) respond(id, response []byte) {
	h.p.o.Budget.Adopt(response)
	h.sent(h.line.Respond(id, response))
}

// notify writes a notification that belongs to the request r, or to none when r is nil.
func (h *host) notify(r *inflight, message []byte) { h.sent(h.line.Notify(r.about(), message)) }

// ask sends a request that belongs to the request r, or to none when r is nil. The caller MUST Wait or Forget.
func (h *host) ask(r *inflight, label string, compose func(id []byte) []byte) (*rpc.Pending, error) {
	return h.line.Ask(r.about(), label, compose)
}

func (h *host) sent(err error) {
	if err != nil && h.ctx.Err() == nil {
		h.log.Debug("message to the host not sent", "error", err)
	}
}

// about is the id of the request that what is told of r belongs to; nil for none.
func (r *inflight) about() []byte {
	switch {
	case r == nil:
		return nil
	case r.deferred != nil && r.deferred.announced.Load():
		return r.deferred.listening()
	}
	return r.id
}

// key is what the request runs under.
func (r *inflight) key() string {
	if r.deferred != nil && r.deferred.announced.Load() {
		return r.deferred.key()
	}
	return string(r.id)
}

// Malformed records what is not a message, or more than one: it may be a call that is meant to be read in two
// ways.
func (h *host) Malformed(err error) {
	h.log.Warn("the host sent what is not a message", "error", err)
	h.refuse(err)
}

// noise records and answers what is not a message: the host has to know that it was not understood. The id is nil when
// there is none that can be read.
func (h *host) noise(id []byte, err error) {
	h.Malformed(err)
	h.turnAway(id, rpc.CodeInvalidRequest, err.Error())
}

// turnAway answers what is not begun. The reading goroutine MUST NOT write itself: a host that reads nothing
// would keep it from seeing that the host has ended.
func (h *host) turnAway(id []byte, code int, message string) {
	response := rpc.Error(id, code, message)
	h.jobs.Run(h.ctx, func() { h.respond(id, response) })
}

// refuse records what never came as far as a decision, because it was malformed.
func (h *host) refuse(err error) {
	h.p.o.Gate.Refuse(h.session, gate.Call{ID: newCallID(), SessionID: h.session.ID()}, err.Error())
}

func (h *host) ping(_ context.Context, m rpc.Message, _ *inflight) []byte {
	return rpc.Result(m.ID, []byte("{}"))
}

// Close ends everything of the connection, in the order in which each needs the other, and waits for it.
func (h *host) Close() {
	h.cancel()
	h.session.Close()
	h.line.Hurry()
	h.jobs.Wait()
	var closing sync.WaitGroup
	for _, s := range h.everyone() {
		closing.Go(s.close)
	}
	closing.Wait()
	if err := h.offers.finder.Close(); err != nil {
		h.log.Debug("index of tools not closed", "error", err)
	}
	h.work.Wait() // last: requests and servers begin more of it as long as they run
	if h.p.o.Workspaces != nil {
		h.p.o.Workspaces.Closed(h.session.ID())
	}
	h.deferrals.close()
	h.assignments.leave(nil)
	h.p.mu.Lock()
	delete(h.p.hosts, h)
	h.p.mu.Unlock()
	h.p.quota.leave(h.principal)
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

// latestVersion is what a host gets that asks for a version nobody knows.
var latestVersion = upstream.Versions[len(upstream.Versions)-1]

// negotiate returns the version to speak with a host that asks for one.
func negotiate(version string) string {
	if slices.Contains(upstream.Versions, version) {
		return version
	}
	return latestVersion
}

// status tells how the server is for this host.
func (s *server) status() UpstreamStatus {
	st := s.up.Status()
	list, _ := s.up.List(upstream.Tools)
	return UpstreamStatus{Name: s.alias, State: st.State, Resting: st.Resting, Tools: len(list.Items), Reason: st.Reason, Guard: st.Wall}
}

// Versions are the revisions of MCP with a handshake that hosts can speak with callgate, oldest first.
func Versions() []string { return slices.Clone(upstream.Versions) }
