package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
)

// connections is how many idle connections the proxy keeps to the server: more than there are calls in flight.
const connections = 128

// reverse prints its address, and forwards to the server until the process is ended.
func reverse(server string, out io.Writer) error {
	to, err := url.Parse(server)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.Transport = &http.Transport{MaxIdleConnsPerHost: connections}
	serve := func(w http.ResponseWriter, r *http.Request) {
		// The length of the body is known, and its end MUST NOT be looked for. If a server answers before the transport
		// has done so, net/http closes the body, and the transport takes that for a failure of the connection.
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(r.Body, r.ContentLength), r.Body}
		proxy.ServeHTTP(w, r)
	}
	if _, err := fmt.Fprintf(out, "http://%s\n", l.Addr()); err != nil {
		return err
	}
	return http.Serve(l, http.HandlerFunc(serve))
}
