package proxy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"callgate/gate/tools"
	"callgate/internal/guard"
	"callgate/internal/hooks"
	"callgate/internal/jsonx"
	"callgate/internal/periodic"
	"callgate/internal/rpc"
	"callgate/internal/upstream"
	"callgate/internal/upstream/lifetime"
	"callgate/proxy/internal/limits"
	"callgate/proxy/internal/provenance"
	"callgate/proxy/internal/raw"
	"callgate/proxy/internal/shared"
)

// server is one upstream for one connection of a host.
type server struct {
	host  *host
	alias string
	about tools.Server
	place tools.Place
	own   bool   // callgate's own, see Server.Own
	guest *Visit // the visit behind a guest, see Guest; nil for a configured server

	choice Choice
	locked map[string]string // see Server.Locked
	bounds Bounds
	clock  limits.Clock      // runs while its requests do
	words  provenance.Server // turns what it says into what hosts and people may see

	up            *upstream.Upstream
	shared        *shared.Server // the shared server that owns up; nil if the server is this host's alone
	refusals      refusals
	subscriptions subscriptions

	told atomic.Pointer[string] // the last event about its state that hooks got
	down atomic.Bool            // it is on record as down
}

// noteState records each start of a configured server, with the guard that keeps its process away from callgate, and
// each end, with the reason. Of several failures in a row it records only the first. It leaves out Closed, because the
// end of the session is on record anyway.
func (s *server) noteState(status upstream.Status, state upstream.State) {
	if s.own || s.guest != nil {
		return
	}
	down := state == upstream.Down
	if state != upstream.Starting && s.down.Swap(down) && down {
		return
	}
	var summary string
	switch {
	case state == upstream.Ready && status.Wall == "":
		summary = fmt.Sprintf("Server %s is connected.", s.alias)
	case state == upstream.Ready:
		summary = fmt.Sprintf("Server %s started. Guard: %s.", s.alias, status.Wall)
	case down:
		summary = fmt.Sprintf("Server %s is down: %s.", s.alias, status.Reason)
	case state == upstream.Idle:
		summary = fmt.Sprintf("Server %s was stopped because nobody used it.", s.alias)
	default:
		return
	}
	if err := s.host.session.Note(summary); err != nil {
		s.host.log.Error("the state of a server could not be recorded", "server", s.alias, "error", err)
	}
}

// maxRefusals bounds the refusals of a sandbox that one answer mentions.
const maxRefusals = 8

// refusals holds what the sandbox has refused to a server since the last answer.
type refusals struct {
	sync.Mutex
	list []guard.Access
}

// add notes a refusal, unless there are enough.
func (r *refusals) add(a guard.Access) {
	r.Lock()
	defer r.Unlock()
	if !slices.Contains(r.list, a) && len(r.list) < maxRefusals {
		r.list = append(r.list, a)
	}
}

// note adds the refusals to a server's answer, because they may explain it.
func (r *refusals) note(answer rpc.Message, alias string) rpc.Message {
	r.Lock()
	defer r.Unlock()
	if len(r.list) == 0 || !raw.TakesContent(answer) {
		return answer
	}
	note := fmt.Sprintf("The sandbox of the server %q refused it", alias)
	for i, a := range r.list {
		note += map[bool]string{true: ",", false: ""}[i > 0] + map[bool]string{true: " to change ", false: " to read "}[a.Write] + strconv.Quote(a.Path) // quoted, because the server chose it
	}
	r.list = nil
	return raw.WithNote(answer, note+". A person is asked, unless a rule answers; after a yes, call again.")
}

// withdrawApprovals tells people that the server of a waiting call has ended. If the server is not expected back soon,
// it withdraws the call, which would fail whatever they answer.
func (s *server) withdrawApprovals(up *upstream.Upstream, state upstream.State) {
	status := up.Status()
	switch {
	case state != upstream.Down:
	case status.Broken:
		s.host.session.WithdrawServer(s.alias, fmt.Sprintf("The server %q is down: %s.", s.alias, status.Reason))
	default:
		s.host.session.ServerEnded(s.alias, status.Reason)
	}
}

