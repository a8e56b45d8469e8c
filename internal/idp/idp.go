// Package idp lets people sign in at an OpenID Connect provider. It returns who they are, and what their groups allow
// them to do.
package idp

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"
)

// Options describes the provider, and callgate's registration there.
type Options struct {
	Issuer, ClientID string
	Secret           func() (string, error) // returns the secret of a confidential client; nil for a public client
	Scopes           []string               // in addition to openid
	NameClaim        string                 // claim with the person's name; "" means email, which the provider must have verified
	GroupsClaim      string                 // "" means groups
	Approvers        []string               // groups whose members may approve
	Viewers          []string               // groups whose members may only watch
	TenantsClaim     string                 // claim with the tenants that a person sees; "" without tenants
	Operators        []string               // groups whose members see all tenants
	Client           *http.Client           // nil means a client with a timeout of 20 seconds
}

// Provider may be used by many goroutines at once. It fetches the provider's metadata on first use.
type Provider struct {
	o        Options
	fetching singleflight.Group

	mu      sync.Mutex
	known   *oidc.Provider
	pending map[string]attempt // by state
}

// attempt is a sign-in in progress.
type attempt struct {
	nonce, verifier, redirect string
	expires                   time.Time
}

// Person is a person who has signed in.
type Person struct {
	Name    string
	Subject string   // the account's id at the provider; its name can change
	Approve bool     // if false, they may only watch
	Tenants []string // the tenants that they see; empty means all
}

// ErrNoTenant refuses people who belong to no tenant and may not see all.
var ErrNoTenant = errors.New("your account names no tenant here, and is in no group of operators")

// ErrNoRole refuses people whose groups allow them nothing.
var ErrNoRole = errors.New("none of your groups may watch or approve here")

const (
	attemptLife = 10 * time.Minute
	maxAttempts = 100 // beyond this, the oldest is dropped
	patience    = 20 * time.Second
)

// algorithms lists the accepted signature algorithms: only those with which nobody but the provider can sign.
var algorithms = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA}

// New returns a Provider. It makes no requests.
func New(o Options) *Provider {
	o.GroupsClaim = cmp.Or(o.GroupsClaim, "groups")
	o.Client = cmp.Or(o.Client, &http.Client{Timeout: patience})
	return &Provider{o: o, pending: map[string]attempt{}}
}

// Issuer returns the URL of the provider.
func (p *Provider) Issuer() string { return p.o.Issuer }

