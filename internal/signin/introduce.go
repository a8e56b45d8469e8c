package signin

import (
	"context"
	"fmt"
	"strings"

	"callgate/internal/durable"
)

// maxSecret bounds the files with a workload's token or a key, in bytes.
const maxSecret = 64 << 10

// introduce gets a token without a person. callgate proves its identity to the authorization server that the server
// names. before is the earlier login, or nil.
func (a *Account) introduce(ctx context.Context, c challenge, before *login) (*login, error) {
	where, err := a.find(ctx, a.web(), c)
	if err != nil {
		return nil, fmt.Errorf("cannot find out where to sign in: %w", brief(err))
	}
	l := &login{
		URL: a.server.URL, Resource: where.resource, Issuer: where.at.Issuer, TokenEndpoint: where.at.TokenEndpoint,
		Scopes: a.scopes(where, c, before),
	}
	if l.Client, err = a.identify(ctx, a.web(), where.at, ""); err != nil {
		return nil, err
	}
	return a.withNewToken(ctx, l)
}

// withNewToken returns the login with a new token.
func (a *Account) withNewToken(ctx context.Context, l *login) (*login, error) {
	params := map[string]string{"grant_type": "client_credentials", "resource": l.Resource, "scope": strings.Join(l.Scopes, " ")}
	if a.server.Grant == Workload {
		text, err := durable.ReadFile(a.server.Assertion, maxSecret)
		if err != nil {
			return nil, fmt.Errorf("oauth.assertion: %w", err)
		}
		params["grant_type"], params["assertion"] = "urn:ietf:params:oauth:grant-type:jwt-bearer", strings.TrimSpace(string(text))
	}
	token, err := a.request(ctx, l, params)
	if err != nil {
		return nil, fmt.Errorf("the authorization server %s gives callgate no token: %w", l.Issuer, err)
	}
	next := *l
	next.Token = token
	return &next, nil
}

// reusable reports whether the login belongs to the configured client, at an allowed authorization server.
func (a *Account) reusable(l *login) bool {
	return l != nil && l.Client.ID == a.server.ClientID && l.TokenEndpoint != "" && a.expected(l.Issuer)
}

// scopes returns the scopes to ask for: the configured ones, or else those that the server wants, or else all that it
// lists. Missing scopes that the server has demanded are added. Without configured scopes, the earlier login's scopes
// are kept too.
func (a *Account) scopes(where *authority, c challenge, before *login) []string {
	scopes := a.server.Scopes
	if len(scopes) == 0 {
		scopes = c.scopes
	}
	if len(scopes) == 0 {
		scopes = where.scopes
	}
	if c.fault == "insufficient_scope" {
		scopes = union(scopes, c.scopes)
	}
	if before != nil && len(a.server.Scopes) == 0 && sameIssuer(before.Issuer, where.at.Issuer) {
		scopes = union(before.Scopes, scopes)
	}
	return union(scopes)
}
