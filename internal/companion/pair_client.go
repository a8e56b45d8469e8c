package companion

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// PageURL returns the address of the page with a code in its fragment that gives the page t.Credential, once,
// within a minute. t.Client.Name is what the audit trail will call the person. The other side has to prove
// that it is callgate before it is shown the approve credential, which is the one that mints codes.
//
// The address is a secret as long as the code works: it MUST NOT be logged.
func PageURL(ctx context.Context, t Target) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	address, token, err := t.prove(ctx, CredentialApprove)
	if err != nil {
		return "", err
	}
	want := t.Credential
	if want.Person() != "" {
		if _, err := (&Credentials{dir: credentialsDir(t.DataDir)}).Token(want); err != nil {
			return "", fmt.Errorf("%w: %s", ErrNoCredential, want)
		}
	}
	if want == "" {
		want = CredentialApprove
	}
	body, err := encode(pairRequest{Credential: want, Name: t.Client.Name})
	if err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/api/pair", bytes.NewReader(body))
	if err != nil {
		return "", fmt.Errorf("companion address %q: %w", address, err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	response, err := direct.Do(request)
	if err != nil {
		return "", fmt.Errorf("%w at %s: %w", ErrUnreachable, address, err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, maxPrivate))
	if err != nil {
		return "", fmt.Errorf("%w at %s: %w", ErrUnreachable, address, err)
	}
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusForbidden:
		return "", ErrUnauthorized
	default:
		return "", fmt.Errorf("%w: it has no page to pair with (%s)", ErrVersion, response.Status)
	}
	var minted pairCode
	if err := json.Unmarshal(data, &minted); err != nil || minted.Code == "" {
		return "", fmt.Errorf("%w: its pairing code cannot be read", ErrVersion)
	}
	return "http://" + address + "/#pair=" + minted.Code, nil
}