// revive waits until the server runs again. It also waits out the pause after a failure if that ends within
// revivePatience.
func (s *server) revive(ctx context.Context) error {
	_, err := s.up.Ready(ctx)
	var down *upstream.DownError
	if !errors.As(err, &down) || down.RetryAt.IsZero() || time.Until(down.RetryAt) > revivePatience {
		return err
	}
	if !periodic.Sleep(ctx, time.Until(down.RetryAt)) {
		return ctx.Err()
	}
	_, err = s.up.Ready(ctx)
	return err
}

// revivePatience is the longest pause after a failure for which callgate holds a call that a person has approved.
const revivePatience = 5 * time.Second

// untouched reports whether the host sees the server's own names.
func (s *server) untouched() bool { return s.host.view.untouched() && !s.own && s.guest == nil }

// unavailable reports whether the server is not expected to answer soon.
func (s *server) unavailable() bool {
	state := s.up.Status().State
	if state == upstream.Down || state == upstream.Closed {
		return true
	}
	_, _, failed := s.up.LastFailure()
	return failed && state != upstream.Ready
}

// offers reports whether the server is known to have the capability.
func (s *server) offers(capability string) bool {
	info, known := s.up.Info()
	var m [1]jsonx.Member
	return known && jsonx.Members(info.Capabilities, []string{capability}, m[:]) == nil && m[0].Value != nil
}

// bounded sends a request to the server and ends it after the server's timeout.
func (s *server) bounded(ctx context.Context, compose func(id []byte) []byte) (rpc.Message, error) {
	ctx, stop := s.clock.Bound(ctx, s.bounds.Timeout, errTooSlow)
	defer stop()
	answer, err := s.send(ctx, compose)
	if err != nil && errors.Is(context.Cause(ctx), errTooSlow) {
		return rpc.Message{}, fmt.Errorf("server %q did not answer within %s (its timeout); it was told to stop", s.alias, s.bounds.Timeout)
	}
	return answer, err
}

var errTooSlow = errors.New("the server's timeout has passed")

// forward sends a request to the server. Only callgate may use names that begin with "callgate/", so forward renames
// those in the answer, and it signs the questions in an error.
func (s *server) forward(ctx context.Context, compose func(id []byte) []byte) (rpc.Message, error) {
	answer, err := s.bounded(ctx, compose)
	if err != nil || s.own {
		return answer, err
	}
	return s.words.Heard(answer)
}

// post does what forward does for a caller that does not wait (see upstream.Post); heard gets the answer. It returns
// false if the request has to go through forward.
func (s *server) post(life *lifetime.Request, request rpc.Posted) bool {
	if s.shared != nil || s.own || s.bounds.Timeout > 0 || s.extends() {
		return false
	}
	s.host.jobs.Hold()
	posted := s.up.Post(life, request)
	if !posted {
		s.host.jobs.Release()
	}
	return posted
}

// heard ends a call with the answer to a posted request. The work after a long answer does not hold up the goroutine
// that reads from the server.
func (s *server) heard(g *gated, answer rpc.Message, err error) {
	if len(answer.Raw) > long {
		later := answer
		s.host.jobs.Run(s.host.ctx, func() { s.hear(g, later, err) })
		return
	}
	s.hear(g, answer, err)
}

func (s *server) hear(g *gated, answer rpc.Message, err error) {
	defer s.host.jobs.Release()
	if err == nil {
		answer, err = s.words.Heard(answer)
	}
	g.ended(limits.Limited(answer, s.bounds, s.alias), err)
}

// tellState tells hooks when a server comes up or goes down, once for each change between the two.
func (s *server) tellState(up *upstream.Upstream, state upstream.State) {
	name, reason := hooks.UpstreamUp, ""
	switch state {
	case upstream.Ready:
	case upstream.Down:
		name, reason = hooks.UpstreamDown, up.Status().Reason
	default:
		return
	}
	if told := s.told.Swap(&name); told == nil || *told != name {
		s.host.events.Server(name, s.alias, reason)
	}
}

// Upstreams returns the state of every configured server: the best one among all connections.
func (p *Proxy) Upstreams() []UpstreamStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	states := make([]UpstreamStatus, 0, len(p.set.Load().Servers))
	for _, s := range p.set.Load().Servers {
		if s.Own != nil {
			continue
		}
		state := UpstreamStatus{Name: s.Tools.Name, State: upstream.Idle}
		for h := range p.hosts {
			if here := h.server(s.Tools.Name); here != nil {
				state = state.better(here.status())
			}
		}
		states = append(states, state)
	}
	return states
}

