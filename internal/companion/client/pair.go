package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"

	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
)

// atHost is the page's address on this machine by the name of a host, which passkeys need. One over TLS has a name.
func atHost(page, host string) string {
	u, err := url.Parse(page)
	if err != nil || u.Scheme != "http" {
		return page
	}
	u.Host = net.JoinHostPort(host, u.Port())
	return u.String()
}

// PageURL returns the address of the page with a code in its fragment that gives the page t.Credential, once,
// within a minute. t.Client.Name is what the audit trail will call the person. The other side has to prove
// that it is callgate before it is shown the approve credential, which is the one that mints codes.
//
// The address is a secret as long as the code works: it MUST NOT be logged.
func PageURL(ctx context.Context, t Target) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	want := cmp.Or(t.Credential, credentials.Approve)
	if t.Credential = credentials.Approve; want.Role() == credentials.Approve {
		t.Credential = want
	}
	address, _, err := t.prove(ctx, t.Credential)
	if err != nil {
		return "", err
	}
	if want.Person() != "" {
		if _, err := credentials.At(t.DataDir).Token(want); errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("%w: %s", wire.ErrNoCredential, want)
		} else if err != nil {
			return "", err
		}
	}
	t.Address = address // the code is good there and nowhere else
	var minted wire.PairCode
	err = t.Ask(ctx, http.MethodPost, "/api/pair", wire.PairRequest{Credential: string(want), Name: t.Client.Name}, &minted)
	var refused *wire.RequestError
	switch {
	case errors.As(err, &refused) && (refused.Status == http.StatusUnauthorized || refused.Status == http.StatusForbidden):
		return "", wire.ErrUnauthorized
	case errors.As(err, &refused):
		return "", fmt.Errorf("%w: it has no page to pair with (%d)", wire.ErrVersion, refused.Status)
	case err != nil:
		return "", err
	case minted.Code == "":
		return "", fmt.Errorf("%w: its pairing code cannot be read", wire.ErrVersion)
	}
	page := urlOf(address) + "/#pair=" + minted.Code
	if minted.Host != "" {
		page = atHost(page, minted.Host)
	}
	return page, nil
}
