package companion

import (
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"callgate/internal/companion/credentials"
	"callgate/internal/companion/hub"
)

// A client that asks more often than people and their programs need to is told to wait, so that the others are
// answered. What counts as one client is a credential at one address. Who shows none is counted by address where
// other machines come in. On this machine nobody is: all who show none have the same address there, other users
// too, and one of them could keep the rest from pairing and proof.

const (
	perSecond = 200 // REST requests, and WebSockets that are opened
	burst     = 400
	maxPaces  = 1024 // clients that are remembered; beyond it those that were quiet are forgotten
)

// paces is how fast each client asks.
type paces struct {
	mu      sync.Mutex
	clients map[string]*rate.Limiter
	told    rate.Sometimes // how often the log says so
}

// allow counts a request of a client.
func (p *paces) allow(client string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	limiter := p.clients[client]
	if limiter == nil {
		if p.clients == nil {
			p.clients = make(map[string]*rate.Limiter)
		}
		if len(p.clients) >= maxPaces {
			p.forget()
		}
		limiter = rate.NewLimiter(perSecond, burst)
		p.clients[client] = limiter
	}
	return limiter.Allow()
}

// forget drops clients that may ask as much again as if they were new. When all have been asking, a flood of
// addresses is going on: then everybody begins anew. The caller holds mu.
func (p *paces) forget() {
	now := time.Now()
	for name, limiter := range p.clients {
		if limiter.TokensAt(now) >= burst {
			delete(p.clients, name)
		}
	}
	if len(p.clients) >= maxPaces {
		clear(p.clients)
	}
}

// tooFast reports whether the client has to wait. shown is the credential that it showed.
func (s *Server) tooFast(d *hub.Door, r *http.Request, shown credentials.Credential) bool {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil || shown == "" && !d.Remote {
		return false
	}
	if s.paces.allow(string(shown) + " " + host) {
		return false
	}
	s.paces.told.Do(func() { s.log.Warn("companion: a client asks too often", "credential", shown, "from", r.RemoteAddr) })
	return true
}
