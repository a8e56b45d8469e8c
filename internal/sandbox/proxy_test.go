package sandbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/proxy"
)

// started starts a proxy on the loopback that dials one server, whatever the request asks for.
func started(t *testing.T, server net.Addr, judge func(Peer) error) (at string, judged func() []string) {
	t.Helper()
	var mu sync.Mutex
	var list []string
	p := &Proxy{
		Judge: func(_ context.Context, to Peer) error {
			mu.Lock()
			defer mu.Unlock()
			text := to.String()
			if to.Private.IsValid() {
				text += " is " + to.Private.String()
			}
			list = append(list, text)
			return judge(to)
		},
		Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
			if strings.HasPrefix(host, "internal") {
				return []netip.Addr{netip.MustParseAddr("10.0.0.7")}, nil
			}
			return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
		},
		Dial: func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", server.String())
		},
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0") //nolint:noctx // at once
	if err != nil {
		t.Fatal(err)
	}
	p.Start(l)
	t.Cleanup(p.Close)
	return l.Addr().String(), func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string{}, list...)
	}
}

func hello(t *testing.T, tls bool) (*httptest.Server, *http.Client) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // as much as arrived
		fmt.Fprintf(w, "hello from %s to %s", r.Host, body)
	})
	s := httptest.NewUnstartedServer(handler)
	if tls {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s, s.Client()
}

// through makes the client use the proxy.
func through(c *http.Client, at string) *http.Client {
	tr := c.Transport.(*http.Transport).Clone()
	tr.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: at})
	tr.DisableKeepAlives = true
	if tr.TLSClientConfig != nil {
		tr.TLSClientConfig.ServerName = "example.com"
	}
	return &http.Client{Transport: tr}
}

func get(t *testing.T, c *http.Client, address string) (int, string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader("me"))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := c.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(body), err
}

func TestConnectAndPlain(t *testing.T) {
	for _, scheme := range []string{"http", "https"} {
		s, c := hello(t, scheme == "https")
		at, judged := started(t, s.Listener.Addr(), func(Peer) error { return nil })
		for range 3 { // people are asked once
			code, body, err := get(t, through(c, at), scheme+"://Example.com/x")
			if err != nil || code != http.StatusOK || !strings.EqualFold(body, "hello from example.com to me") {
				t.Fatalf("%s: %d %q: %v", scheme, code, body, err)
			}
		}
		want := map[string]string{"http": "[example.com:80]", "https": "[example.com]"}[scheme]
		if got := fmt.Sprint(judged()); got != want {
			t.Errorf("%s: judged %s, want %s", scheme, got, want)
		}
	}
}

func TestSOCKS(t *testing.T) {
	s, _ := hello(t, false)
	at, judged := started(t, s.Listener.Addr(), func(Peer) error { return nil })
	dialer, err := proxy.SOCKS5("tcp", at, nil, proxy.Direct)
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{"example.org:8080", "93.184.216.34:80", "[2606:2800:220:1::1]:443"} {
		c, err := dialer.Dial("tcp", to)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, "GET / HTTP/1.0\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if answer, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || answer.StatusCode != http.StatusOK {
			t.Errorf("%s: %v", to, err)
		} else {
			answer.Body.Close()
		}
		c.Close()
	}
	if got := fmt.Sprint(judged()); got != "[example.org:8080 93.184.216.34:80 [2606:2800:220:1::1]]" {
		t.Errorf("judged %s", got)
	}
}

