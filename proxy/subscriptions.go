package proxy

import (
	"slices"
	"sync"

	"callgate/internal/rpc"
	"callgate/proxy/internal/raw"
)

// subscriptions holds the resources of a server that its host has subscribed to. A new process, or a new session at an
// address, knows nothing of them.
type subscriptions struct {
	leveling sync.Mutex // held while the log level is passed on, so that the last one is the host's last

	mu   sync.Mutex
	uris []string
}

// maxSubscriptions bounds the resources that callgate remembers for one server.
const maxSubscriptions = 1024

func (w *subscriptions) add(uri string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.uris) < maxSubscriptions && !slices.Contains(w.uris, uri) {
		w.uris = append(w.uris, uri)
	}
}

func (w *subscriptions) drop(uri string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.uris = slices.DeleteFunc(w.uris, func(one string) bool { return one == uri })
}

func (w *subscriptions) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.uris)
}

func (w *subscriptions) has(uri string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Contains(w.uris, uri)
}

func (w *subscriptions) any() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.uris) > 0
}

// passLevel passes on the log level that the host asked for last.
func (s *server) passLevel() {
	s.subscriptions.leveling.Lock()
	defer s.subscriptions.leveling.Unlock()
	if _, err := s.up.Request(s.host.ctx, "logging/setLevel", *s.host.level.Load()); err != nil {
		s.host.log.Warn("the log level was not passed on", "server", s.alias, "error", err)
	}
}

// remind tells a server that has just started what the host wants to hear. It does not wait for the server.
func (s *server) remind() {
	if s.host.level.Load() != nil && s.offers("logging") {
		s.host.work.Go(s.passLevel)
	}
	uris := s.subscriptions.all()
	if len(uris) == 0 {
		return
	}
	s.host.work.Go(func() {
		for _, uri := range uris {
			if err := s.subscribeAgain(uri); err != nil {
				s.host.log.Warn("subscriptions were not renewed", "server", s.alias, "error", err)
				return
			}
		}
	})
}

// subscribeAgain subscribes to a resource, unless the host has given it up.
func (s *server) subscribeAgain(uri string) error {
	tell := func(method string) error {
		_, err := s.send(s.host.ctx, func(id []byte) []byte { return rpc.Request(id, method, raw.Named("uri", uri)) })
		return err
	}
	if !s.subscriptions.has(uri) {
		return nil
	}
	err := tell("resources/subscribe")
	if err == nil && !s.subscriptions.has(uri) { // given up meanwhile
		err = tell("resources/unsubscribe")
	}
	return err
}
