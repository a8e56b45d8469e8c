package signin

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
)

// wanted returns what the server says about signing in: now, to a request without a login, and earlier, when it refused
// callgate's login. The current answer wins, but missing scopes from the earlier one are added.
func (a *Account) wanted(ctx context.Context) (challenge, error) {
	now, shut, err := a.probe(ctx)
	if err != nil {
		return challenge{}, err
	}
	headers, demanded, err := a.store.demanded()
	switch {
	case err != nil:
		return challenge{}, err
	case !shut && !demanded && a.server.Grant == Person:
		return challenge{}, ErrNotNeeded
	}
	c, before := read(now), read(headers)
	c.metadata = cmp.Or(c.metadata, before.metadata)
	if before.fault == "insufficient_scope" {
		c.fault, c.scopes = before.fault, union(c.scopes, before.scopes)
	} else if len(c.scopes) == 0 {
		c.scopes = before.scopes
	}
	return c, nil
}

// hello holds the first messages of a session. Some servers accept everybody at first, and ask for a login only when
// something is requested.
var hello = []string{
	`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"callgate","version":"1"}}}`,
	`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
	`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
}

// probe sends hello without a login and returns the challenge in the refusal. shut is false if callgate gets in.
func (a *Account) probe(ctx context.Context) (refusal []string, shut bool, err error) {
	session, web := "", a.web()
	for i, message := range hello {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.server.URL, strings.NewReader(message))
		if err != nil {
			return nil, false, err
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json, text/event-stream")
		if i > 0 {
			request.Header.Set("MCP-Protocol-Version", "2025-11-25")
		}
		if session != "" {
			request.Header.Set("Mcp-Session-Id", session)
		}
		response, err := web.Do(request)
		if err != nil {
			return nil, false, fmt.Errorf("the server cannot be reached: %w", brief(err))
		}
		response.Body.Close()
		switch {
		case response.StatusCode == http.StatusUnauthorized:
			return response.Header.Values("WWW-Authenticate"), true, nil
		case response.StatusCode/100 == 5:
			return nil, false, fmt.Errorf("the server answers HTTP %d", response.StatusCode)
		case response.StatusCode/100 == 4: // the server may not allow such requests from anybody, or not without a login
			return response.Header.Values("WWW-Authenticate"), i == 0, nil
		}
		if i == 0 {
			session = response.Header.Get("Mcp-Session-Id")
		}
	}
	return nil, false, nil
}
