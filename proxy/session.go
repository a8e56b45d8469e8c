package proxy

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"callgate/gate"
	"callgate/internal/pool"
	"callgate/internal/rpc"
	"callgate/internal/upstream"
	"callgate/proxy/internal/tasks"
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
	folders     folders
	events      hookEvents
	relay       relaying
	checks      verifications
	chats       chats
	capable     atomic.Pointer[hostCapabilities] // nil before initialize
	initialized atomic.Bool

	running running // the host's requests

	tasks       taskCalls
	assignments tasks.Assignments
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

// notified takes a notification of the host.
func (h *host) notified(m rpc.Message) {
	switch m.Method {
	case "notifications/initialized":
		h.initialized.Store(true)
		h.offers.rebuild()
		h.folders.learn()
	case "notifications/cancelled":
		h.cancelled(m)
	case "notifications/roots/list_changed":
		h.folders.learn()
		for _, s := range h.servers {
			if s.shared == nil {
				s.up.Notify(m.Method, m.Params)
			}
		}
	case "notifications/progress":
		h.relay.progressForUpstream(m)
	case "notifications/tasks/status":
		h.assignmentStatus(m)
	default:
		h.log.Debug("notification of the host dropped", "method", m.Method)
	}
}

// cancelCalls ends every running request, for an approver who says so.
func (h *host) cancelCalls() {
	h.running.cancel()
	h.chats.cancel()
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
	h.jobs.Run(h.ctx, func() { h.turnAway(id, rpc.CodeInvalidRequest, err.Error()) })
}

// turnAway answers what is not begun. The goroutine that reads from the host MUST NOT call it: a host that reads nothing
// would keep it from seeing that the host has ended.
func (h *host) turnAway(id []byte, code int, message string) {
	h.respond(id, rpc.Error(id, code, message))
}

// refuse records what never came as far as a decision, because it was malformed.
func (h *host) refuse(err error) {
	h.p.o.Gate.Refuse(h.session, gate.Call{ID: newCallID(), SessionID: h.session.ID()}, err.Error())
}

func ping(_ *host, _ context.Context, m rpc.Message, _ *inflight) []byte {
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
	h.tasks.Close()
	h.assignments.Leave(nil)
	h.p.mu.Lock()
	delete(h.p.hosts, h)
	h.p.mu.Unlock()
	h.p.quota.leave(h.principal)
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
