package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// clients are the HTTP clients for one address. All conversations with it share them, so the number of idle connections
// depends on the server and not on the number of conversations.
type clients struct {
	requests  *http.Client
	listening *http.Client // for streams that are silent most of the time, and cost little meanwhile

	users int
}

// reached are the clients by address, as long as somebody uses them.
var reached = struct {
	mu sync.Mutex
	of map[string]*clients
}{of: map[string]*clients{}}

// maxIdle bounds the connections to one address that are kept for the next request.
const maxIdle = 128

// quietBuffer is how much of a silent stream is read at once.
const quietBuffer = 1 << 10

// reach returns the clients for the address. The caller MUST release it.
func reach(address string) *clients {
	reached.mu.Lock()
	defer reached.mu.Unlock()
	c := reached.of[address]
	if c == nil {
		c = &clients{requests: newClient(address, 0), listening: newClient(address, quietBuffer)}
		reached.of[address] = c
	}
	c.users++
	return c
}

// release ends the connections that nobody uses, when it was the last to.
func release(address string) {
	reached.mu.Lock()
	defer reached.mu.Unlock()
	c := reached.of[address]
	if c.users--; c.users == 0 {
		delete(reached.of, address)
		c.requests.CloseIdleConnections()
		c.listening.CloseIdleConnections()
	}
}

// unusedFor is how long a connection to the address is kept for the next request. A server that closes it at the moment
// in which a request is sent makes that request fail, and a call MUST NOT be sent twice. Servers on Node.js, as most of
// those without TLS are, close after 5 s; what stands before the others, after a minute.
func unusedFor(address string) time.Duration {
	if strings.HasPrefix(address, "http:") {
		return 4 * time.Second
	}
	return 55 * time.Second
}

// newClient returns a client that connects within seconds and never follows the server to another origin: what
// a request carries is meant for the configured address. Its buffers are of that size; 0 is the usual one.
func newClient(address string, buffer int) *http.Client {
	return &http.Client{
		CheckRedirect: sameOrigin,
		Transport: &direct{unused: unusedFor(address), plain: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
			TLSHandshakeTimeout:    10 * time.Second,
			ForceAttemptHTTP2:      true,
			HTTP2:                  &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
			MaxIdleConnsPerHost:    maxIdle,
			IdleConnTimeout:        unusedFor(address),
			MaxResponseHeaderBytes: 256 << 10,
			ReadBufferSize:         buffer,
			WriteBufferSize:        buffer,
		}},
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

// refusedDial reports whether err says that nobody was there: then nobody is there for other requests either.
func refusedDial(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" && !errors.Is(err, context.Canceled)
}
