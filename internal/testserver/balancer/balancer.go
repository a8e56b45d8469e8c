// Package balancer is a load balancer for tests, without affinity.
package balancer

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"

	"callgate/internal/forward"
)

// New returns a handler that passes each request to the next address in turn, over a new connection. at returns the
// current addresses.
func New(at func() []*url.URL) http.Handler {
	var next atomic.Uint64
	return &httputil.ReverseProxy{
		FlushInterval: -1, Transport: &http.Transport{DisableKeepAlives: true},
		Rewrite: func(p *httputil.ProxyRequest) {
			if all := at(); len(all) > 0 {
				to := all[next.Add(1)%uint64(len(all))]
				p.Out.URL.Scheme, p.Out.URL.Host = to.Scheme, to.Host
			}
			p.Out.Body = forward.Body(p.Out.Body)
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
}
