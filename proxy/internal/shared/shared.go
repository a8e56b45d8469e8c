// Package shared runs a server that all hosts of a callgate use together.
package shared

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/internal/upstream"
	"callgate/proxy/internal/raw"
	"callgate/proxy/internal/tasks"
)

// Server has one process, or one session at its address, for all hosts of this callgate.
//
// It is told that its host has no capabilities, so that it asks nothing: nobody could say whose person or model it
// means. Progress finds its host by a token of callgate's, and changes of a resource go to its subscribers. A log
// message that names no request goes to the one host that the server is working for, or to all hosts if it is working
// for none. If it is working for several, the message goes to nobody, because it may hold what one of them must not see
// of another.
type Server struct {
	Up *upstream.Upstream

	of  func(cause any) User
	log *slog.Logger

	mu      sync.Mutex
	users   map[User]*user
	working map[User]int                 // running requests
	tokens  map[string]progressing       // by callgate's token, as spelled
	watched map[string]map[User]struct{} // subscribers by URI
	telling map[string]chan struct{}     // the URIs that the server is being told of; closed when it has been
}

// user is one host of a shared server. mu is held while a message is delivered to it.
type user struct {
	s    User
	mu   sync.Mutex
	gone bool
}

// progressing is a host's request that asks for progress.
type progressing struct {
	s     User
	token []byte // the host's, as spelled
}

// patience is how long a server may take to end a subscription that nobody needs any more.
const patience = 700 * time.Millisecond

var lastToken atomic.Uint64

// User is a host of a shared server. Its methods are called one at a time.
type User interface {
	Notified(m rpc.Message, cause any) // cause is the request that the notification belongs to, or nil if unknown
	Changed(up *upstream.Upstream, state upstream.State)
	ListChanged(k upstream.Kind)
}

// New returns the server, which has not started. of returns the host whose request a cause (lifetime.CauseOf) is, or
// nil.
func New(c upstream.Config, o upstream.Options, of func(cause any) User) *Server {
	sh := &Server{of: of, log: o.Logger, users: map[User]*user{}, working: map[User]int{}, tokens: map[string]progressing{}, watched: map[string]map[User]struct{}{}, telling: map[string]chan struct{}{}}
	o.Events = upstream.Events{
		Notification: func(_ *upstream.Upstream, m rpc.Message, cause any) { sh.notified(m, cause) },
		StateChanged: func(u *upstream.Upstream, state upstream.State) { sh.everyone(func(s User) { s.Changed(u, state) }) },
		ListChanged:  func(_ *upstream.Upstream, k upstream.Kind) { sh.everyone(func(s User) { s.ListChanged(k) }) },
	}
	o.Wanted = func() bool {
		sh.mu.Lock()
		defer sh.mu.Unlock()
		return len(sh.watched) > 0
	}
	sh.Up = upstream.New(c, o)
	return sh
}

// Join lets a host hear the server. The host MUST Leave.
func (sh *Server) Join(s User) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.users[s] = &user{s: s}
}

// Leave undoes Join. After it returns, nothing more is delivered to the host. The remaining requests to the server run
// in work.
func (sh *Server) Leave(s User, alias string, work *sync.WaitGroup) {
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
		work.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			done, err := sh.turn(ctx, uri)
			if err == nil {
				defer done()
				sh.mu.Lock()
				again := len(sh.watched[uri]) > 0
				sh.mu.Unlock()
				if again || sh.Up.Status().State != upstream.Ready { // a server that does not run has no subscriptions
					return
				}
				_, err = sh.Up.Request(ctx, "resources/unsubscribe", raw.Named("uri", uri))
			}
			if err != nil {
				sh.log.Debug("a subscription that nobody needs could not be ended", "server", alias, "error", err)
			}
		})
	}
}

// to delivers to hosts one after the other, so a slow reader slows the server down for all.
func (sh *Server) to(all []*user, deliver func(User)) {
	for _, u := range all {
		u.mu.Lock()
		if !u.gone {
			deliver(u.s)
		}
		u.mu.Unlock()
	}
}

