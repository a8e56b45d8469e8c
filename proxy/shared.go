package proxy

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/internal/upstream"
	"callgate/proxy/internal/tasks"
)

// shared is a server with one process, or one session at its address, for all hosts of this callgate.
//
// It is told of a host that can do nothing, so that it asks nothing: nobody could say whose person or model
// is meant. Progress finds its host by a token of callgate's own, and changes of a resource go to those who subscribed to
// it. A log message that names no request goes to the one host that the server works for, or to all while it works for
// none: while it works for several, it may hold what one of them must not see of another, and goes to nobody.
type shared struct {
	p  *Proxy
	up *upstream.Upstream

	mu      sync.Mutex
	users   map[*server]*user
	working map[*server]int                 // requests that run
	tokens  map[string]progressing          // by callgate's token, as spelled
	watched map[string]map[*server]struct{} // subscribers by URI
}

// user is one host of a shared server. mu is held while something is delivered to it.
type user struct {
	s    *server
	mu   sync.Mutex
	gone bool
}

// progressing is a request of a host that wants to hear of its progress.
type progressing struct {
	s     *server
	token []byte // the host's, as spelled
}

var lastToken atomic.Uint64

// share returns the one server for o, which begins with the first host that needs it and ends with the proxy.
func (p *Proxy) share(o Server) *shared {
	p.mu.Lock()
	defer p.mu.Unlock()
	if sh := p.shared[o.Tools.Name]; sh != nil {
		return sh
	}
	o.Upstream.IdleTimeout = cmp.Or(o.Upstream.IdleTimeout, p.o.IdleTimeout)
	sh := &shared{p: p, users: map[*server]*user{}, working: map[*server]int{}, tokens: map[string]progressing{}, watched: map[string]map[*server]struct{}{}}
	sh.up = upstream.New(o.Upstream, upstream.Options{
		Budget:   p.o.Budget,
		CacheDir: p.o.CacheDir, Logger: p.o.Logger,
		Events: upstream.Events{
			Notification: func(_ *upstream.Upstream, m rpc.Message, cause any) { sh.notified(m, cause) },
			StateChanged: func(u *upstream.Upstream, state upstream.State) {
				sh.everyone(func(s *server) { s.changed(u, state) })
			},
			ListChanged: func(_ *upstream.Upstream, k upstream.Kind) {
				sh.everyone(func(s *server) { s.host.offers.changed(k) })
			},
		},
	})
	if p.shared == nil {
		p.shared = map[string]*shared{}
	}
	p.shared[o.Tools.Name] = sh
	return sh
}

// closeShared ends the servers that hosts share.
func (p *Proxy) closeShared() {
	p.mu.Lock()
	all := p.shared
	p.shared = nil
	p.mu.Unlock()
	var closing sync.WaitGroup
	for _, sh := range all {
		closing.Go(sh.up.Close)
	}
	closing.Wait()
}

// start begins with the server, if it has not begun.
func (s *server) start(hello upstream.Hello) {
	if s.shared != nil {
		hello.Capabilities, hello.Tasks = []byte("{}"), false
		hello.ClientInfo = fmt.Appendf(nil, `{"name":"callgate","version":%s}`, jsonx.Quote(s.host.p.o.Version))
	}
	s.up.Start(hello)
}

// send sends a request of this host.
func (s *server) send(ctx context.Context, compose func(id []byte) []byte) (rpc.Message, error) {
	if s.shared != nil {
		return s.shared.forward(ctx, s, compose)
	}
	return s.up.Forward(ctx, compose)
}

// close ends the server for this host. Nothing is delivered for it any more when it returns.
func (s *server) close() {
	if s.shared == nil {
		s.up.Close()
		return
	}
	s.shared.leave(s)
}

func (sh *shared) join(s *server) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.users[s] = &user{s: s}
}

func (sh *shared) leave(s *server) {
	sh.mu.Lock()
	u := sh.users[s]
	delete(sh.users, s)
	var unwatched []string
	for uri, by := range sh.watched {
		if delete(by, s); len(by) == 0 {
			delete(sh.watched, uri)
			unwatched = append(unwatched, uri)
		}
	}
	sh.mu.Unlock()
	if u != nil {
		u.mu.Lock()
		u.gone = true
		u.mu.Unlock()
	}
	for _, uri := range unwatched {
		s.host.work.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			params := append(append([]byte(`{"uri":`), jsonx.Quote(uri)...), '}')
			if _, err := sh.up.Request(ctx, "resources/unsubscribe", params); err != nil {
				sh.p.o.Logger.Debug("a subscription that nobody needs stays", "server", s.alias, "error", err)
			}
		})
	}
}

// to delivers to hosts, one after the other: one that reads slowly slows the server down for all.
func (sh *shared) to(all []*user, deliver func(*server)) {
	for _, u := range all {
		u.mu.Lock()
		if !u.gone {
			deliver(u.s)
		}
		u.mu.Unlock()
	}
}

func (sh *shared) everyone(deliver func(*server)) {
	sh.mu.Lock()
	all := make([]*user, 0, len(sh.users))
	for _, u := range sh.users {
		all = append(all, u)
	}
	sh.mu.Unlock()
	sh.to(all, deliver)
}

