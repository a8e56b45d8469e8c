package signin

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
)

// Patience is how long a person may take to sign in.
const Patience = 5 * time.Minute

// ErrNotNeeded says that the server lets callgate in without a login.
var ErrNotNeeded = errors.New("the server asks for no login")

// SignIn has a person sign in with a browser: show gets the address to open. The answer comes to an address of this
// machine that exists until it has come. port is that address's, 0 for any.
func (a *Account) SignIn(ctx context.Context, port int, show func(address string) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, Patience, fmt.Errorf("nobody signed in within %v", Patience))
	defer cancel()
	challenge, err := a.knock(ctx)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	defer listener.Close()
	redirect := fmt.Sprintf("http://%s/callback", listener.Addr())

	h := a.handler(&login{ClientID: a.server.ClientID, ClientSecret: a.server.ClientSecret, Challenge: challenge}, redirect)
	metadata, err := h.GetServerMetadata(ctx)
	if err != nil {
		return fmt.Errorf("where to sign in cannot be found out: %w", brief(err))
	}
	if a.server.ClientID == "" {
		if err := h.RegisterClient(ctx, "callgate"); err != nil {
			return fmt.Errorf("callgate cannot register itself (%w): register a client with the redirect address http://127.0.0.1:PORT/callback, and configure oauth.clientId for the server", brief(err))
		}
	}
	verifier, err := transport.GenerateCodeVerifier()
	if err != nil {
		return err
	}
	state, err := transport.GenerateState()
	if err != nil {
		return err
	}
	address, err := h.GetAuthorizationURL(ctx, state, transport.GenerateCodeChallenge(verifier))
	if err != nil {
		return brief(err)
	}
	answers := make(chan answer, 1)
	web := &http.Server{Handler: callback(state, answers), ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = web.Serve(listener) }() // until Close
	defer func() {                          // the page that says how it went is still on its way
		end, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_ = web.Shutdown(end)
	}()
	if err := show(address); err != nil {
		return err
	}
	var got answer
	select {
	case got = <-answers:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	switch {
	case got.fault != "":
		return fmt.Errorf("the server did not let you in: %w", brief(errors.New(got.fault)))
	case got.issuer != "" && got.issuer != metadata.Issuer:
		return fmt.Errorf("the answer comes from %q, and %q was asked", got.issuer, metadata.Issuer)
	}
	return a.keep(ctx, h, metadata.TokenEndpoint, challenge, got.code, state, verifier)
}

// keep exchanges the code for a token at that address and writes the login.
func (a *Account) keep(ctx context.Context, h *transport.OAuthHandler, at string, challenge []string, code, state, verifier string) error {
	unlock, err := a.store.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	fresh := &login{
		URL: a.server.URL, ClientID: h.GetClientID(), ClientSecret: h.GetClientSecret(), AuthMethod: h.GetTokenEndpointAuthMethod(),
		Challenge: challenge, Issued: at, Token: &transport.Token{},
	}
	if err := a.store.save(fresh); err != nil { // SaveToken puts the token into it
		return err
	}
	if err := h.ProcessAuthorizationResponse(ctx, code, state, verifier); err != nil {
		return errors.Join(brief(err), os.Remove(a.store.path))
	}
	return nil
}

// knock asks the server without a login, and returns its refusal, which says where to sign in.
func (a *Account) knock(ctx context.Context) (challenge []string, err error) {
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"callgate","version":"1"}}}`
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.server.URL, strings.NewReader(hello))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	response, err := newClient(a.server.URL).Do(request)
	if err != nil {
		return nil, fmt.Errorf("the server cannot be reached: %w", brief(err))
	}
	response.Body.Close()
	switch {
	case response.StatusCode/100 == 2:
		return nil, ErrNotNeeded
	case response.StatusCode/100 == 5:
		return nil, fmt.Errorf("the server answers HTTP %d", response.StatusCode)
	}
	return response.Header.Values("WWW-Authenticate"), nil
}

// answer is what the browser brings back.
type answer struct {
	code, issuer, fault string
}

// callback takes the one answer that has the state. Whatever else comes is turned away.
func callback(state string, answers chan<- answer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		w.Header().Set("Referrer-Policy", "no-referrer")
		q := r.URL.Query()
		if r.Method != http.MethodGet || r.URL.Path != "/callback" || q.Get("state") != state {
			http.Error(w, "callgate waits for the answer to a sign-in, and this is none.", http.StatusBadRequest)
			return
		}
		got := answer{code: q.Get("code"), issuer: q.Get("iss")}
		if got.code == "" {
			got.fault = strings.TrimSpace(q.Get("error") + " " + q.Get("error_description"))
			if got.fault == "" {
				got.fault = "it sent no code"
			}
		}
		select {
		case answers <- got:
		default:
			http.Error(w, "The answer came already.", http.StatusConflict)
			return
		}
		text := "You are signed in. You can close this page and go back to the terminal."
		if got.fault != "" {
			text = "You are not signed in: " + got.fault
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!doctype html><title>callgate</title><p>%s", html.EscapeString(text))
	})
}