func (sh *Server) everyone(deliver func(User)) {
	sh.mu.Lock()
	all := make([]*user, 0, len(sh.users))
	for _, u := range sh.users {
		all = append(all, u)
	}
	sh.mu.Unlock()
	sh.to(all, deliver)
}

// notified passes a notification of the server to the hosts that it concerns.
func (sh *Server) notified(m rpc.Message, cause any) {
	switch m.Method {
	case "notifications/progress":
		sh.progress(m)
	case "notifications/resources/updated":
		uri, err := raw.String(m, "uri")
		if err != nil {
			return
		}
		var all []*user
		sh.mu.Lock()
		for s := range sh.watched[uri] {
			all = append(all, sh.users[s])
		}
		sh.mu.Unlock()
		sh.to(all, func(s User) { s.Notified(m, nil) })
	case "notifications/tasks/status":
		sh.everyone(func(s User) { s.Notified(m, nil) }) // each knows its own tasks
	case "notifications/message":
		sh.logged(m, cause)
	}
}

// logged passes a log message to the hosts that it concerns.
func (sh *Server) logged(m rpc.Message, cause any) {
	var all []*user
	sh.mu.Lock()
	switch s := sh.of(cause); {
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
		sh.log.Debug("log message of a shared server dropped: nobody can say which host it belongs to")
	}
	sh.to(all, func(s User) { s.Notified(m, cause) })
}

// progress passes progress on under the token that the host knows.
func (sh *Server) progress(m rpc.Message) {
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
		sh.to([]*user{u}, func(s User) { s.Notified(renamed, nil) })
	}
}

// Forward sends a host's request. For progress it uses a token of callgate's, because two hosts may use the same one.
func (sh *Server) Forward(ctx context.Context, s User, compose func(id []byte) []byte) (rpc.Message, error) {
	m, err := rpc.Parse(compose([]byte(`"cg"`)))
	if err != nil {
		return rpc.Message{}, err
	}
	defer sh.work(s)()
	switch m.Method {
	case "resources/subscribe", "resources/unsubscribe":
		return sh.subscribe(ctx, s, m, compose)
	}
	token := raw.ProgressToken(m.Params)
	if token == nil {
		return sh.Up.Forward(ctx, compose)
	}
	own := jsonx.Quote(fmt.Sprintf("cg-progress-%d", lastToken.Add(1)))
	params, err := raw.WithToken(m.Params, own)
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
	if tasks.Wanted(m) { // a task reports progress long after the request is answered
		context.AfterFunc(ctx, release)
	} else {
		defer release()
	}
	return sh.Up.Forward(ctx, func(id []byte) []byte { return rpc.WithParams(m, id, params) })
}

// work counts a host's request as running until done is called.
func (sh *Server) work(s User) (done func()) {
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

// turn waits until nobody else tells the server who subscribes to the URI.
func (sh *Server) turn(ctx context.Context, uri string) (done func(), err error) {
	for {
		sh.mu.Lock()
		other := sh.telling[uri]
		if other == nil {
			mine := make(chan struct{})
			sh.telling[uri] = mine
			sh.mu.Unlock()
			return func() {
				sh.mu.Lock()
				delete(sh.telling, uri)
				sh.mu.Unlock()
				close(mine)
			}, nil
		}
		sh.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// subscribe records which hosts want to hear of a resource. The server does not hear of a host that leaves while others
// remain.
func (sh *Server) subscribe(ctx context.Context, s User, m rpc.Message, compose func(id []byte) []byte) (rpc.Message, error) {
	uri, err := raw.String(m, "uri")
	if err != nil {
		return rpc.Message{}, err
	}
	done, err := sh.turn(ctx, uri)
	if err != nil {
		return rpc.Message{}, err
	}
	defer done()
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
	answer, err := sh.Up.Forward(ctx, compose)
	if err != nil || answer.Error != nil || m.Method == "resources/unsubscribe" {
		return answer, err
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.users[s] != nil {
		if sh.watched[uri] == nil {
			sh.watched[uri] = map[User]struct{}{}
		}
		sh.watched[uri][s] = struct{}{}
	}
	return answer, nil
}
