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

// clients holds the HTTP clients for one address. All conversations with it share them, so the number of idle
// connections depends on the server, not on the number of conversations.
type clients struct {
	requests  *http.Client
	listening *http.Client // for streams that are mostly silent, and then cost little

	users int
}

// reached holds the clients by address, as long as somebody uses them.
var reached = struct {
	mu sync.Mutex
	of map[string]*clients
}{of: map[string]*clients{}}

// maxIdle bounds the idle connections that are kept for one address.
const maxIdle = 128

// quietBuffer is how many bytes of a silent stream are read at once.
const quietBuffer = 1 << 10

// reach returns the clients for the address. The caller MUST release the address.
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

// release gives up the clients for the address. The last user closes the idle connections.
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

// unusedFor returns how long an idle connection to the address is kept. If a server closes it just as a request is
// sent, the request fails, and a call MUST NOT be sent twice. Servers on Node.js, as most of those without TLS are,
// close after 5 s. The proxies in front of the others close after a minute.
func unusedFor(address string) time.Duration {
	if strings.HasPrefix(address, "http:") {
		return 4 * time.Second
	}
	return 55 * time.Second
}

// newClient returns a client that connects within seconds. It never follows the server to another origin, because
// requests are meant only for the configured address. buffer is the size of its buffers in bytes; 0 means the default.
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

// sameOrigin lets a request be redirected to another path of the same origin, with the same method and body.
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

// origin returns scheme, host and port.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(u.Hostname(), port)
}

// refusedDial reports whether err says that no connection could be made. Other requests would then fail too.
func refusedDial(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" && !errors.Is(err, context.Canceled)
}