// notified takes a notification of the server to those whom it concerns.
func (sh *shared) notified(m rpc.Message, cause any) {
	r, _ := cause.(*inflight)
	switch m.Method {
	case "notifications/progress":
		sh.progress(m)
	case "notifications/resources/updated":
		uri, err := stringParam(m, "uri")
		if err != nil {
			return
		}
		var all []*user
		sh.mu.Lock()
		for s := range sh.watched[uri] {
			all = append(all, sh.users[s])
		}
		sh.mu.Unlock()
		sh.to(all, func(s *server) { serverSide{s}.notified(m, nil) })
	case "notifications/tasks/status":
		sh.everyone(func(s *server) { serverSide{s}.notified(m, nil) }) // each knows its own
	case "notifications/message":
		sh.logged(m, r)
	}
}

// logged takes a log message to whom it concerns; r is the request that it belongs to, nil when that is not known.
func (sh *shared) logged(m rpc.Message, r *inflight) {
	var all []*user
	sh.mu.Lock()
	switch s := r.server(); {
	case s != nil && sh.users[s] != nil:
		all = append(all, sh.users[s])
	case s == nil && len(sh.working) <= 1:
		for s, u := range sh.users {
			if len(sh.working) == 0 || sh.working[s] > 0 {
				all = append(all, u)
			}
		}
	}
	sh.mu.Unlock()
	if all == nil {
		sh.p.o.Logger.Debug("log message of a shared server dropped: nobody can say which host it belongs to")
	}
	sh.to(all, func(s *server) { serverSide{s}.notified(m, r) })
}

// progress passes progress on under the token that the host knows.
func (sh *shared) progress(m rpc.Message) {
	var token [1]jsonx.Member
	if m.Params == nil || jsonx.Members(m.Params, []string{"progressToken"}, token[:]) != nil {
		return
	}
	sh.mu.Lock()
	to, ok := sh.tokens[string(token[0].Value)]
	u := sh.users[to.s]
	sh.mu.Unlock()
	if !ok || u == nil {
		return
	}
	params := jsonx.Splice(m.Params, jsonx.Edit{Start: token[0].Start, End: token[0].End(), With: to.token})
	renamed, err := rpc.Parse(rpc.Request(nil, m.Method, params))
	if err == nil {
		sh.to([]*user{u}, func(s *server) { serverSide{s}.notified(renamed, nil) })
	}
}

// forward sends a host's request, with a token of callgate's own for its progress: two hosts use the same ones.
func (sh *shared) forward(ctx context.Context, s *server, compose func(id []byte) []byte) (rpc.Message, error) {
	m, err := rpc.Parse(compose([]byte(`"cg"`)))
	if err != nil {
		return rpc.Message{}, err
	}
	defer sh.work(s)()
	switch m.Method {
	case "resources/subscribe", "resources/unsubscribe":
		return sh.subscribe(ctx, s, m, compose)
	}
	token := progressToken(m.Params)
	if token == nil {
		return sh.up.Forward(ctx, compose)
	}
	own := jsonx.Quote(fmt.Sprintf("cg-progress-%d", lastToken.Add(1)))
	params, err := withToken(m.Params, own)
	if err != nil {
		return rpc.Message{}, err
	}
	sh.mu.Lock()
	sh.tokens[string(own)] = progressing{s, bytes.Clone(token)}
	sh.mu.Unlock()
	release := func() {
		sh.mu.Lock()
		delete(sh.tokens, string(own))
		sh.mu.Unlock()
	}
	if tasks.Wanted(m) { // which tells of progress when the request has long been answered
		context.AfterFunc(ctx, release)
	} else {
		defer release()
	}
	return sh.up.Forward(ctx, func(id []byte) []byte { return m.WithParams(id, params) })
}

// work counts a request of the host in; done counts it out.
func (sh *shared) work(s *server) (done func()) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.working[s]++
	return func() {
		sh.mu.Lock()
		defer sh.mu.Unlock()
		if sh.working[s]--; sh.working[s] == 0 {
			delete(sh.working, s)
		}
	}
}

// withToken returns params with another progress token; they have one.
func withToken(params, token []byte) ([]byte, error) {
	var meta, old [1]jsonx.Member
	if err := jsonx.Members(params, []string{"_meta"}, meta[:]); err != nil {
		return nil, err
	}
	if err := jsonx.Members(meta[0].Value, []string{"progressToken"}, old[:]); err != nil {
		return nil, err
	}
	at := meta[0].Start + old[0].Start
	return jsonx.Splice(params, jsonx.Edit{Start: at, End: at + len(old[0].Value), With: token}), nil
}

// subscribe keeps the hosts that want to hear of a resource: the server hears of the first and of the last.
func (sh *shared) subscribe(ctx context.Context, s *server, m rpc.Message, compose func(id []byte) []byte) (rpc.Message, error) {
	uri, err := stringParam(m, "uri")
	if err != nil {
		return rpc.Message{}, err
	}
	sh.mu.Lock()
	by := sh.watched[uri]
	others := len(by)
	if _, mine := by[s]; mine {
		others--
	}
	if m.Method == "resources/unsubscribe" {
		if delete(by, s); len(by) == 0 {
			delete(sh.watched, uri)
		}
	}
	sh.mu.Unlock()
	if others > 0 && m.Method == "resources/unsubscribe" {
		return rpc.Parse(rpc.Result(m.ID, []byte("{}")))
	}
	answer, err := sh.up.Forward(ctx, compose)
	if err != nil || answer.Error != nil || m.Method == "resources/unsubscribe" {
		return answer, err
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.users[s] != nil {
		if sh.watched[uri] == nil {
			sh.watched[uri] = map[*server]struct{}{}
		}
		sh.watched[uri][s] = struct{}{}
	}
	return answer, nil
}
