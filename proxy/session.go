package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"callgate/gate"
	"callgate/internal/jsonx"
	"callgate/internal/pool"
	"callgate/internal/rpc"
	"callgate/internal/upstream"
	"callgate/internal/upstream/lifetime"
	"callgate/proxy/internal/events"
	"callgate/proxy/internal/raw"
	"callgate/proxy/internal/stateless"
	"callgate/proxy/internal/tasks"
	"callgate/proxy/internal/verification"
	"callgate/proxy/internal/workspace"
)

// host is one host's connection with everything that belongs to it.
type host struct {
	p         *Proxy
	log       *slog.Logger
	line      Line
	admitted  func() error // of a line that is Vouched; else nil
	view      View
	principal string       // who the host has proven to be to its transport
	era       upstream.Era // that the host speaks
	waits     bool         // it can wait for a task of the extension; see task
	session   *gate.Session
	leave     func()    // the session
	began     int       // how many had the session before
	servers   []*server // those of the view, in the order of the configuration

	inviting sync.Mutex                // held while guests changes
	guests   atomic.Pointer[[]*server] // that clients of the companion brought; nil for none

	ctx    context.Context // ends with the connection
	cancel context.CancelCauseFunc
	work   sync.WaitGroup
	jobs   *pool.Pool // the host's requests

	offers      offers
	folders     workspace.Folders
	events      events.Events
	checks      verification.Session
	asking      unanswered[*serverRequest]          // by the servers, by id
	chats       unanswered[context.CancelCauseFunc] // by people, of its model
	capable     atomic.Pointer[hostCapabilities]    // nil before initialize
	initialized atomic.Bool

	running running // the host's requests

	tasks       tasks.Calls
	assignments tasks.Assignments
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

// Malformed records text that is not exactly one message. It may be a call that is meant to be read in two ways.
func (h *host) Malformed(err error) {
	h.log.Warn("the host sent what is not a message", "error", err)
	h.refuse(err)
}

// noise records and answers text that is not a message, so that the host knows that it was not understood. The id is
// nil if none can be read.
func (h *host) noise(id []byte, err error) {
	h.Malformed(err)
	h.jobs.Run(h.ctx, func() { h.turnAway(id, rpc.CodeInvalidRequest, err.Error()) })
}

// turnAway answers a request that is not begun. The goroutine that reads from the host MUST NOT call it: a host that
// reads nothing would keep it from seeing that the host has ended.
func (h *host) turnAway(id []byte, code int, message string) {
	h.respond(id, rpc.Error(id, code, message))
}

// refuse records a request that got no decision because it was malformed.
func (h *host) refuse(err error) {
	h.p.o.Gate.Refuse(h.session, gate.Call{ID: newCallID(), SessionID: h.session.ID()}, err.Error())
}

// proven is who a host has shown to be by a credential; "" where it needs none.
func proven(principal string) string {
	if principal == StdioPrincipal || principal == AnyPrincipal {
		return ""
	}
	return principal
}

// Expelled implements Peer.
func (h *host) Expelled() {
	h.session.WithdrawServer("", "The credential of its host is no longer valid.")
}

// Close ends everything of the connection, in the order in which each needs the other, and waits for it.
func (h *host) Close() {
	h.cancel(gate.ErrSessionEnded)
	h.running.cancel(nil)
	h.leave()
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
	if h.p.o.Workspaces != nil && h.session.Ended() {
		h.p.o.Workspaces.Closed(h.session.ID())
	}
	h.tasks.Close()
	h.assignments.Leave(nil)
	h.p.mu.Lock()
	delete(h.p.hosts, h)
	h.p.mu.Unlock()
	h.p.quota.leave(h.principal)
}

// hostOf returns the host that has a session now; of "" the one that came first, or nil when there is none.
func (p *Proxy) hostOf(sessionID string) (now *host, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for h := range p.hosts {
		switch {
		case sessionID != "" && h.session.ID() != sessionID:
		case now == nil, h.session == now.session && h.began > now.began, h.session.StartedAt().Before(now.session.StartedAt()):
			now = h
		}
	}
	if now == nil && sessionID != "" {
		return nil, fmt.Errorf("%w: %q", gate.ErrSession, sessionID)
	}
	return now, nil
}

// visitors are the guests of the session.
func (h *host) visitors() []*server {
	if guests := h.guests.Load(); guests != nil {
		return *guests
	}
	return nil
}

// everyone is the configured servers of the view and the guests.
func (h *host) everyone() []*server {
	return append(h.servers[:len(h.servers):len(h.servers)], h.visitors()...)
}

// hostCapabilities are what the host said that it can do for servers.
type hostCapabilities struct {
	roots, sampling, elicitation, elicitationURL bool

	tasks tasks.Abilities // which of them as tasks
}

// server returns the host's server with that alias, nil when its view has none.
func (h *host) server(alias string) *server {
	for _, s := range h.servers {
		if s.alias == alias {
			return s
		}
	}
	return nil
}

// inflight is a request of the host that has no answer yet.
type inflight struct {
	host       *host
	life       lifetime.Request // its context
	message    rpc.Message
	handler    requestHandler         // nil for a request that is turned away
	away       turned                 // then
	answered   func()                 // called when the host has its answer
	id         []byte                 // as spelled
	stateless  *stateless.Request     // that it is, of a host without sessions; nil for other hosts
	deferred   *deferred              // set before it is forwarded, where the host wants a task; else nil
	number     uint64                 // in the order of arrival
	token      []byte                 // progress token as spelled, nil without one
	from       atomic.Pointer[server] // who works on it, and may tell of its progress; nil until it is forwarded
	afterwards func()                 // what is left to do once the host has its answer; nil for nothing
	line       *rpc.Conn              // that it was read from, on the goroutine that serves it; nil where it has a goroutine of its own

	// mu is held while a notification of the call is written and while the call ends, so that no notification follows
	// the response.
	mu      sync.Mutex
	ended   bool
	reached float64 // the highest progress that the host was told of
	ours    bool    // it was callgate that told it
}

// waits is called before a wait on the goroutine that read the request.
func (r *inflight) waits() {
	if r != nil && r.line != nil {
		r.line.Lend()
	}
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
		if raw.SameToken(r.token, token) {
			return r
		}
	}
	return nil
}