// A refusal is answered in words, and a program that tries again bothers nobody.
func TestRefused(t *testing.T) {
	s, c := hello(t, false)
	at, judged := started(t, s.Listener.Addr(), func(Peer) error { return errors.New("nobody wants that") })
	for range 2 {
		code, body, err := get(t, through(c, at), "http://evil.example/")
		if err != nil || code != http.StatusForbidden || !strings.Contains(body, "nobody wants that") {
			t.Errorf("%d %q: %v", code, body, err)
		}
	}
	if _, _, err := get(t, through(c, at), "https://evil.example/"); err == nil {
		t.Error("CONNECT went through")
	}
	if dialer, err := proxy.SOCKS5("tcp", at, nil, proxy.Direct); err != nil {
		t.Error(err)
	} else if _, err := dialer.Dial("tcp", "evil.example:22"); err == nil {
		t.Error("SOCKS went through")
	}
	if got := fmt.Sprint(judged()); got != "[evil.example:80 evil.example evil.example:22]" {
		t.Errorf("judged %s", got)
	}
}

// A name is judged before it is resolved, and again if it leads into a private network.
func TestPrivate(t *testing.T) {
	s, c := hello(t, false)
	at, judged := started(t, s.Listener.Addr(), func(to Peer) error {
		if to.Private.IsValid() {
			return errors.New("private")
		}
		return nil
	})
	if code, _, err := get(t, through(c, at), "http://internal.example/"); err != nil || code != http.StatusForbidden {
		t.Errorf("%d: %v", code, err)
	}
	if got := fmt.Sprint(judged()); got != "[internal.example:80 internal.example:80 is 10.0.0.7]" {
		t.Errorf("judged %s", got)
	}
}

// Addresses are judged in one spelling, and malformed ones go nowhere.
func TestSpellings(t *testing.T) {
	s, c := hello(t, false)
	at, judged := started(t, s.Listener.Addr(), func(Peer) error { return nil })
	for _, host := range []string{"0x7f.1", "2130706433", "EXAMPLE.com.", "[::ffff:127.0.0.1]"} {
		if _, _, err := get(t, through(c, at), "http://"+host+"/"); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
	if got := fmt.Sprint(judged()); got != "[127.0.0.1:80 example.com:80]" {
		t.Errorf("judged %s", got)
	}
	for _, target := range []string{"exa mple.com:443", "example.com:0", "example.com:99999", "a%00b.com:443", "999.1.1.1:443"} {
		conn, err := net.Dial("tcp", at) //nolint:noctx // at once
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: example.com\r\n\r\n", target)
		answer, err := io.ReadAll(conn)
		if err == nil && strings.Contains(string(answer), " 200 ") {
			t.Errorf("%s: %s", target, answer)
		}
		conn.Close()
	}
}

func BenchmarkConnect(b *testing.B) {
	s, err := net.Listen("tcp4", "127.0.0.1:0") //nolint:noctx // at once
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	go func() {
		for {
			c, err := s.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	p := &Proxy{
		Judge: func(context.Context, Peer) error { return nil },
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
		},
		Dial: func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", s.Addr().String())
		},
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0") //nolint:noctx // at once
	if err != nil {
		b.Fatal(err)
	}
	p.Start(l)
	defer p.Close()
	dialer, err := proxy.SOCKS5("tcp", l.Addr().String(), nil, proxy.Direct)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("proxy", func(b *testing.B) {
		for b.Loop() {
			c, err := dialer.Dial("tcp", "example.com:443")
			if err != nil {
				b.Fatal(err)
			}
			c.Close()
		}
	})
	b.Run("direct", func(b *testing.B) {
		for b.Loop() {
			c, err := net.Dial("tcp", s.Addr().String()) //nolint:noctx // at once
			if err != nil {
				b.Fatal(err)
			}
			c.Close()
		}
	})
}

// TestLongHeader checks that a request whose header has no end does not fill memory.
func TestLongHeader(t *testing.T) {
	at, judged := started(t, &net.TCPAddr{}, func(Peer) error { return errors.New("no") })
	c, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	go func() {
		_, _ = io.WriteString(c, "GET http://example.com/ HTTP/1.1\r\nX: "+strings.Repeat("x", 2*maxHead)+"\r\n\r\n") // the proxy hangs up
	}()
	answer, _ := io.ReadAll(c) // it may be reset
	if len(answer) > 0 || len(judged()) > 0 {
		t.Errorf("answer %q, judged %q", answer, judged())
	}
}
