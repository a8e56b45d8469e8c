package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/guard"
	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/internal/sandbox"
	"callgate/internal/traces"
	"callgate/internal/upstream"
)

// server is one upstream of one host's connection.
type server struct {
	host  *host
	alias string
	about tools.Server
	place tools.Place
	own   bool // callgate's own, see Server.Own
	guest bool // brought by a client, see Guest

	choice Choice
	locked map[string]string // see Server.Locked
	bounds Bounds
	clock  clock // of its requests

	up       *upstream.Upstream
	shared   *shared // whose up it is; nil for a server that is this host's alone
	refusals refusals

	told atomic.Pointer[string] // the last that hooks heard of its state, as an event
	wall atomic.Pointer[string] // what keeps its process from callgate, as it is on record
}

func (h *host) newServer(o Server) *server {
	s := &server{host: h, alias: o.Tools.Name, about: o.Tools, place: o.Place, own: o.Own != nil, choice: o.Choice, locked: o.Locked, bounds: o.Bounds}
	if s.own {
		o.Upstream.Serve = o.Own(h.session)
	}
	if o.Shared {
		s.shared = h.p.share(o)
		s.up = s.shared.up
		return s
	}
	o.Upstream.Connect, o.Upstream.Refused, o.Upstream.Widen = wall{s}.connects, wall{s}.refused, wall{s}.widens
	s.up = upstream.New(o.Upstream, upstream.Options{
		Budget:   h.p.o.Budget,
		CacheDir: h.p.o.CacheDir,
		Logger:   h.log,
		Events: upstream.Events{
			Notification: func(_ *upstream.Upstream, m rpc.Message, cause any) {
				r, _ := cause.(*inflight)
				serverSide{s}.notified(m, r)
			},
			Request: func(_ *upstream.Upstream, m rpc.Message, cause any) {
				r, _ := cause.(*inflight)
				serverSide{s}.asked(m, r)
			},
			StateChanged: func(u *upstream.Upstream, state upstream.State) {
				s.changed(u, state)
			},
			ListChanged: func(_ *upstream.Upstream, k upstream.Kind) { h.offers.changed(k) },
		},
	})
	return s
}

// changed hears where the server is now.
func (s *server) changed(up *upstream.Upstream, state upstream.State) {
	s.host.offers.touch()
	if state == upstream.Ready {
		wall{s}.noteWall(up.Status().Wall)
	}
	s.tellState(up, state)
	s.giveUp(up, state)
	s.abandon(state)
}

// wall is the sandbox around a server: what reaches through is judged.
type wall struct{ *server }

// noteWall puts on record what keeps the server's process from callgate, when that is something new.
func (s wall) noteWall(wall string) {
	if wall == "" {
		return
	}
	if old := s.wall.Swap(&wall); old != nil && *old == wall {
		return
	}
	summary := fmt.Sprintf("Server %s started. Guard: %s.", s.alias, wall)
	if err := s.host.session.Note(summary); err != nil {
		s.host.log.Error("the guard of a server could not be recorded", "server", s.alias, "error", err)
	}
}

// connects lets a connection that a server in a sandbox wants to make pass the gate, as the kind connect.
func (s wall) connects(ctx context.Context, to sandbox.Peer) error {
	arguments := append([]byte(`{"to":`), jsonx.Quote(to.String())...)
	if to.Private.IsValid() {
		arguments = append(append(arguments, `,"private":`...), jsonx.Quote(netip.AddrPortFrom(to.Private, to.Port).String())...)
	}
	return s.judges(ctx, tools.KindConnect, append(arguments, '}'))
}

// widens lets what the sandbox has refused to the server pass the gate: its next process may have it.
func (s wall) widens(ctx context.Context, a guard.Access) error {
	kind := tools.KindSandboxRead
	if a.Write {
		kind = tools.KindSandboxWrite
	}
	return s.judges(ctx, kind, append(append([]byte(`{"path":`), jsonx.Quote(a.Path)...), '}'))
}

