package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
)

// Ask makes one REST request with t.Credential ("" means approve). It sends body as JSON unless body is nil, and
// decodes the response into answer unless answer is nil. path begins with / and may have a query. The other side proves
// itself before it sees the credential. A refusal is a *wire.RequestError.
func (t Target) Ask(ctx context.Context, method, path string, body, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	address, token, err := t.prove(ctx, cmp.Or(t.Credential, credentials.Approve))
	if err != nil {
		return err
	}
	var sent []byte
	if body != nil {
		if sent, err = wire.Encode(body); err != nil {
			return err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, urlOf(address)+path, bytes.NewReader(sent))
	if err != nil {
		return fmt.Errorf("companion address %q: %w", address, err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	if t.Client.Kind != "" {
		request.Header.Set(wire.ClientHeader, t.Client.Kind+":"+url.PathEscape(t.Client.Name))
	}
	response, err := t.direct().Do(request)
	if err != nil {
		return unreachable(address, err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, MaxServer))
	if err != nil {
		return unreachable(address, err)
	}
	if response.StatusCode != http.StatusOK {
		var refused struct {
			Error wire.RestError `json:"error"`
		}
		_ = json.Unmarshal(data, &refused) // if the body is something else, only the status is known
		if err := t.exposed(); err != nil && response.StatusCode == http.StatusUnauthorized {
			return err
		}
		return &wire.RequestError{Status: response.StatusCode, Code: refused.Error.Code, Message: refused.Error.Message}
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(data, answer); err != nil {
		return fmt.Errorf("%w: its answer to %s %s cannot be read", wire.ErrVersion, method, path)
	}
	return nil
}

// AskAt is Ask at the given address instead of t.Address.
func (t Target) AskAt(ctx context.Context, address, method, path string, body, answer any) error {
	t.Address = address
	return t.Ask(ctx, method, path, body, answer)
}
