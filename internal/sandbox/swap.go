package sandbox

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"time"

	"callgate/internal/address"
	"callgate/internal/forward"
)

// Swap is a secret that a server does not get. The server has the placeholder, and the proxy puts the secret into the
// headers of requests to Host. Requests to other hosts keep the placeholder.
type Swap struct{ Placeholder, Secret, Host string }

// swapsOf returns the swaps for a host in its normal form.
func (p *Proxy) swapsOf(host string) (swaps []Swap) {
	for _, s := range p.Swaps {
		if s.Host == host {
			swaps = append(swaps, s)
		}
	}
	return swaps
}

// swap replaces placeholders by secrets.
func swap(header http.Header, swaps []Swap) {
	for name, values := range header {
		for i, value := range values {
			for _, s := range swaps {
				value = strings.ReplaceAll(value, s.Placeholder, s.Secret)
			}
			header[name][i] = value
		}
	}
}

// hostHeader returns the host of a Host header in its normal form; "" if there is none.
func hostHeader(authority string) string {
	if host, err := hostOf(authority); err == nil {
		return host
	}
	host, _ := address.Host(authority) // no port
	return host
}

// Authority signs certificates that only one server trusts, so that the proxy can put secrets into the server's TLS
// requests. Its key is only in memory.
type Authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	// PEM is the certificate that the server must trust.
	PEM []byte

	mu     sync.Mutex
	issued map[string]*tls.Certificate // by host
}

// authorityLife is how long certificates are valid: longer than any server runs.
const authorityLife = 365 * 24 * time.Hour

// NewAuthority makes an authority for the named server.
func NewAuthority(server string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := certificate("callgate for " + server)
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &Authority{key: key, cert: cert, PEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), issued: map[string]*tls.Certificate{}}, nil
}

func certificate(name string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)) // never fails
	now := time.Now()
	return &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(authorityLife)}
}

// of returns the certificate for a host, and issues it at first use.
func (a *Authority) of(host string) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.issued[host]; c != nil {
		return c, nil
	}
	template := certificate(host)
	template.DNSNames, template.KeyUsage, template.ExtKeyUsage = []string{host}, x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, a.key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	c := &tls.Certificate{Certificate: [][]byte{der, a.cert.Raw}, PrivateKey: a.key}
	a.issued[host] = c
	return c, nil
}

// intercept answers TLS on c in the host's name and forwards the requests over TLS, with their placeholders replaced.
// out is the first connection to the target.
func (p *Proxy) intercept(ctx context.Context, c net.Conn, out net.Conn, host, target string, swaps []Swap) error {
	cert, err := p.Authority.of(host)
	if err != nil {
		return err
	}
	var first sync.Once
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (conn net.Conn, err error) {
			first.Do(func() { conn = out })
			if conn != nil {
				return conn, nil
			}
			return p.connect(ctx, target)
		},
		TLSClientConfig: &tls.Config{ServerName: host, RootCAs: p.Roots, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}},
	}
	defer transport.CloseIdleConnections()
	l := &oneConn{conn: tls.Server(c, &tls.Config{Certificates: []tls.Certificate{*cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}), done: ctx.Done()}
	server := &http.Server{
		Handler: &httputil.ReverseProxy{
			Rewrite: func(r *httputil.ProxyRequest) {
				r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "https", target, r.In.Host
				r.Out.Body = forward.Body(r.Out.Body)
				if hostHeader(r.In.Host) == host { // else it picks another host at this address
					swap(r.Out.Header, swaps)
				}
			},
			Transport: transport, FlushInterval: -1, ErrorLog: logTo(p.Logger),
		},
		ReadHeaderTimeout: helloTime, ErrorLog: logTo(p.Logger),
	}
	ended := make(chan struct{})
	var once sync.Once
	server.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed || state == http.StateHijacked {
			once.Do(func() { close(ended) })
		}
	}
	l.ended = ended
	if err := server.Serve(l); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

func logTo(l *slog.Logger) *log.Logger {
	l = cmp.Or(l, slog.New(slog.DiscardHandler))
	return slog.NewLogLogger(l.Handler(), slog.LevelDebug)
}

// oneConn is a listener with one connection. Its second Accept fails once that connection has ended.
type oneConn struct {
	mu    sync.Mutex
	conn  net.Conn
	ended <-chan struct{}
	done  <-chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	l.mu.Lock()
	c := l.conn
	l.conn = nil
	l.mu.Unlock()
	if c != nil {
		return c, nil
	}
	select {
	case <-l.ended:
	case <-l.done:
	}
	return nil, fmt.Errorf("the connection: %w", net.ErrClosed)
}

func (l *oneConn) Close() error   { return nil }
func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }
