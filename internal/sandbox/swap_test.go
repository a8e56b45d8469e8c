package sandbox

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

// A secret reaches its host and no other, over plain HTTP and, if the server trusts the authority, over TLS. The server
// has only a placeholder.
func TestSwap(t *testing.T) {
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %v", r.Host, r.Header.Get("Authorization"), body, err)
	})
	for _, secured := range []bool{false, true} {
		server := httptest.NewUnstartedServer(echo)
		scheme := "http"
		if secured {
			scheme = "https"
			server.StartTLS()
		} else {
			server.Start()
		}
		t.Cleanup(server.Close)
		authority, err := NewAuthority("s")
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool() // the test server is example.com in its own certificate
		if secured {
			roots.AddCert(server.Certificate())
		}
		p := &Proxy{
			Judge: func(context.Context, Peer) error { return nil },
			Resolve: func(context.Context, string) ([]netip.Addr, error) {
				return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
			},
			Dial: func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
				var d net.Dialer
				return d.DialContext(ctx, "tcp", server.Listener.Addr().String())
			},
			Swaps:     []Swap{{Placeholder: "callgate-x", Secret: "the-secret", Host: "example.com"}},
			Authority: authority, Roots: roots,
		}
		l, err := net.Listen("tcp4", "127.0.0.1:0") //nolint:noctx // at once
		if err != nil {
			t.Fatal(err)
		}
		p.Start(l)
		t.Cleanup(p.Close)
		trusted := x509.NewCertPool()
		trusted.AppendCertsFromPEM(authority.PEM)
		if secured {
			trusted.AddCert(server.Certificate())
		}
		for _, by := range []string{"http", "socks5"} {
			if by == "socks5" && !secured {
				continue // a tunnel passes everything but TLS unchanged
			}
			client := &http.Client{Transport: &http.Transport{
				Proxy:           http.ProxyURL(&url.URL{Scheme: by, Host: l.Addr().String()}),
				TLSClientConfig: &tls.Config{RootCAs: trusted},
			}}
			for host, want := range map[string]string{"example.com": "token the-secret", "www.example.com": "token callgate-x"} {
				for range 2 { // the second uses the same connection
					request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, scheme+"://"+host+"/", strings.NewReader("callgate-x"))
					if err != nil {
						t.Fatal(err)
					}
					request.Header.Set("Authorization", "token callgate-x")
					answer, err := client.Do(request)
					if err != nil {
						if host != "example.com" && secured && strings.Contains(err.Error(), "certificate") {
							break // the test server has no certificate for it: the connection passed unchanged
						}
						t.Fatalf("%s %s by %s: %v", scheme, host, by, err)
					}
					text, err := io.ReadAll(answer.Body)
					answer.Body.Close()
					if got := string(text); err != nil || got != host+" "+want+" callgate-x <nil>" {
						t.Errorf("%s %s by %s: %q, %v", scheme, host, by, got, err)
					}
				}
			}
			if secured { // somebody else's host behind the same address
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://example.com/", nil)
				if err != nil {
					t.Fatal(err)
				}
				request.Host = "evil.example.net"
				request.Header.Set("Authorization", "token callgate-x")
				answer, err := client.Do(request)
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(answer.Body)
				answer.Body.Close()
				if err != nil || string(text) != "evil.example.net token callgate-x  <nil>" {
					t.Errorf("another name by %s: %q, %v", by, text, err)
				}
			}
			client.CloseIdleConnections()
		}
	}
}