// UpstreamState is the stage of a server's life.
type UpstreamState = upstream.State

// UpstreamStatus describes a server to people.
type UpstreamStatus struct {
	Name   string
	State  UpstreamState
	Tools  int
	Reason string // why it is down
	Guard  string // what keeps its process away from callgate; may be ""

	Resting bool // it is Idle because nobody used it for long; the next use starts it
}

// better returns the status of the two that is better: a server that is up for one host is up.
func (a UpstreamStatus) better(b UpstreamStatus) UpstreamStatus {
	rank := func(s UpstreamStatus) int {
		switch s.State {
		case upstream.Ready:
			return 4
		case upstream.Idle:
			if s.Resting {
				return 3
			}
		case upstream.Starting:
			return 2
		case upstream.Down:
			return 1
		}
		return 0
	}
	if rank(b) > rank(a) {
		return b
	}
	return a
}

// status returns the server's status for this host.
func (s *server) status() UpstreamStatus {
	st := s.up.Status()
	list, _ := s.up.Lists.Known(upstream.Tools)
	return UpstreamStatus{Name: s.alias, State: st.State, Resting: st.Resting, Tools: len(list.Items), Reason: st.Reason, Guard: st.Wall}
}

// serverSide handles what a server asks the host and tells it.
type serverSide struct{ server *server }

// putToHost sends the server's request m to the host as message and waits for the answer. fault is the response for the
// server if there is no answer.
func (s serverSide) putToHost(ctx context.Context, m, message rpc.Message, r *inflight) (answer rpc.Message, fault []byte) {
	h := s.server.host
	if r == nil {
		if running := s.running(); len(running) > 0 {
			r = running[0]
		}
	}
	pending, err := h.ask(r, m.Label, message.WithID)
	if err != nil {
		return rpc.Message{}, rpc.Error(m.ID, rpc.CodeInternal, "the host is gone")
	}
	answer, err = pending.Wait(ctx)
	if err != nil {
		h.notify(r, rpc.Request(nil, "notifications/cancelled", append(append([]byte(`{"requestId":`), pending.ID...), '}')))
		return rpc.Message{}, rpc.Error(m.ID, rpc.CodeInternal, "the request was cancelled")
	}
	return answer, nil
}

// running returns the host's requests that the server works on, newest first. It leaves out requests that callgate
// makes for a host without a session, because nobody waits for those.
func (s serverSide) running() []*inflight {
	found := s.server.host.running.at(s.server)
	if s.server.host.era == upstream.Modern {
		found = slices.DeleteFunc(found, func(r *inflight) bool { return r.stateless == nil })
	}
	return found
}

// carriers returns requests of the host. The first that still runs carries a notification of the server. r is the
// request that the notification belongs to, if its connection tells. If it does not, and the server works on several
// requests, nobody knows which one is meant. A host with a session then gets the notification outside its requests. A
// host without one gets it with its newest request that wants it.
func (s serverSide) carriers(m rpc.Message, r *inflight) []*inflight {
	if r != nil {
		return []*inflight{r}
	}
	running := s.running()
	switch {
	case s.server.host.era == upstream.Modern:
		return slices.DeleteFunc(running, func(r *inflight) bool { return !r.stateless.Wants(m) })
	case len(running) > 1:
		return nil
	}
	return running
}

// start starts the server, if it has not begun.
func (s *server) start(hello upstream.Hello) {
	if s.shared != nil {
		hello.Capabilities, hello.Tasks = []byte("{}"), false
		hello.ClientInfo = fmt.Appendf(nil, `{"name":"callgate","version":%s}`, jsonx.Quote(s.host.p.o.Version))
	}
	s.up.Start(hello)
}

// send sends a request of this host to the server.
func (s *server) send(ctx context.Context, compose func(id []byte) []byte) (rpc.Message, error) {
	if s.shared != nil {
		return s.shared.Forward(ctx, s, compose)
	}
	return s.up.Forward(ctx, compose)
}

// close ends the server for this host. After it returns, nothing more is delivered from the server.
func (s *server) close() {
	if s.shared == nil {
		s.up.Close()
		return
	}
	s.shared.Leave(s, s.alias, &s.host.work)
}
