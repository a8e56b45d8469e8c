package tui

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"callgate/internal/companion"
)

const (
	restTimeout = 3 * time.Second
	maxAnswer   = 8 << 20 // bytes
	records     = 200     // of the audit trail
)

// rest asks the companion for what its frames do not tell: the state of the servers, and what was recorded
// before this screen began to follow.
type rest struct {
	dataDir  string
	sessions []string // whose records are shown; nil means all
}

// status is what the companion says of itself.
type status struct {
	servers []server
	records []entry // oldest first
	err     error
}

// server is an MCP server behind callgate.
type server = companion.UpstreamState

// status asks for the servers and, with history, for the last records.
func (r *rest) status(ctx context.Context, address string, history bool) (s status) {
	ctx, cancel := context.WithTimeout(ctx, restTimeout)
	defer cancel()
	token, err := r.token(ctx, address)
	if err != nil {
		return status{err: err}
	}
	var info struct{ Upstreams []server }
	if err := get(ctx, address, "/api/info", nil, token, &info); err != nil {
		return status{err: err}
	}
	s.servers = info.Upstreams
	if !history {
		return s
	}
	var audit struct{ Records []entry }
	if err := get(ctx, address, "/api/audit", url.Values{"limit": {strconv.Itoa(records)}}, token, &audit); err != nil {
		return status{err: err}
	}
	for _, e := range slices.Backward(audit.Records) {
		if e.Event == "decision" && (r.sessions == nil || slices.Contains(r.sessions, e.SessionID)) {
			s.records = append(s.records, e)
		}
	}
	return s
}

// token returns the credential that may watch, once whoever listens at address has proved that it holds it
// too: the process that the client is connected to may have ended meanwhile.
func (r *rest) token(ctx context.Context, address string) (string, error) {
	credentials, err := companion.OpenCredentials(r.dataDir)
	if err != nil {
		return "", err
	}
	token, err := credentials.Token(companion.CredentialView)
	if err != nil {
		return "", err
	}
	var random [32]byte
	rand.Read(random[:])
	nonce := hex.EncodeToString(random[:])
	var answer struct{ Proof string }
	query := url.Values{"credential": {string(companion.CredentialView)}, "nonce": {nonce}}
	if err := get(ctx, address, "/api/proof", query, "", &answer); err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte("callgate companion proof v1\x00" + nonce + "\x00" + address))
	if !hmac.Equal([]byte(answer.Proof), []byte(hex.EncodeToString(mac.Sum(nil)))) {
		return "", companion.ErrImpostor
	}
	return token, nil
}

// get reads the JSON at a path into v. It uses no proxy, for the address is on this machine, and follows no
// redirection, which could lead a credential elsewhere.
func get(ctx context.Context, address, path string, query url.Values, token string, v any) (err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path+"?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	client := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, response.Status)
	}
	return json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(v)
}