// provider returns the provider's metadata. All who need it at once wait for one request.
func (p *Provider) provider() (*oidc.Provider, error) {
	p.mu.Lock()
	known := p.known
	p.mu.Unlock()
	if known != nil {
		return known, nil
	}
	fetched, err, _ := p.fetching.Do("", func() (any, error) {
		// The keys are fetched again when a token names an unknown one, so this context must outlive the request.
		return oidc.NewProvider(oidc.ClientContext(context.Background(), p.o.Client), p.o.Issuer)
	})
	if err != nil {
		return nil, fmt.Errorf("the sign-in provider: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = fetched.(*oidc.Provider)
	return p.known, nil
}

func (p *Provider) client(known *oidc.Provider, redirect string) (*oauth2.Config, error) {
	c := &oauth2.Config{ClientID: p.o.ClientID, Endpoint: known.Endpoint(), RedirectURL: redirect, Scopes: append([]string{oidc.ScopeOpenID}, p.o.Scopes...)}
	if p.o.Secret != nil {
		secret, err := p.o.Secret()
		if err != nil {
			return nil, err
		}
		c.ClientSecret = secret
	}
	return c, nil
}

// Begin returns where to send the person's browser, and the state that comes back with it. redirect is the address at
// which callgate takes the browser back.
func (p *Provider) Begin(redirect string) (location, state string, err error) {
	known, err := p.provider()
	if err != nil {
		return "", "", err
	}
	c, err := p.client(known, redirect)
	if err != nil {
		return "", "", err
	}
	a := attempt{nonce: rand.Text(), verifier: oauth2.GenerateVerifier(), redirect: redirect, expires: time.Now().Add(attemptLife)}
	state = rand.Text()
	p.mu.Lock()
	defer p.mu.Unlock()
	for s, old := range p.pending {
		if time.Now().After(old.expires) {
			delete(p.pending, s)
		}
	}
	if len(p.pending) >= maxAttempts {
		oldest := ""
		for s, old := range p.pending {
			if oldest == "" || old.expires.Before(p.pending[oldest].expires) {
				oldest = s
			}
		}
		delete(p.pending, oldest)
	}
	p.pending[state] = a
	return c.AuthCodeURL(state, oidc.Nonce(a.nonce), oauth2.S256ChallengeOption(a.verifier)), state, nil
}

// Finish takes the state and code from the browser and returns the person. A state can be used once.
func (p *Provider) Finish(ctx context.Context, redirect, state, code string) (Person, error) {
	p.mu.Lock()
	a, ok := p.pending[state]
	delete(p.pending, state)
	p.mu.Unlock()
	if !ok || time.Now().After(a.expires) || a.redirect != redirect {
		return Person{}, errors.New("this sign-in did not begin here, or is too old: sign in again")
	}
	known, err := p.provider()
	if err != nil {
		return Person{}, err
	}
	c, err := p.client(known, redirect)
	if err != nil {
		return Person{}, err
	}
	ctx = oidc.ClientContext(ctx, p.o.Client)
	token, err := c.Exchange(ctx, code, oauth2.VerifierOption(a.verifier))
	if err != nil {
		return Person{}, fmt.Errorf("the provider refused the sign-in: %w", err)
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return Person{}, errors.New("the provider sent no ID token")
	}
	id, err := known.Verifier(&oidc.Config{ClientID: p.o.ClientID, SupportedSigningAlgs: algorithms}).Verify(ctx, raw)
	if err != nil {
		return Person{}, fmt.Errorf("the ID token: %w", err)
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(a.nonce)) != 1 {
		return Person{}, errors.New("the ID token is for another sign-in")
	}
	var claims map[string]any
	if err := id.Claims(&claims); err != nil {
		return Person{}, fmt.Errorf("the ID token: %w", err)
	}
	person, err := p.person(claims)
	person.Subject = id.Subject
	return person, err
}

// person reads the person and their rights from the claims.
func (p *Provider) person(claims map[string]any) (Person, error) {
	claim := cmp.Or(p.o.NameClaim, "email")
	name, _ := claims[claim].(string)
	switch {
	case name == "":
		return Person{}, fmt.Errorf("the ID token has no %s: set approvers.oidc.nameClaim, or ask for it with approvers.oidc.scopes", claim)
	case claim == "email" && claims["email_verified"] != true:
		return Person{}, errors.New("the provider has not verified the email address")
	}
	groups, err := texts(claims[p.o.GroupsClaim])
	if err != nil {
		return Person{}, fmt.Errorf("the ID token: %s: %w", p.o.GroupsClaim, err)
	}
	in := func(g string) bool { return slices.Contains(groups, g) }
	who := Person{Name: name, Approve: slices.ContainsFunc(p.o.Approvers, in)}
	if !who.Approve && !slices.ContainsFunc(p.o.Viewers, in) {
		return Person{}, ErrNoRole
	}
	if p.o.TenantsClaim == "" || slices.ContainsFunc(p.o.Operators, in) {
		return who, nil
	}
	if who.Tenants, err = texts(claims[p.o.TenantsClaim]); err != nil {
		return Person{}, fmt.Errorf("the ID token: %s: %w", p.o.TenantsClaim, err)
	}
	if len(who.Tenants) == 0 {
		return Person{}, ErrNoTenant
	}
	return who, nil
}

// texts converts a claim that is a text or a list of texts.
func texts(claim any) (all []string, err error) {
	switch list := claim.(type) {
	case nil:
	case string:
		all = []string{list}
	case []any:
		for _, one := range list {
			text, ok := one.(string)
			if !ok {
				return nil, errors.New("it is not a list of texts")
			}
			all = append(all, text)
		}
	default:
		return nil, errors.New("it is neither text nor a list of texts")
	}
	return all, nil
}
