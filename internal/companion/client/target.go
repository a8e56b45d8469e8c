package client

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
	"callgate/internal/outbound"
	"callgate/internal/visible"
)

// Target says where a client connects, and as whom.
type Target struct {
	DataDir    string                 // holds the announcements and the credentials
	Address    string                 // host:port, or https://host:port on another machine; "" means the hub, or else the newest that answers
	Credential credentials.Credential // "" means approve
	Client     wire.ClientInfo
	Sessions   []string // to watch; nil means all
	Logger     *slog.Logger
	Slow       func(address string) // if not nil, called until the first connection with an address that has not answered yet

	renews bool // the client was connected before and retries by itself

	Roots *x509.CertPool // CAs to trust; nil means the system's
}

// connect finds the companion, has it prove itself, opens the WebSocket and says hello. The caller closes it.
func (t Target) connect(ctx context.Context, within time.Duration) (_ *websocket.Conn, address string, err error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	address, token, err := t.prove(ctx, t.Credential)
	if err != nil {
		return nil, "", err
	}
	dialer := websocket.Dialer{TLSClientConfig: t.tls(), HandshakeTimeout: dialTimeout, Subprotocols: []string{wire.Subprotocol}}
	conn, response, err := dialer.DialContext(ctx, "ws"+strings.TrimPrefix(urlOf(address), "http")+"/ws", http.Header{"Authorization": {"Bearer " + token}})
	if response != nil && response.StatusCode == http.StatusUnauthorized {
		return nil, "", cmp.Or(t.exposed(), wire.ErrUnauthorized)
	}
	if said := refusedWith(response); err != nil && said != "" {
		return nil, "", fmt.Errorf("callgate at %s lets no other clients in: %s", address, said)
	}
	if err != nil {
		return nil, "", unreachable(address, err)
	}
	conn.SetReadLimit(MaxServer)
	sessions := t.Sessions
	if sessions == nil {
		sessions = []string{wire.AllSessions}
	}
	hello, err := wire.Encode(wire.Hello{Head: wire.NewHead(wire.TypeHello, ""), Client: t.Client, Sessions: sessions})
	if err == nil {
		err = conn.WriteMessage(websocket.TextMessage, hello)
	}
	if err != nil {
		conn.Close()
		return nil, "", fmt.Errorf("say hello: %w", err)
	}
	return conn, address, nil
}

// exposed returns what is wrong with the credentials of this machine, or nil. In that case a callgate with the same
// data directory may refuse everybody.
func (t Target) exposed() error { return credentials.At(t.DataDir).Check() }

// refusedWith returns why a companion did not open a WebSocket, or "" if it did not say.
func refusedWith(response *http.Response) string {
	if response == nil || response.StatusCode != http.StatusServiceUnavailable {
		return ""
	}
	var said struct {
		Error wire.RestError `json:"error"`
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxProof))
	if err != nil || json.Unmarshal(body, &said) != nil {
		return ""
	}
	return visible.Text(said.Error.Message)
}

// direct returns a client without redirects and proxies: requests are only for the side that proved itself.
func (t Target) direct() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, TLSClientConfig: t.tls()},
		CheckRedirect: outbound.NoRedirects,
	}
}

func (t Target) tls() *tls.Config { return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: t.Roots} }

