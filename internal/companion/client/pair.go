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

// atHost replaces the host in the page's http address, because passkeys need a name. An https address already has one.
func atHost(page, host string) string {
	u, err := url.Parse(page)
	if err != nil || u.Scheme != "http" {
		return page
	}
	u.Host = net.JoinHostPort(host, u.Port())
	return u.String()
}

// PageURL returns the address of the page with a code in its fragment. The page can exchange the code for t.Credential,
// once, within a minute. t.Client.Name becomes the person's name in the audit trail. The other side MUST prove that it
// is callgate before it sees the approve credential, which mints the codes.
//
// The address is a secret while the code is valid: it MUST NOT be logged.
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
	t.Address = address // the code is valid only there
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
