package companion

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/internal/companion/client"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/hub"
	"callgate/internal/companion/wire"
	"callgate/internal/testserver/addresses"
	"callgate/internal/testserver/waits"
)

// certified returns a certificate for an address and tools.example.com, and the pool that trusts it.
func certified(t *testing.T, host string) (*tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "tools.example.com"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"tools.example.com"}, IPAddresses: []net.IP{net.ParseIP(host)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// patient repeats requests without bodies while nobody answers: the server may not be there yet, or may have timed out
// on a machine that took seconds to send a few bytes.
type patient struct{ *http.Transport }

func (p patient) RoundTrip(r *http.Request) (*http.Response, error) {
	for deadline := time.Now().Add(waits.Limit); ; time.Sleep(5 * time.Millisecond) {
		response, err := p.Transport.RoundTrip(r)
		if err == nil || r.Body != nil || time.Now().After(deadline) {
			return response, err
		}
	}
}

func TestOtherMachinesComeInOverTLS(t *testing.T) {
	dir := privateDir(t)
	held, err := credentials.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	address := addresses.Free(t, 1)[0]
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	certificate, roots := certified(t, host)
	b := newFakeBackend("s1")
	b.ask(approval("call_1"))
	log := new(lockedBuffer)
	s, err := Listen(Options{
		DataDir: dir, Address: ":0", Backend: Backend{Gate: b}, Credentials: held, Logger: slog.New(slog.NewTextHandler(log, nil)),
		Remote: &hub.Remote{Address: address, Hosts: []string{host, "tools.example.com"}, Certificate: certificate},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := &rig{Server: s, backend: b, dir: dir, log: log}
	browser := &http.Client{Transport: patient{&http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true}}}
	for _, tt := range []struct {
		name    string
		headers []string
		want    int
	}{
		{"by the address", nil, 200},
		{"by its name", []string{"Host", "tools.example.com:" + port}, 200},
		{"by a name that points here", []string{"Host", "evil.example.com:" + port}, 403},
		{"as this machine", []string{"Host", "localhost:" + port}, 403},
		{"at another port", []string{"Host", "tools.example.com:1"}, 403},
		{"own page", []string{"Origin", "https://" + address}, 200},
		{"the same page without TLS", []string{"Origin", "http://" + address}, 403},
		{"a page elsewhere", []string{"Origin", "https://evil.example.com"}, 403},
		{"another site", []string{"Sec-Fetch-Site", "cross-site"}, 403},
	} {
		request, err := http.NewRequest("GET", "https://"+address+"/health/live", nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(tt.headers); i += 2 {
			if tt.headers[i] == "Host" {
				request.Host = tt.headers[i+1]
			} else {
				request.Header.Set(tt.headers[i], tt.headers[i+1])
			}
		}
		response, err := browser.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, response.StatusCode, tt.want)
		}
	}
	// Without TLS nothing is answered.
	if response, err := http.Get("http://" + address + "/health/live"); err == nil {
		response.Body.Close()
		if response.StatusCode == 200 {
			t.Error("it answers without TLS")
		}
	}
	// A page from there talks only to its own server, over TLS.
	response, err := browser.Get("https://" + address + "/")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if policy := response.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "connect-src 'self' wss://"+address+";") {
		t.Errorf("policy %s", policy)
	}
	// The Go client asks for proof there too, and refuses another certificate.
	target := r.target()
	target.Address, target.Roots = "https://"+address, roots
	c := dial(t, target)
	f := await[*wire.ToolApproveRequest](t, c, nil)
	if err := c.Answer(wire.ToolApprove{Head: wire.Head{SessionID: "s1"}, ToolCallID: f.ToolCallID, ArgsDigest: f.ArgsDigest, Decision: "approve"}); err != nil {
		t.Fatal(err)
	}
	await(t, c, func(f *wire.ToolApproveResolved) bool { return f.Decision == "approve" })
	_, target.Roots = certified(t, host)
	if _, err := client.Dial(t.Context(), target); !errors.Is(err, wire.ErrUnreachable) {
		t.Errorf("with another's certificate: %v", err)
	}
	// A code minted here pairs a page there.
	target.Roots = roots
	page, err := client.PageURL(t.Context(), target)
	if err != nil || !strings.HasPrefix(page, "https://"+address+"/#pair=") {
		t.Fatalf("%s, %v", page, err)
	}
	code := page[strings.Index(page, "=")+1:]
	response, err = browser.Post("https://"+address+"/api/pair/redeem", "application/json", strings.NewReader(`{"code":"`+code+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	response.Body.Close()
	if err != nil || !strings.Contains(string(body), r.token(t, credentials.Approve)) {
		t.Errorf("%d %s %v", response.StatusCode, body, err)
	}
	// No tool may talk to the port, and local clients do not use it.
	if ports := client.Ports(dir); len(ports) != 2 || !strings.Contains(strings.Join(ports, " "), port) {
		t.Errorf("protected are the ports %s", ports)
	}
	if at := await[wire.Connected](t, dial(t, r.target()), nil).Address; at != s.Address() {
		t.Errorf("a client of this machine went to %s", at)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if ports := client.Ports(dir); len(ports) != 0 {
		t.Errorf("still announced: %s", ports)
	}
	if left, err := filepath.Glob(filepath.Join(client.PortsDir(dir), "*")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %s %v", left, err)
	}
}
