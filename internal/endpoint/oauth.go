package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"callgate/internal/outbound"
)

// OAuthConfig makes callgate a protected resource of an authorization server (RFC 9728).
type OAuthConfig struct {
	Issuer   string // of the tokens, as a URL
	Audience string // the audience that tokens must name: this server's address as hosts know it
	JWKS     string // address of the issuer's keys; "" means that in the issuer's metadata
	Scope    string // what a token must grant; may be ""
	Tenants  string // the claim that names tenants; may be ""
}

// OAuth admits hosts with a JSON Web Token that the issuer signed for this server. It never passes tokens on.
type OAuth struct {
	o        OAuthConfig
	verifier *oidc.IDTokenVerifier
}

// algorithms lists the accepted signatures: those that only the issuer can make.
var algorithms = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA}

// NewOAuth returns the door for tokens of the issuer. It asks the issuer for its metadata, unless JWKS is given.
func NewOAuth(ctx context.Context, o OAuthConfig) (*OAuth, error) {
	for key, address := range map[string]string{"oauth.issuer": o.Issuer, "oauth.jwks": o.JWKS} {
		if _, err := outbound.Parse(address); err != nil && (address != "" || key == "oauth.issuer") {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	if u, err := url.Parse(o.Audience); err != nil || u.Host == "" {
		return nil, fmt.Errorf("oauth.audience: %q: use the address of callgate as hosts know it, such as https://tools.example.com:7778/mcp", o.Audience)
	}
	// The client outlives ctx, because the keys are fetched again when a token names an unknown one.
	background := oidc.ClientContext(context.Background(), &http.Client{Timeout: 10 * time.Second, Transport: &sparing{next: http.DefaultTransport, last: map[string]reply{}}})
	keys := oidc.KeySet(nil)
	if o.JWKS != "" {
		keys = oidc.NewRemoteKeySet(background, o.JWKS)
	}
	config := &oidc.Config{ClientID: o.Audience, SupportedSigningAlgs: algorithms, SkipExpiryCheck: true} // readClaims checks the times
	if keys != nil {
		return &OAuth{o: o, verifier: oidc.NewVerifier(o.Issuer, keys, config)}, nil
	}
	provider, err := oidc.NewProvider(background, o.Issuer)
	if err != nil {
		if _, unreachable := errors.AsType[*url.Error](err); unreachable {
			return nil, fmt.Errorf("oauth.issuer: it cannot be reached: %w", err)
		}
		return nil, fmt.Errorf("oauth.issuer: %w; give the place of its keys with oauth.jwks if it publishes no metadata", err)
	}
	return &OAuth{o: o, verifier: provider.VerifierContext(background, config)}, ctx.Err()
}

// Admit verifies signature, issuer, audience and times of the token, and what it grants.
func (a *OAuth) Admit(r *http.Request) (who Guest, err error) {
	raw, err := bearer(r)
	if err != nil {
		return who, err
	}
	if _, err := a.verifier.Verify(r.Context(), raw); err != nil { // only the signature; the claims are read below
		return who, err
	}
	token, err := readClaims(raw, a.o.Tenants, time.Now())
	switch {
	case err != nil:
		return who, err
	case token.issuer != a.o.Issuer:
		return who, errors.New("the token is another issuer's")
	case !slices.Contains(token.audience, a.o.Audience):
		return who, errors.New("the token is for another server")
	case token.subject == "":
		return who, errors.New("the token names no subject")
	case a.o.Scope != "" && !slices.Contains(token.scopes, a.o.Scope):
		return who, &scopeError{a.o.Scope}
	}
	return Guest{Principal: Principal(token.issuer + " " + token.subject), Tenants: token.tenants, until: token.until}, nil
}

// scopeError is returned for a valid token that does not grant enough.
type scopeError struct{ scope string }

func (e *scopeError) Error() string { return fmt.Sprintf("the token does not grant %q", e.scope) }

const metadataPath = "/.well-known/oauth-protected-resource"

// challenge directs the host to the metadata.
func (a *OAuth) challenge(r *http.Request, why error) string {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	challenge := fmt.Sprintf(`Bearer resource_metadata="%s://%s%s%s"`, scheme, r.Host, metadataPath, r.URL.EscapedPath())
	if _, narrow := errors.AsType[*scopeError](why); narrow {
		challenge += `, error="insufficient_scope"`
	} else if r.Header.Get("Authorization") != "" {
		challenge += `, error="invalid_token"`
	}
	if a.o.Scope != "" {
		challenge += fmt.Sprintf(`, scope="%s"`, a.o.Scope)
	}
	return challenge
}

// routes publishes the metadata, at the root and, as RFC 9728 requires, below the path of each resource.
func (a *OAuth) routes(mux *http.ServeMux) {
	metadata := map[string]any{
		"resource": a.o.Audience, "authorization_servers": []string{a.o.Issuer},
		"bearer_methods_supported": []string{"header"}, "resource_name": "callgate",
	}
	if a.o.Scope != "" {
		metadata["scopes_supported"] = []string{a.o.Scope}
	}
	text, err := json.Marshal(metadata)
	if err != nil {
		panic(err) // cannot happen: strings and lists of strings
	}
	publish := func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, text) }
	mux.HandleFunc("GET "+metadataPath, publish)
	mux.HandleFunc("GET "+metadataPath+"/{path...}", publish)
}

func (a *OAuth) knows(who Principal, _ string) bool {
	return strings.HasPrefix(string(who), a.o.Issuer+" ")
}

func (a *OAuth) holding() func(Guest) bool {
	now := time.Now()
	return func(who Guest) bool { return a.knows(who.Principal, "") && now.Before(who.until) }
}

func (*OAuth) secrets() map[Principal]secretSum { return nil }
func (*OAuth) open() bool                       { return false }
