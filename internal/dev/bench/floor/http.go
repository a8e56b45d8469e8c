package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
)

// connections is how many the proxy keeps to the server: as many as there are calls in flight, and room.
const connections = 128

// reverse passes on to the server until the process is ended, and first says where.
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
		// The end of the body is known, and MUST NOT be looked for: a server that answers before the transport has
		// done so makes net/http close the body, and the transport takes that for a failure of the connection.
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
