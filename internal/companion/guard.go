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

// contentSecurityPolicy locks the companion's responses down: they load nothing, run nothing and cannot be framed.
const contentSecurityPolicy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guard refuses requests that a page may have tricked a browser into sending. It runs before everything else, even the
// health probes.
//
//   - Host must be exactly the door's own address. A foreign DNS name that points here is refused.
//   - Origin must be that same host. Programs send none.
//   - Sec-Fetch-Site must be same-origin or none. Only browsers send it, and no page can forge it.
//   - A credential in the URL is refused, right or wrong, because URLs end up in histories and logs.
//   - A client that asks too often must wait.
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
		if shown == "" && s.serveTenant(d, w, r, token) || s.tooFast(d, w, r, shown) {
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

// foreign returns why a request must not come from where it does, or "".
func foreign(d *hub.Door, r *http.Request) string {
	if !d.Hosts[r.Host] {
		return "the request names another host than this address; names for listenRemote belong into listenHosts"
	}
	if origins, sent := r.Header["Origin"]; sent && (len(origins) != 1 || origins[0] != d.Origin(r.Host)) {
		return "requests from other origins are refused"
	}
	if r.URL.Path == signedInPath && r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" {
		return "" // the provider sends browsers here; only the browser that began the sign-in gets anything
	}
	if sites, sent := r.Header["Sec-Fetch-Site"]; sent && (len(sites) != 1 || (sites[0] != "same-origin" && sites[0] != "none")) {
		return "requests from other sites are refused"
	}
	return ""
}

// admitted guards requests that come through the hub, as guard does for those from clients.
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

// A client that asks more often than people and their programs need to is told to wait, so that others are answered. A
// client is a credential at one address. Clients without a credential are counted by address if they come from other
// machines. On this machine they are not limited: all of them have the same address, even those of other users, and one
// of them could keep the rest from pairing and proof.

const (
	perSecond = 200 // REST requests and opened WebSockets
	burst     = 400
	maxPaces  = 1024 // clients remembered; beyond that, the quiet ones are forgotten
)

// paces limits how fast each client may ask.
type paces struct {
	mu      sync.Mutex
	clients map[string]*rate.Limiter
	told    rate.Sometimes // limits the warnings in the log
}

// allow counts a request of a client and reports whether it may go on.
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

// forget drops clients whose limit is full again. If no limit is full, the requests come from a flood of addresses, so
// every client starts over. The caller holds mu.
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

// tooFast tells a client that asks too fast to wait, and reports whether it did. shown is the client's credential.
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
