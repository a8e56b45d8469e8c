package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"callgate/internal/jsonx"
	"callgate/internal/outbound"
	"callgate/internal/rpc"
)

// exchange sends a request and delivers its answer. The error says why there is none. If rest is not nil, the answer
// comes on an event stream: the caller MUST call rest, which delivers what comes there.
func (e *Endpoint) exchange(ctx context.Context, m rpc.Message) (rest func() error, err error) {
	select {
	case <-e.started:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if stream := e.stream(); stream != nil {
		return func() error { return stream.post(ctx, m) }, nil
	}
	response, err := e.http.post(ctx, e.cfg.URL, m)
	if err != nil {
		return nil, e.unreached(err)
	}
	kind := contentType(response)
	if kind == "text/event-stream" && response.StatusCode/100 == 2 {
		e.http.learnSession(response, m)
		return func() error { return e.follow(ctx, response.Body, m) }, nil
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusUnauthorized:
		return nil, e.unauthorized()
	case response.StatusCode == http.StatusNotFound && inSession(response.Request):
		return nil, e.endConversation()
	case response.StatusCode/100 == 4 && m.Method == "initialize" && e.cfg.Transport == Detect:
		e.log.Info("the server does not speak Streamable HTTP: trying HTTP+SSE", "status", response.StatusCode)
		e.openEvents()
		return func() error { return e.stream().post(ctx, m) }, nil
	case response.StatusCode/100 != 2:
		return nil, e.refused(ctx, response, m)
	case kind == "application/json":
		e.http.learnSession(response, m)
		return nil, e.whole(ctx, response, m)
	}
	return nil, fmt.Errorf("the server's answer is neither JSON nor an event stream but %.60q (HTTP %d)", kind, response.StatusCode)
}

// note sends a message that expects no answer.
func (e *Endpoint) note(m rpc.Message) error {
	ctx, cancel := context.WithTimeout(e.ctx, noteLimit)
	defer cancel()
	address := e.cfg.URL
	if stream := e.stream(); stream != nil {
		var err error
		if address, err = stream.messages(ctx); err != nil {
			return err
		}
	}
	response, err := e.http.post(ctx, address, m)
	if err != nil {
		return e.unreached(err)
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusUnauthorized:
		return e.unauthorized()
	case response.StatusCode == http.StatusNotFound && inSession(response.Request):
		return e.endConversation()
	case response.StatusCode/100 != 2:
		return statusError(response)
	}
	discard(response.Body)
	return nil
}

// unreached returns why no answer came. If nobody listens at the address, it ends the conversation.
func (e *Endpoint) unreached(err error) error {
	var auth *AuthError
	err = outbound.WithoutAddress(err)
	switch {
	case errors.As(err, &auth):
		e.fail(err)
	case refusedDial(err):
		err = fmt.Errorf("the server cannot be reached: %w", err)
		e.fail(err)
	default:
		err = fmt.Errorf("the request failed: %w", err)
	}
	return err
}

func (e *Endpoint) unauthorized() error {
	err := &AuthError{}
	e.fail(err)
	return err
}

// endConversation ends the conversation after the server refused a request because of its session, and returns
// ErrNotRun.
func (e *Endpoint) endConversation() error {
	e.fail(ErrSessionLost)
	return ErrNotRun
}

// refused delivers the JSON-RPC error in a response without a success status, or returns an error with the status.
func (e *Endpoint) refused(ctx context.Context, response *http.Response, m rpc.Message) error {
	if contentType(response) != "application/json" {
		return statusError(response)
	}
	body, err := e.http.readAll(ctx, response, 1<<20)
	if err != nil {
		return &StatusError{Code: response.StatusCode}
	}
	answer, err := rpc.Parse(oneLine(body))
	if err != nil || answer.Error == nil {
		return &StatusError{Code: response.StatusCode, Body: excerpt(body)}
	}
	if response.StatusCode == http.StatusBadRequest && inSession(response.Request) && unknownSession(answer.Error) {
		return e.endConversation()
	}
	e.deliver(answer.WithID(m.ID), m.ID) // servers that could not read the request do not repeat its id
	return &StatusError{Code: response.StatusCode}
}

// unknownSession reports whether an error is the one with which servers that do not answer 404 say that they have
// restarted.
func unknownSession(fault []byte) bool {
	var m [2]jsonx.Member
	if jsonx.Members(fault, []string{"code", "message"}, m[:]) != nil {
		return false
	}
	text, _ := jsonx.String(m[1].Value)
	return string(m[0].Value) == "-32000" && strings.Contains(strings.ToLower(text), "session")
}

// whole delivers an answer that fills the body.
func (e *Endpoint) whole(ctx context.Context, response *http.Response, m rpc.Message) error {
	message, err := e.http.readAll(ctx, response, e.cfg.MaxMessage)
	if err != nil {
		return err
	}
	e.deliver(message, m.ID)
	if len(message) > 0 && message[0] == '[' {
		return &rpc.UnreadableError{Err: errors.New("it is a batch, which nobody asked for")}
	}
	return &rpc.UnreadableError{Err: errors.New("it does not answer the request")} // ignored if it was the answer
}
