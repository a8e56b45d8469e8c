package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

// newClient returns a client that connects within seconds and never follows the server to another origin: what
// a request carries is meant for the configured address.
func newClient() *http.Client {
	return &http.Client{
		CheckRedirect: sameOrigin,
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
			TLSHandshakeTimeout:    10 * time.Second,
			ForceAttemptHTTP2:      true,
			HTTP2:                  &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
			MaxIdleConnsPerHost:    32,
			IdleConnTimeout:        90 * time.Second,
			MaxResponseHeaderBytes: 256 << 10,
		},
	}
}

// sameOrigin lets a request be repeated at another path of the same origin, with the same method and body.
func sameOrigin(next *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case origin(next.URL) != origin(first.URL):
		return fmt.Errorf("it redirects to another origin, %s: callgate sends nothing there; configure that address if it is right", origin(next.URL))
	case next.Method != first.Method:
		return errors.New("it redirects in a way that loses the message (301, 302 or 303)")
	case len(via) > 5:
		return errors.New("it redirects without end")
	}
	return nil
}

// origin is scheme, host and port.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(u.Hostname(), port)
}

// unreached words why a request came to nothing, without the address that net/http repeats: it may hold secrets.
func unreached(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return err
}

// refusedDial reports whether err says that nobody was there: then nobody is there for other requests either.
func refusedDial(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" && !errors.Is(err, context.Canceled)
}
