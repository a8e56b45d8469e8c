package companion

import (
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"golang.org/x/time/rate"

	"callgate/internal/companion/credentials"
	"callgate/internal/companion/hub"
	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
)

// Header that pages of the companion are locked down with: they load nothing, run nothing and are framed
// by nobody.
const contentSecurityPolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guard refuses requests that a page may have tricked a browser into sending. It stands before everything else, the
// health probes included.
//
//   - Host must be the door's own address, exactly: a name that a foreign DNS points here is not.
//   - Origin must be that same host, or absent as it is for programs.
//   - Sec-Fetch-Site, which only browsers send and no page can forge, must say same-origin or none.
//   - A credential in the address ends up in histories and logs: refused whether or not it is right.
//   - A client that asks too often waits.
func (s *Server) guard(d *hub.Door, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.enter() {
			rest.WriteError(w, http.StatusServiceUnavailable, wire.CodeInternal, "callgate ends")
			return
		}
		defer s.serving.Done()
		h := w.Header()
		h.Set("Content-Security-Policy", contentSecurityPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if why := foreign(d, r); why != "" {
			s.log.Warn("companion: request refused", "why", why, "host", r.Host, "path", r.URL.Path)
			rest.WriteError(w, http.StatusForbidden, wire.CodeUnauthorized, why)
			return
		}
		query := r.URL.Query()
		if slices.ContainsFunc([]string{"token", "access_token", "bearer", "authorization"}, query.Has) {
			rest.WriteError(w, http.StatusBadRequest, wire.CodeBadMessage, "a credential does not belong in an address: send it as a Bearer header, and rotate this one")
			return
		}
		token := rest.Bearer(r, websocket.Subprotocols(r))
		shown := s.may.identify(token)
		if shown == "" && s.lead(d, w, r, token) || s.tooFast(d, w, r, shown) {
			return
		}
		person, refused := s.may.proven(r, shown)
		if refused != nil {
			rest.WriteError(w, http.StatusForbidden, refused.Code, refused.Message)
			return
		}
		next.ServeHTTP(w, hub.WithPerson(r, person))
	})
}

// foreign says why a request comes from somewhere it must not, or "".
func foreign(d *hub.Door, r *http.Request) string {
	if !d.Hosts[r.Host] {
		return "the request names another host than this address; names for listenRemote belong into listenHosts"
	}
	if origins, sent := r.Header["Origin"]; sent && (len(origins) != 1 || origins[0] != d.Origin(r.Host)) {
		return "requests from other origins are refused"
	}
	if r.URL.Path == signedInPath && r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" {
		return "" // the provider sends browsers here; only the one that began the sign-in gets anything
	}
	if sites, sent := r.Header["Sec-Fetch-Site"]; sent && (len(sites) != 1 || (sites[0] != "same-origin" && sites[0] != "none")) {
		return "requests from other sites are refused"
	}
	return ""
}

// admitted stands before what the hub asks, as guard does before what clients ask.
func (s *Server) admitted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.enter() {
			rest.WriteError(w, http.StatusServiceUnavailable, wire.CodeInternal, "callgate ends")
			return
		}
		defer s.serving.Done()
		next.ServeHTTP(w, r)
	})
}

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

// forget drops clients whose limit is full again. If all have used some of it, there is a flood of addresses, and
// everybody starts over. The caller holds mu.
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

// tooFast tells the client to wait if it has to. shown is the credential that it showed.
func (s *Server) tooFast(d *hub.Door, w http.ResponseWriter, r *http.Request, shown credentials.Credential) bool {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil || shown == "" && !d.Remote {
		return false
	}
	if s.paces.allow(string(shown) + " " + host) {
		return false
	}
	s.paces.told.Do(func() {
		s.log.Warn("companion: a client sends too many requests", "credential", shown, "from", r.RemoteAddr)
	})
	w.Header().Set("Retry-After", "1")
	rest.WriteError(w, http.StatusTooManyRequests, wire.CodeBadMessage, "too many requests: wait a second")
	return true
}
