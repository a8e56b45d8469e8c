package signin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"syscall"
	"time"

	"callgate/internal/loopback"
)

// maxAnswer bounds an authorization server's answer, in bytes.
const maxAnswer = 1 << 20

// connect bounds the time to connect.
const connect = 10 * time.Second

// newClient returns a client for the URLs that a server names for signing in. The server could name any URL. So they
// must be https, and may be in a private network only if the server itself is in one. If a request goes through a
// proxy, the proxy decides what it can reach.
func newClient(server string, proxy func(*http.Request) (*url.URL, error)) *http.Client {
	proxied := &http.Transport{
		Proxy: proxy, DialContext: (&net.Dialer{Timeout: connect}).DialContext, TLSHandshakeTimeout: connect,
		DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10,
	}
	checked := proxied.Clone()
	checked.Proxy = nil
	checked.DialContext = (&net.Dialer{Timeout: connect, ControlContext: func(ctx context.Context, _, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err == nil && (loopback.Public(to.Addr()) || private(ctx, server)) {
			return nil
		}
		return fmt.Errorf("the server sends the sign-in to %s, which is inside your network: refused", address)
	}}).DialContext
	return &http.Client{
		Timeout:   30 * time.Second,
		Transport: bounded{proxied, checked},
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			if len(via) > 3 || next.URL.Host != via[0].URL.Host {
				return errors.New("it redirects elsewhere")
			}
			return nil
		},
	}
}

// bounded refuses URLs without encryption, except on this machine, and cuts long answers.
type bounded struct{ proxied, checked *http.Transport }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if !loopback.Confidential(r.URL) {
		return nil, fmt.Errorf("%s is not https", r.URL.Redacted())
	}
	proxy, err := b.proxied.Proxy(r)
	if err != nil {
		return nil, err
	}
	next := b.checked
	if proxy != nil {
		next = b.proxied
	}
	response, err := next.RoundTrip(r)
	if err == nil {
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(response.Body, maxAnswer), response.Body}
	}
	return response, err
}

// private reports whether the server itself is on this machine or in a private network.
func private(ctx context.Context, server string) bool {
	u, err := url.Parse(server)
	if err != nil {
		return false
	}
	if loopback.Host(u.Hostname()) {
		return true
	}
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil {
		return false
	}
	return slices.ContainsFunc(addresses, func(ip netip.Addr) bool { return !loopback.Public(ip) })
}