// refused notes what the sandbox has refused to the server, for the model.
func (s wall) refused(a guard.Access) {
	s.refusals.Lock()
	defer s.refusals.Unlock()
	if !slices.Contains(s.refusals.list, a) && len(s.refusals.list) < maxRefusals {
		s.refusals.list = append(s.refusals.list, a)
	}
}

// maxRefusals is how many refusals of a sandbox one answer speaks of.
const maxRefusals = 8

// refusals are what the sandbox has refused to a server since the last answer.
type refusals struct {
	sync.Mutex
	list []guard.Access
}

// noteRefusals tells the model in an answer of the server what the sandbox has refused to it meanwhile. It may be the reason
// for what the answer says, or for what it does not.
func (s wall) noteRefusals(answer rpc.Message) rpc.Message {
	s.refusals.Lock()
	defer s.refusals.Unlock()
	if len(s.refusals.list) == 0 || !takesContent(answer) {
		return answer
	}
	note := fmt.Sprintf("The sandbox of the server %q refused it", s.alias)
	for i, a := range s.refusals.list {
		note += map[bool]string{true: ",", false: ""}[i > 0] + map[bool]string{true: " to change ", false: " to read "}[a.Write] + strconv.Quote(a.Path) // the server chose it
	}
	s.refusals.list = nil
	return withNote(answer, note+". A person is asked, unless a rule answers; after a yes, call again.")
}

// judges lets something that a server wants beside its calls pass the gate, as a kind.
func (s wall) judges(ctx context.Context, kind string, arguments []byte) error {
	h, tool := s.host, kindTool(kind, s.server)
	digest, err := jsonx.Digest(arguments, h.session.Agent())
	if err != nil {
		return err
	}
	call := gate.Call{
		ID: newCallID(), SessionID: h.session.ID(), Principal: h.principal, Agent: h.session.Agent(), Tool: tool, Arguments: arguments, Digest: digest, Place: h.folders.placeOf(s.server), Fixed: true,
	}
	refused := errors.New("it was not judged")
	h.pass(ctx, nil, gated{call: call, method: kind, params: arguments, server: s.server, steps: stepFuncs{
		onForward: func(context.Context, *traces.Call) (rpc.Message, error) { refused = nil; return rpc.Message{}, nil },
		onRefuse:  func(v gate.Verdict) []byte { refused = errors.New(v.Reason); return nil },
		onFail:    func() []byte { return nil },
		onAnswer:  func(rpc.Message) []byte { return nil },
	}})
	return refused
}

// giveUp tells people who are asked about calls of a server that it has ended. It withdraws what waits when the server
// is not to be expected back soon: the call would fail however they answer.
func (s *server) giveUp(up *upstream.Upstream, state upstream.State) {
	status := up.Status()
	switch {
	case state != upstream.Down:
	case status.Broken:
		s.host.session.WithdrawServer(s.alias, fmt.Sprintf("The server %q is down: %s.", s.alias, status.Reason))
	default:
		s.host.session.ServerEnded(s.alias, status.Reason)
	}
}

// revive waits until the server runs again, and for the end of the pause after a failure if that is near.
func (s *server) revive(ctx context.Context) error {
	_, err := s.up.Ready(ctx)
	var down *upstream.DownError
	if !errors.As(err, &down) || down.RetryAt.IsZero() || time.Until(down.RetryAt) > revivePatience {
		return err
	}
	select {
	case <-time.After(time.Until(down.RetryAt)):
	case <-ctx.Done():
		return ctx.Err()
	}
	_, err = s.up.Ready(ctx)
	return err
}

// revivePatience is the longest pause after a failure that a call is held for which a person has approved.
const revivePatience = 5 * time.Second

// untouched reports whether the host sees the server's own names.
func (s *server) untouched() bool { return s.host.view.untouched() && !s.own && !s.guest }

// hopeless reports that nothing is to be expected from the server soon.
func (s *server) hopeless() bool {
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
