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

// host is a host's connection with everything that belongs to it.
type host struct {
	p         *Proxy
	log       *slog.Logger
	line      Line
	admitted  func() error // set if line is Vouched, else nil
	view      View
	principal string       // the host's identity, as proven to its transport
	era       upstream.Era // the era that the host speaks
	waits     bool         // it can wait for a task of the extension
	session   *gate.Session
	leave     func()    // leaves the session
	seat      *seat     // of the session
	began     int       // how many hosts had the session before
	servers   []*server // the view's servers, in the order of the configuration

	inviting sync.Mutex                // held while guests or the session's connection changes
	guests   atomic.Pointer[[]*server] // servers that clients of the companion brought; nil if none

	ctx    context.Context // ends with the connection
	cancel context.CancelCauseFunc
	work   sync.WaitGroup
	jobs   *pool.Pool // run the host's requests

	offers      offers
	folders     workspace.Folders
	naming      naming
	events      events.Events
	checks      verification.Session
	asking      unanswered[*serverRequest]          // questions of the servers, by id
	chats       unanswered[context.CancelCauseFunc] // questions of people to its model
	capable     atomic.Pointer[hostCapabilities]    // nil before initialize
	initialized atomic.Bool
	level       atomic.Pointer[[]byte] // params of its last logging/setLevel; nil before

	running running // the host's requests

	tasks       tasks.Calls
	assignments tasks.Assignments
}

// respond writes the response to the request with that id. A nil response tells the line that there will be none. A
// write error needs no handling here, because the connection of a host that is gone ends elsewhere.
func (h *host) respond(id, response []byte) {
	h.p.o.Budget.Adopt(response)
	h.sent(h.line.Respond(id, response))
}

// notify writes a notification that belongs to the request r; r may be nil.
func (h *host) notify(r *inflight, message []byte) { h.sent(h.line.Notify(r.about(), message)) }

// ask sends a request that belongs to the request r; r may be nil. The caller MUST Wait or Forget.
func (h *host) ask(r *inflight, label string, compose func(id []byte) []byte) (*rpc.Pending, error) {
	return h.line.Ask(r.about(), label, compose)
}

func (h *host) sent(err error) {
	if err != nil && h.ctx.Err() == nil {
		h.log.Debug("message to the host not sent", "error", err)
	}
}

// Malformed records text that is not exactly one message. The text may be a call that is meant to be read in two ways.
func (h *host) Malformed(err error) {
	h.log.Warn("the host sent what is not a message", "error", err)
	h.refuse(err)
}

// noise records and answers text that is not a message, so that the host learns that it was not understood. id is nil
// if none can be read.
func (h *host) noise(id []byte, err error) {
	h.Malformed(err)
	h.jobs.Run(h.ctx, func() { h.turnAway(id, rpc.CodeInvalidRequest, err.Error()) })
}

// turnAway answers a request that does not begin. The goroutine that reads from the host MUST NOT call it: a host that
// reads nothing would keep that goroutine from noticing that the host has ended.
func (h *host) turnAway(id []byte, code int, message string) {
	h.respond(id, rpc.Error(id, code, message))
}

// refuse records a malformed request, for which there is no decision.
func (h *host) refuse(err error) {
	h.p.o.Gate.Refuse(h.session, gate.Call{ID: newCallID(), SessionID: h.session.ID()}, err.Error())
}

// proven returns the identity that a host has proven with a credential, or "" if it needs none.
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

// Close ends everything of the connection, each part before the parts that it needs, and waits for it.
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
	h.work.Wait() // last: requests and servers start more work as long as they run
	if h.p.o.Workspaces != nil && h.session.Ended() {
		h.p.o.Workspaces.Closed(h.session.ID())
	}
	h.tasks.Close()
	h.assignments.Leave(nil)
	h.p.mu.Lock()
	delete(h.p.hosts, h)
	h.p.mu.Unlock()
	h.seat.give()
}

// hostOf returns the host that has a session now. For "" it returns the host of the oldest session, or nil if there is
// none.
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

// visitors returns the guests of the session.
func (h *host) visitors() []*server {
	if guests := h.guests.Load(); guests != nil {
		return *guests
	}
	return nil
}

// everyone returns the configured servers of the view, and the guests.
func (h *host) everyone() []*server {
	return append(h.servers[:len(h.servers):len(h.servers)], h.visitors()...)
}

// hostCapabilities says what the host can do for servers.
type hostCapabilities struct {
	roots, sampling, elicitation, elicitationURL bool

	tasks tasks.Capabilities // which of these it can run as tasks
}

