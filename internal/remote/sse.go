package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"callgate/internal/rpc"
)

// events is the stream of HTTP+SSE. It carries everything that the server says, starting with the address for messages
// to the server.
type events struct {
	e       *Endpoint
	named   chan struct{} // closed when address is set
	address string
}

// openEvents begins to read the stream.
func (e *Endpoint) openEvents() {
	stream := &events{e: e, named: make(chan struct{})}
	e.mu.Lock()
	e.events = stream
	e.mu.Unlock()
	e.begin(func() {
		if err := stream.read(); e.ctx.Err() == nil {
			e.fail(err)
		}
	})
}

func (s *events) read() error {
	e := s.e
	response, err := e.http.get(e.ctx, e.cfg.URL, position{})
	if err != nil {
		return e.unreached(err)
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusUnauthorized:
		return e.unauthorized()
	case response.StatusCode != http.StatusOK:
		return statusError(response)
	case contentType(response) != "text/event-stream":
		return fmt.Errorf("there is no MCP server at the address: it answers with %.60q", contentType(response))
	}
	var bad error
	var at position
	err = e.http.readEvents(e.ctx, response.Body, &at, func(ev event) bool {
		switch ev.name {
		case "endpoint":
			if s.address == "" {
				bad = s.name(string(ev.data))
			}
		case "", "message":
			e.deliver(ev.data, nil)
		}
		return bad == nil
	})
	switch {
	case bad != nil:
		return bad
	case err != nil:
		return fmt.Errorf("the event stream was cut off: %w", err)
	}
	return errors.New("the server ended the event stream")
}

// name sets the address for messages, which MUST have the same origin, because the credentials go there.
func (s *events) name(reference string) error {
	base := s.e.url
	u, err := base.Parse(strings.TrimSpace(reference))
	if err != nil {
		return errors.New("the address that the server names for messages is not an address")
	}
	if origin(u) != origin(base) {
		return fmt.Errorf("the server names another origin for messages, %s: callgate sends nothing there", origin(u))
	}
	s.address = u.String()
	close(s.named)
	return nil
}

// stream returns the stream of an HTTP+SSE conversation, or nil.
func (e *Endpoint) stream() *events {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.events
}

// messages waits for the address for messages.
func (s *events) messages(ctx context.Context) (string, error) {
	select {
	case <-s.named:
		return s.address, nil
	case <-s.e.broken:
		return "", s.e.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// post sends a request whose answer comes on the stream.
func (s *events) post(ctx context.Context, m rpc.Message) error {
	e := s.e
	address, err := s.messages(ctx)
	if err != nil {
		return err
	}
	response, err := e.http.post(ctx, address, m)
	if err != nil {
		return e.unreached(err)
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusUnauthorized:
		return e.unauthorized()
	case response.StatusCode/100 != 2:
		return e.refused(ctx, response, m)
	}
	discard(response.Body)
	return nil
}
