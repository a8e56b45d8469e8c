package endpoint

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"callgate/internal/rpc"
)

// hostNames returns the values of the Host header that mean this server. Names without a port get this server's.
func hostNames(more []string, address *net.TCPAddr) map[string]bool {
	names := map[string]bool{address.String(): true}
	for _, host := range append([]string{"127.0.0.1", "localhost", "::1"}, more...) {
		port := strconv.Itoa(address.Port)
		if name, its, err := net.SplitHostPort(host); err == nil {
			host, port = name, its
		}
		names[strings.ToLower(net.JoinHostPort(host, port))] = true
		if port == "443" || port == "80" {
			names[strings.ToLower(host)] = true
		}
	}
	return names
}

// guard refuses requests that a web page may have tricked a browser into sending. It runs before everything else.
//
//   - Host must be one of this server's own names. A name that somebody else's DNS points here is not.
//   - Origin must be this server, a page that the configuration names, or absent as it is for programs.
//   - What a page does across sites without an Origin, such as loading an image or following a link, is refused:
//     every browser marks it in Sec-Fetch-Site, which programs do not send.
//   - A credential in the address ends up in histories and logs, so it is refused, right or wrong.
//
// Other requests have a minute to arrive completely. Otherwise a host that is not admitted could hold connections for
// ever.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		expect(w, bodyPatience)
		set := s.set.Load()
		if !set.hosts[strings.ToLower(r.Host)] {
			s.refusals.write("a request for another host was refused", "host", r.Host, r.RemoteAddr)
			refuse(w, http.StatusForbidden, nil, rpc.CodeInvalidRequest, "callgate: the request names another host than this address: add the name to mcpHosts (name:port behind a load balancer)")
			return
		}
		origin := r.Header.Values("Origin")
		if len(origin) > 1 || len(origin) == 1 && !set.welcomes(origin[0]) {
			s.refusals.write("a request of another origin was refused", "origin", strings.Join(origin, ", "), r.RemoteAddr)
			refuse(w, http.StatusForbidden, nil, rpc.CodeInvalidRequest, "callgate: requests from this origin are refused; pages are added with mcpOrigins")
			return
		}
		if site := r.Header.Values("Sec-Fetch-Site"); len(origin) == 0 && slices.ContainsFunc(site, foreign) {
			s.refusals.write("a request of another site was refused", "site", strings.Join(site, ", "), r.RemoteAddr)
			refuse(w, http.StatusForbidden, nil, rpc.CodeInvalidRequest, "callgate: requests from this site are refused; pages are added with mcpOrigins")
			return
		}
		for name := range asked(r) {
			if slices.Contains([]string{"token", "access_token", "bearer", "authorization"}, strings.ToLower(name)) {
				refuse(w, http.StatusBadRequest, nil, rpc.CodeInvalidRequest, "callgate: a credential does not belong in an address: send it as a Bearer header, and rotate this one")
				return
			}
		}
		if len(origin) == 1 {
			h.Set("Vary", "Origin")
			h.Set("Access-Control-Allow-Origin", origin[0])
			h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate")
			if r.Method == http.MethodOptions {
				h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
				h.Set("Access-Control-Allow-Headers", strings.Join(r.Header.Values("Access-Control-Request-Headers"), ", "))
				h.Set("Access-Control-Max-Age", "600")
				w.WriteHeader(http.StatusNoContent)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// asked returns the query of the address. Most requests have none.
func asked(r *http.Request) url.Values {
	if r.URL.RawQuery == "" {
		return nil
	}
	return r.URL.Query()
}

// foreign reports whether a value of Sec-Fetch-Site says that another site's page sends the request.
func foreign(site string) bool { return site != "same-origin" && site != "none" }

// welcomes reports whether pages of the origin may connect.
func (set *settings) welcomes(origin string) bool {
	scheme := "http://"
	if set.TLS != nil {
		scheme = "https://"
	}
	host, ok := strings.CutPrefix(strings.ToLower(origin), scheme)
	return ok && set.hosts[host] || slices.Contains(set.Origins, origin)
}

// expect bounds how long the rest of the request may take to arrive; 0 means no bound. If the server cannot set the
// deadline, it cannot read the request either.
func expect(w http.ResponseWriter, limit time.Duration) {
	var deadline time.Time
	if limit > 0 {
		deadline = time.Now().Add(limit)
	}
	_ = http.NewResponseController(w).SetReadDeadline(deadline)
}

// refuse answers with an error of our own. The message is for the person who runs the host. The rest of an unread
// request gets a moment to arrive, so that the host sees the answer instead of a closed connection.
func refuse(w http.ResponseWriter, status int, id []byte, code int, message string) {
	expect(w, refusedPatience)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(rpc.Error(id, code, message)) // a host that is gone needs no answer
}
