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

// Ask makes one REST request with t.Credential: body is sent as JSON unless it is nil, and the answer read into
// answer unless that is nil. The other side proves itself before it is shown the credential. What it refuses is a
// *RequestError. path begins with / and may bring a query.
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
		_ = json.Unmarshal(data, &refused) // who answers with something else has said nothing more than the status
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

// AskAt is Ask at another address than t.Address.
func (t Target) AskAt(ctx context.Context, address, method, path string, body, answer any) error {
	t.Address = address
	return t.Ask(ctx, method, path, body, answer)
}
