package signin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

// Patience is how long a person may take to sign in.
const Patience = 5 * time.Minute

// ErrNotNeeded means that the server lets callgate in without a login.
var ErrNotNeeded = errors.New("the server asks for no login")

// SignIn signs callgate in. If a person is needed, show gets the URL that they must open in a browser. The answer comes
// to a temporary address on this machine. port is its port; 0 means any.
func (a *Account) SignIn(ctx context.Context, port int, show func(address string) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, Patience, fmt.Errorf("nobody signed in within %v", Patience))
	defer cancel()
	c, err := a.wanted(ctx)
	if err != nil {
		return err
	}
	before, err := a.store.load()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var next *login
	if a.server.Grant == Person {
		next, err = a.ask(ctx, c, before, port, show)
	} else {
		next, err = a.introduce(ctx, c, before)
	}
	if err != nil {
		return err
	}
	unlock, err := a.store.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return errors.Join(a.store.save(next), a.store.dropDemand())
}

// ask has a person sign in with a browser.
func (a *Account) ask(ctx context.Context, c challenge, before *login, port int, show func(address string) error) (*login, error) {
	where, err := a.find(ctx, a.web(), c)
	if err != nil {
		return nil, fmt.Errorf("cannot find out where to sign in: %w", brief(err))
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	redirect := fmt.Sprintf("http://%s/callback", listener.Addr())
	l := &login{
		URL: a.server.URL, Resource: where.resource, Issuer: where.at.Issuer, TokenEndpoint: where.at.TokenEndpoint,
		Scopes: a.scopes(where, c, before),
	}
	const stay = "offline_access" // OpenID Connect's scope for refresh tokens
	if slices.Contains(where.at.ScopesSupported, stay) {
		l.Scopes = union(l.Scopes, []string{stay})
	}
	if l.Client, err = a.identify(ctx, a.web(), where.at, redirect); err != nil {
		return nil, err
	}
	flow := oauth2.Config{ClientID: l.Client.ID, RedirectURL: redirect, Scopes: l.Scopes, Endpoint: oauth2.Endpoint{AuthURL: where.at.AuthorizationEndpoint}}
	state, verifier := oauth2.GenerateVerifier(), oauth2.GenerateVerifier()
	address := flow.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("resource", l.Resource))

	got, err := converse(ctx, listener, state, func() error { return show(address) })
	switch {
	case err != nil:
		return nil, err
	case got.issuer == "" && where.at.AuthorizationResponseIssParameterSupported:
		return nil, fmt.Errorf("the answer does not name its issuer, but answers of %s do", l.Issuer)
	case got.issuer != "" && got.issuer != l.Issuer: // compared exactly, as in RFC 9207
		return nil, fmt.Errorf("the answer comes from %q, but %q was asked", got.issuer, l.Issuer)
	case got.fault != "":
		return nil, fmt.Errorf("the server did not let you in: %s", excerpt(got.fault))
	}
	l.Token, err = a.request(ctx, l, map[string]string{
		"grant_type": "authorization_code", "code": got.code, "redirect_uri": redirect, "code_verifier": verifier, "resource": l.Resource,
	})
	if err != nil {
		return nil, fmt.Errorf("the authorization server %s gives no token: %w", l.Issuer, err)
	}
	return l, nil
}

// converse calls show and waits for the answer that the browser brings back.
func converse(ctx context.Context, listener net.Listener, state string, show func() error) (answer, error) {
	answers := make(chan answer, 1)
	web := &http.Server{Handler: callback(state, answers), ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = web.Serve(listener) }() // ends with Shutdown
	defer func() {                          // the final page may still be on its way
		end, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_ = web.Shutdown(end)
	}()
	if err := show(); err != nil {
		return answer{}, err
	}
	select {
	case got := <-answers:
		return got, nil
	case <-ctx.Done():
		return answer{}, context.Cause(ctx)
	}
}

// answer is what the browser brings back from the authorization server.
type answer struct {
	code, issuer, fault string
}

// callback accepts one answer with the right state and refuses all others.
func callback(state string, answers chan<- answer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		w.Header().Set("Referrer-Policy", "no-referrer")
		q := r.URL.Query()
		if r.Method != http.MethodGet || r.URL.Path != "/callback" || q.Get("state") != state {
			http.Error(w, "callgate waits for the answer to a sign-in. This is not one.", http.StatusBadRequest)
			return
		}
		got := answer{code: q.Get("code"), issuer: q.Get("iss")}
		if got.code == "" {
			got.fault = strings.TrimSpace(q.Get("error") + " " + q.Get("error_description"))
			got.fault = cmp.Or(got.fault, "it sent no code")
		}
		select {
		case answers <- got:
		default:
			http.Error(w, "callgate already has the answer.", http.StatusConflict)
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