// cancel ends every request; why is as of lifetime.Request.End.
func (q *running) cancel(why error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range q.byKey {
		r.life.End(why)
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

// takeBack ends the request with that id, if it runs: its host does not want the response any more.
func (h *host) takeBack(id []byte) {
	if r := h.running.byID(id); r != nil {
		r.life.End(errTakenBack)
	}
}

// errTakenBack is why a request ended that the host cancelled: such a request gets no response.
var errTakenBack = errors.New("the host cancelled the request")

// errCancelled is why a request ended that a person cancelled.
var errCancelled = errors.New("a person cancelled the call")

// about is the id of the request that messages about r belong to; nil for none.
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

// server is the server that works on the request; nil for none, and for no request.
func (r *inflight) server() *server {
	if r == nil {
		return nil
	}
	return r.from.Load()
}

// told notes the server's progress and returns the params for the host. They are the server's own, unless callgate sent
// progress before and the server's value is not higher, as when it begins at 0 after a wait. The caller holds r.mu.
func (r *inflight) told(params []byte) []byte {
	var m [1]jsonx.Member
	if jsonx.Members(params, []string{"progress"}, m[:]) != nil {
		return params
	}
	progress, err := strconv.ParseFloat(string(m[0].Value), 64)
	if err != nil {
		return params
	}
	if r.ours && progress <= r.reached {
		r.reached += progressStep
		return jsonx.Splice(params, jsonx.Edit{Start: m[0].Start, End: m[0].End(), With: fmt.Appendf(nil, "%.4f", r.reached)})
	}
	r.reached, r.ours = max(r.reached, progress), false
	return params
}

// callID is the id of the request's call: a new one, or that of the approval that the request comes back for.
func (r *inflight) callID(fresh string) string {
	if r.stateless != nil && r.stateless.Resumes() != "" {
		return r.stateless.Resumes()
	}
	return fresh
}

// redirect is the result that leads the host's person to the page while an approval is pending; nil for other hosts.
func (r *inflight) redirect(call gate.Call, v gate.Verdict) []byte {
	if r.stateless == nil || v.Decision != gate.DecidedPending {
		return nil
	}
	return r.stateless.Redirect(call.ID)
}

// progressStep is the distance between callgate's own values. It is small, because servers mostly count from 0 or 1 in
// whole steps.
const progressStep = 0.0001

// notifyRunning writes a notification that belongs to the request, unless that has ended.
func (h *host) notifyRunning(r *inflight, message []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return false
	}
	h.notify(r, message)
	return true
}

// serverRequest is a server's request that the host has not answered yet.
type serverRequest struct {
	cancel context.CancelFunc
	from   *server
	token  []byte // progress token as spelled, nil without one
}

// unanswered is what the host was asked and has not answered yet.
type unanswered[V any] struct {
	mu    sync.Mutex
	byKey map[string]V
}

// begin registers a question until end is called.
func (u *unanswered[V]) begin(key string, question V) (end func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.byKey == nil {
		u.byKey = map[string]V{}
	}
	u.byKey[key] = question
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.byKey, key)
	}
}

// of is the question with that key, if there is one.
func (u *unanswered[V]) of(key string) (question V, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	question, ok = u.byKey[key]
	return question, ok
}

func (u *unanswered[V]) all() []V {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Collect(maps.Values(u.byKey))
}