// server returns the host's server with that alias, or nil if its view has none.
func (h *host) server(alias string) *server {
	for _, s := range h.servers {
		if s.alias == alias {
			return s
		}
	}
	return nil
}

// inflight is a request of the host that has no response yet.
type inflight struct {
	host       *host
	life       lifetime.Request // its context
	message    rpc.Message
	handler    requestHandler         // nil for a request that is turned away
	away       earlyRefusal           // set if handler is nil
	answered   func()                 // called once the host has its response
	id         []byte                 // as spelled by the host
	stateless  *stateless.Request     // the request of a host without sessions; nil for other hosts
	deferred   *deferred              // set before forwarding if the host wants a task, else nil
	number     uint64                 // counts up in the order of arrival
	token      []byte                 // progress token as spelled, or nil
	from       atomic.Pointer[server] // the server that works on it and may report progress; nil until forwarded
	afterwards func()                 // runs once the host has its response; nil if nothing is left to do
	line       *rpc.Conn              // the connection, if its reading goroutine serves the request; else nil

	// mu is held while a notification of the call is written and while the call ends, so that no notification follows
	// the response.
	mu      sync.Mutex
	ended   bool
	reached float64 // the highest progress value that the host has seen
	ours    bool    // callgate sent that value
}

// waits MUST be called before a wait that may happen on the goroutine that read the request.
func (r *inflight) waits() {
	if r != nil && r.line != nil {
		r.line.Lend()
	}
}

// running holds the running requests of one host.
type running struct {
	mu    sync.Mutex
	byKey map[string]*inflight // by id as spelled, or by the key of the task
	begun uint64               // number of requests so far
}

// add registers a request. It returns false if a request with that id is running.
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

// end removes a request and makes sure that no notification of it follows its response.
func (q *running) end(r *inflight) {
	q.mu.Lock()
	delete(q.byKey, r.key())
	q.mu.Unlock()
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
}

// rename moves the request to another key, which frees its id.
func (q *running) rename(r *inflight, key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.byKey, string(r.id))
	q.byKey[key] = r
}

// byID returns the running request with that id, or nil.
func (q *running) byID(id []byte) *inflight {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.byKey[string(id)]
}

// byToken returns the request with that progress token, or nil.
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

// cancel ends every request. why is that of lifetime.Request.End.
func (q *running) cancel(why error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range q.byKey {
		r.life.End(why)
	}
}

// at returns the requests that the server works on, newest first.
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

// takeBack ends the request with that id, if it is running, because its host no longer wants the response.
func (h *host) takeBack(id []byte) {
	if r := h.running.byID(id); r != nil {
		r.life.End(errTakenBack)
	}
}

// errTakenBack ends a request that the host cancelled. Such a request gets no response.
var errTakenBack = errors.New("the host cancelled the request")

// errCancelled ends a request that a person cancelled.
var errCancelled = errors.New("a person cancelled the call")

// about returns the id of the request that messages about r belong to, or nil.
func (r *inflight) about() []byte {
	switch {
	case r == nil:
		return nil
	case r.deferred != nil && r.deferred.Announced.Load():
		return r.deferred.Listening()
	}
	return r.id
}

// key returns the key of the request in running.
func (r *inflight) key() string {
	if r.deferred != nil && r.deferred.Announced.Load() {
		return r.deferred.Key()
	}
	return string(r.id)
}

// server returns the server that works on the request, or nil. r may be nil.
func (r *inflight) server() *server {
	if r == nil {
		return nil
	}
	return r.from.Load()
}

// noteProgress notes the server's progress and returns the params for the host. They are the server's own, unless
// callgate sent progress before and the server's value is not higher, for example when it begins at 0 after a wait. The
// caller holds r.mu.
func (r *inflight) noteProgress(params []byte) []byte {
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

// callID returns the id of the request's call: fresh, or that of the approval that the request comes back for.
func (r *inflight) callID(fresh string) string {
	if r.stateless != nil && r.stateless.Resumes() != "" {
		return r.stateless.Resumes()
	}
	return fresh
}

// redirect returns the result that leads the person of a stateless host to the page while an approval is pending, or
// nil.
func (r *inflight) redirect(call gate.Call, v gate.Verdict) []byte {
	if r.stateless == nil || v.Decision != gate.DecidedPending {
		return nil
	}
	return r.stateless.Redirect(call.ID)
}

// progressStep is the distance between callgate's own progress values. It is small, because most servers count from 0
// or 1 in whole steps.
const progressStep = 0.0001

// notifyRunning writes a notification that belongs to the request. It returns false if the request has ended.
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
	token  []byte // progress token as spelled, or nil
}

// unanswered holds questions to the host that have no answer yet.
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

// of returns the question with that key, if there is one.
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
