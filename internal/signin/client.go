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
	"os"
	"syscall"
	"time"

	"callgate/internal/loopback"
)

// maxAnswer bounds what an authorization server may answer.
const maxAnswer = 1 << 20

// newClient returns a client for the addresses that a server names for signing in. The server could name any, so they
// must be https, and in a private network only if the server itself is in one.
func newClient(server string) *http.Client {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	if !private(server) && os.Getenv("HTTPS_PROXY") == "" && os.Getenv("https_proxy") == "" {
		dialer.Control = func(_, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err != nil || !loopback.Public(to.Addr()) {
				return fmt.Errorf("the server sends the sign-in to %s, which is inside your network: refused", address)
			}
			return nil
		}
	}
	return &http.Client{
		Timeout: 30 * time.Second,
		Transport: bounded{&http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, TLSHandshakeTimeout: 10 * time.Second,
			DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10,
		}},
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			if len(via) > 3 || next.URL.Host != via[0].URL.Host {
				return errors.New("it redirects elsewhere")
			}
			return nil
		},
	}
}

// bounded refuses addresses without encryption, this machine's excepted, and cuts endless answers.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if !loopback.Confidential(r.URL) {
		return nil, fmt.Errorf("%s is not https", r.URL.Redacted())
	}
	response, err := b.next.RoundTrip(r)
	if err == nil {
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(response.Body, maxAnswer), response.Body}
	}
	return response, err
}

// private reports whether the server itself is inside of the network.
func private(server string) bool {
	u, err := url.Parse(server)
	if err != nil {
		return false
	}
	if loopback.Host(u.Hostname()) {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil {
		return false
	}
	for _, ip := range addresses {
		if !loopback.Public(ip) {
			return true
		}
	}
	return false
}