// prove finds a companion, reads the credential and has the other side prove that it holds it too. Of several announced
// companions it takes the first that can. It asks silent ones again until ctx ends.
func (t Target) prove(ctx context.Context, name credentials.Credential) (address, token string, err error) {
	addresses, err := t.addresses()
	if err != nil {
		return "", "", err
	}
	token, err = credentials.At(t.DataDir).Token(name)
	if errors.Is(err, fs.ErrNotExist) && name.Person() != "" {
		return "", "", fmt.Errorf("%w: %s", wire.ErrNoCredential, name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", fmt.Errorf("read the %s credential: %w: run \"callgate credentials rotate %[1]s\" to make it", name, err)
	}
	if err != nil {
		return "", "", fmt.Errorf("read the %s credential: %w", name, err)
	}
	tried := map[string]bool{}
	for patience := proofTimeout; ; patience *= 2 {
		var first error
		var silent []string
		for _, address := range addresses {
			proved, err := t.proveAt(ctx, address, name, token, patience)
			if err == nil {
				return proved, token, nil
			}
			tried[address] = true
			if errors.Is(err, context.DeadlineExceeded) {
				silent = append(silent, address)
			}
			first = cmp.Or(first, err)
		}
		if t.Address != "" || len(silent) == 0 || ctx.Err() != nil {
			return "", "", first
		}
		if t.Slow != nil {
			t.Slow(silent[0])
		}
		// A silent companion is stopped or slow, so it gets more time. If the hub is stopped, the other processes open
		// new addresses meanwhile: try those first.
		if addresses, err = t.addresses(); err != nil {
			return "", "", first
		}
		addresses = slices.DeleteFunc(addresses, func(a string) bool { return tried[a] })
		if t.renews && len(addresses) == 0 { // the caller retries soon, with the addresses of that time
			return "", "", first
		}
		addresses = append(addresses, silent...)
	}
}

// addresses returns where to look for the companion, best first.
func (t Target) addresses() (addresses []string, err error) {
	if t.Address != "" {
		return []string{t.Address}, nil
	}
	found, err := Companions(t.DataDir)
	for _, a := range found {
		addresses = append(addresses, a.Address)
	}
	return addresses, err
}

func (t Target) proveAt(ctx context.Context, address string, name credentials.Credential, token string, patience time.Duration) (string, error) {
	if t.Address == "" { // a slow companion must not use up the others' time
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	if remote, ok := strings.CutPrefix(address, remoteScheme); ok {
		host, port, err := net.SplitHostPort(strings.TrimSuffix(remote, "/"))
		if err != nil {
			return "", fmt.Errorf("companion address %q: use https://host:port", address)
		}
		address = remoteScheme + net.JoinHostPort(host, port)
	} else {
		var err error
		if address, err = Loopback(address); err != nil {
			return "", err
		}
	}
	return address, t.challenge(ctx, address, name, token)
}

// maxProof bounds what is read from a side that has not proved itself, in bytes.
const maxProof = 4096

// remoteScheme starts the address of a callgate on another machine.
const remoteScheme = "https://"

// urlOf returns the URL of the companion at address: http on this machine, https elsewhere.
func urlOf(address string) string {
	if strings.HasPrefix(address, remoteScheme) {
		return address
	}
	return "http://" + address
}

// unreachable formats the error for an address that does not answer. It leaves out the URL.
func unreachable(address string, err error) error {
	return fmt.Errorf("%w at %s: %w", wire.ErrUnreachable, address, outbound.WithoutAddress(err))
}

// challenge has whoever listens at address prove that it holds token, without revealing the token.
func (t Target) challenge(ctx context.Context, address string, name credentials.Credential, token string) error {
	var random [credentials.NonceLength / 2]byte
	rand.Read(random[:])
	nonce := hex.EncodeToString(random[:])
	query := url.Values{"credential": {string(name)}, "nonce": {nonce}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, urlOf(address)+"/api/proof?"+query.Encode(), nil)
	if err != nil {
		return fmt.Errorf("companion address %q: %w", address, err)
	}
	response, err := t.direct().Do(request)
	if err != nil {
		return unreachable(address, err)
	}
	defer response.Body.Close()
	var answer struct {
		Proof string `json:"proof"`
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxProof))
	if err != nil {
		return unreachable(address, err)
	}
	if err := json.Unmarshal(body, &answer); err != nil || !hmac.Equal([]byte(answer.Proof), []byte(credentials.Proof(token, nonce, strings.TrimPrefix(address, remoteScheme)))) {
		return fmt.Errorf("%s: %w", address, wire.ErrImpostor)
	}
	return nil
}
