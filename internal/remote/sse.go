package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"callgate/internal/rpc"
)

// events is the stream of HTTP+SSE: everything that the server says comes on it, and first the address that
// takes what it is told.
type events struct {
	named   chan struct{} // closed when address is set
	address string
}

// openEvents begins to read the stream.
func (e *Endpoint) openEvents() {
	stream := &events{named: make(chan struct{})}
	e.mu.Lock()
	e.events = stream
	e.mu.Unlock()
	e.begin(func() {
		if err := e.readStream(stream); e.ctx.Err() == nil {
			e.fail(err)
		}
	})
}

func (e *Endpoint) readStream(stream *events) error {
	response, err := e.get(e.ctx, e.cfg.URL, position{})
	if err != nil {
		return e.unreached(err)
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusUnauthorized:
		return e.unauthorized(response)
	case response.StatusCode != http.StatusOK:
		return statusError(response)
	case contentType(response) != "text/event-stream":
		return fmt.Errorf("there is no MCP server at the address: it answers with %.60q", contentType(response))
	}
	var bad error
	var at position
	err = e.readEvents(e.ctx, response.Body, &at, func(ev event) bool {
		switch ev.name {
		case "endpoint":
			if stream.address == "" {
				bad = e.named(stream, string(ev.data))
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

// named takes the address for messages, which MUST be one of the same origin: the credentials go there.
func (e *Endpoint) named(stream *events, reference string) error {
	u, err := e.url.Parse(strings.TrimSpace(reference))
	if err != nil {
		return errors.New("the address that the server names for messages is none")
	}
	if origin(u) != origin(e.url) {
		return fmt.Errorf("the server names another origin for messages, %s: callgate sends nothing there", origin(u))
	}
	stream.address = u.String()
	close(stream.named)
	return nil
}

// eventsInUse reports whether the conversation is one of HTTP+SSE.
func (e *Endpoint) eventsInUse() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.events != nil
}

// messages waits for the address that takes messages.
func (e *Endpoint) messages(ctx context.Context) (string, error) {
	e.mu.Lock()
	stream := e.events
	e.mu.Unlock()
	select {
	case <-stream.named:
		return stream.address, nil
	case <-e.broken:
		return "", e.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// postToEvents sends a request whose answer comes on the stream.
func (e *Endpoint) postToEvents(ctx context.Context, m rpc.Message) error {
	address, err := e.messages(ctx)
	if err != nil {
		return err
	}
	response, err := e.post(ctx, address, m)
	if err != nil {
		return e.unreached(err)
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusUnauthorized:
		return e.unauthorized(response)
	case response.StatusCode/100 != 2:
		return e.refused(ctx, response, m)
	}
	discard(response.Body)
	return nil
}
