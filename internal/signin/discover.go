package signin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"callgate/internal/loopback"
	"callgate/internal/remote"
)

// authority says where to get tokens for a server.
type authority struct {
	resource string   // the resource that tokens are for
	scopes   []string // scopes that the server lists
	at       *oauthex.AuthServerMeta
}

// find finds the authorization server of an MCP server, in the order prescribed by MCP.
func (a *Account) find(ctx context.Context, web *http.Client, c challenge) (*authority, error) {
	resource, err := a.resource(ctx, web, c)
	if err != nil {
		return nil, err
	}
	w := &authority{resource: a.server.URL}
	var issuer string
	if resource != nil {
		w.resource, w.scopes = resource.Resource, resource.ScopesSupported
		if len(resource.AuthorizationServers) == 0 {
			return nil, errors.New("the server's metadata names no authorization server")
		}
		issuer = resource.AuthorizationServers[0]
		if i := slices.IndexFunc(resource.AuthorizationServers, a.expected); i >= 0 {
			issuer = resource.AuthorizationServers[i]
		}
	} else if issuer, err = originOf(a.server.URL); err != nil { // up to 2025-03-26 the server was its own authorization server
		return nil, err
	}
	if !a.expected(issuer) {
		return nil, fmt.Errorf("the server sends the sign-in to %q, but oauth.issuer allows only %s: refused", issuer, a.server.Issuer)
	}
	if w.at, err = authorizationServer(ctx, web, issuer, resource == nil); err != nil {
		return nil, err
	}
	switch {
	case w.at == nil && resource == nil:
		w.at = &oauthex.AuthServerMeta{
			Issuer: issuer, AuthorizationEndpoint: issuer + "/authorize", TokenEndpoint: issuer + "/token", RegistrationEndpoint: issuer + "/register",
		}
	case w.at == nil:
		return nil, fmt.Errorf("the authorization server %s publishes no metadata", issuer)
	case a.server.Grant == Person && !slices.Contains(w.at.CodeChallengeMethodsSupported, "S256"):
		return nil, fmt.Errorf("the authorization server %s does not announce PKCE (S256), so signing in there is not safe", issuer)
	}
	return w, nil
}

// expected reports whether the configuration allows the authorization server with this issuer.
func (a *Account) expected(issuer string) bool {
	return a.server.Issuer == "" || sameIssuer(issuer, a.server.Issuer)
}

// sameIssuer compares issuers from configurations and documents. A trailing slash makes no difference.
func sameIssuer(a, b string) bool { return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/") }

// resource returns the server's metadata as a protected resource, or nil if it has none.
func (a *Account) resource(ctx context.Context, web *http.Client, c challenge) (*oauthex.ProtectedResourceMetadata, error) {
	u, err := url.Parse(a.server.URL)
	if err != nil {
		return nil, err
	}
	const wellKnown = "/.well-known/oauth-protected-resource"
	root := u.Scheme + "://" + u.Host + wellKnown
	places := []string{root}
	if path := strings.TrimSuffix(u.EscapedPath(), "/"); path != "" {
		places = []string{root + path, root}
	}
	if c.metadata != "" {
		places = []string{c.metadata}
	}
	for _, place := range places {
		found, err := fetch[oauthex.ProtectedResourceMetadata](ctx, web, place)
		switch {
		case err != nil:
			return nil, err
		case found == nil:
			continue
		case !covers(found.Resource, u):
			return nil, fmt.Errorf("the server's metadata is for another server, %q: callgate asks for no token for that one", found.Resource)
		}
		return found, nil
	}
	if c.metadata != "" {
		return nil, fmt.Errorf("there is no metadata at %s, the address that the server gave", c.metadata)
	}
	return nil, nil
}

// covers reports whether a resource is the server, its whole origin, or a path above it: several servers often share
// one authorization. A token for anything else could be for somebody else's server.
func covers(resource string, server *url.URL) bool {
	r, err := url.Parse(resource)
	if err != nil || r.Fragment != "" || r.User != nil || !strings.EqualFold(r.Scheme, server.Scheme) || !strings.EqualFold(r.Host, server.Host) {
		return false
	}
	above, path := strings.TrimSuffix(r.EscapedPath(), "/"), strings.TrimSuffix(server.EscapedPath(), "/")
	if above == path {
		return r.RawQuery == "" || r.RawQuery == server.RawQuery
	}
	return r.RawQuery == "" && strings.HasPrefix(path, above+"/")
}

// authorizationServer returns the metadata of an authorization server, or nil if it has none. If the MCP server is its
// own authorization server (itself), the metadata's issuer may be a path below its URL.
func authorizationServer(ctx context.Context, web *http.Client, issuer string, itself bool) (*oauthex.AuthServerMeta, error) {
	u, err := url.Parse(issuer)
	if err != nil || !loopback.Confidential(u) {
		return nil, fmt.Errorf("the server names %q as authorization server, which is not an https address", issuer)
	}
	root, path := u.Scheme+"://"+u.Host, strings.TrimSuffix(u.EscapedPath(), "/")
	places := []string{root + "/.well-known/oauth-authorization-server" + path, root + "/.well-known/openid-configuration" + path}
	if path != "" {
		places = append(places, root+path+"/.well-known/openid-configuration")
	}
	for _, place := range places {
		found, err := fetch[oauthex.AuthServerMeta](ctx, web, place)
		if err != nil {
			return nil, err
		}
		if found == nil {
			continue
		}
		if !sameIssuer(found.Issuer, issuer) && (!itself || !strings.HasPrefix(found.Issuer, issuer+"/")) {
			return nil, fmt.Errorf("the metadata at %s is for another authorization server, %q", place, found.Issuer)
		}
		for _, endpoint := range []string{found.AuthorizationEndpoint, found.TokenEndpoint, found.RegistrationEndpoint} {
			if u, err := url.Parse(endpoint); endpoint != "" && (err != nil || !loopback.Confidential(u)) {
				return nil, fmt.Errorf("the authorization server %s has %q among its addresses, which is not https", issuer, endpoint)
			}
		}
		if found.TokenEndpoint == "" {
			return nil, fmt.Errorf("the authorization server %s names no address for tokens", issuer)
		}
		return found, nil
	}
	return nil, nil
}

// fetch decodes the document at a URL. It returns nil if there is none.
func fetch[T any](ctx context.Context, web *http.Client, address string) (*T, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("MCP-Protocol-Version", "2025-11-25")
	response, err := web.Do(request)
	if err != nil {
		return nil, &remote.PassingError{Err: err}
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode/100 == 4 && !temporary(response.StatusCode):
		return nil, nil
	case response.StatusCode != http.StatusOK:
		return nil, &remote.PassingError{Err: fmt.Errorf("%s answers HTTP %d", address, response.StatusCode)}
	}
	var document T
	if err := json.NewDecoder(response.Body).Decode(&document); err != nil {
		return nil, fmt.Errorf("cannot read the metadata at %s: %w", address, err)
	}
	return &document, nil
}

// originOf returns the URL without its path.
func originOf(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	return u.Scheme + "://" + u.Host, nil
}
