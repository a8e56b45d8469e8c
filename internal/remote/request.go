package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"callgate/internal/budget"
	"callgate/internal/jsonx"
	"callgate/internal/rpc"
)

// post sends one message.
func (e *Endpoint) post(ctx context.Context, address string, m rpc.Message) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, newSentBody(m.Raw))
	if err != nil {
		return nil, err
	}
	request.ContentLength = int64(len(m.Raw))
	request.GetBody = func() (io.ReadCloser, error) { return newSentBody(m.Raw), nil }
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	e.mu.Lock()
	modern := e.modern()
	e.mu.Unlock()
	if modern {
		e.describe(request, m)
	}
	return e.do(e.clients.requests, request)
}

// get asks for an event stream.
func (e *Endpoint) get(ctx context.Context, address string, at position) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "text/event-stream")
	request.Header.Set("Cache-Control", "no-cache")
	if at.last != "" {
		request.Header.Set(mcp.HeaderLastEventID, at.last)
	}
	response, err := e.do(e.clients.listening, request)
	if err != nil {
		return nil, unreached(err)
	}
	return response, nil
}

// address sets the headers that every request has.
func (e *Endpoint) address(request *http.Request) {
	for name, values := range e.cfg.Header {
		request.Header[name] = values
	}
	if request.Header.Get("User-Agent") == "" {
		request.Header.Set("User-Agent", "callgate")
	}
	if host := e.cfg.Header.Get("Host"); host != "" {
		request.Host = host
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.version != "" {
		request.Header.Set(mcp.HeaderProtocolVersion, e.version)
	}
	if e.session != "" {
		request.Header.Set(mcp.HeaderSessionID, e.session)
	}
}

// do sends a request, with a credential where the server wants one. One that the server refuses may have ended
// early, or allow too little: the request, which was not run, is sent once more if there is another.
func (e *Endpoint) do(client *http.Client, request *http.Request) (*http.Response, error) {
	e.address(request)
	if e.cfg.Authorize == nil {
		return client.Do(request)
	}
	credential, err := e.credential(request.Context(), nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(authorized(request, credential))
	if err != nil {
		return nil, err
	}
	refused := refusal(response, credential)
	if refused == nil {
		return response, nil
	}
	next, err := e.credential(request.Context(), refused)
	if err == nil && (next == "" || next == credential) {
		return response, nil
	}
	discard(response.Body)
	response.Body.Close()
	if err != nil {
		return nil, err
	}
	if request.GetBody != nil {
		if request.Body, err = request.GetBody(); err != nil {
			return nil, err
		}
	}
	return client.Do(authorized(request, next))
}

// credential asks for what to send. Why there is none for the server is an AuthError; why there is none now, or
// for one request, is not.
func (e *Endpoint) credential(ctx context.Context, refused *Refusal) (string, error) {
	value, err := e.cfg.Authorize(ctx, refused)
	var passing *PassingError
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.As(err, &passing), err != nil && refused != nil && !refused.Unknown():
		return "", err
	case err != nil:
		return "", &AuthError{Err: err}
	}
	return value, nil
}

func authorized(request *http.Request, credential string) *http.Request {
	if credential != "" {
		request.Header.Set("Authorization", credential)
	}
	return request
}

// describe sets the headers by which the modern era repeats what a message is about.
func (e *Endpoint) describe(request *http.Request, m rpc.Message) {
	request.Header.Set(mcp.HeaderMethod, m.Method)
	named := map[string]string{
		"tools/call": "name", "prompts/get": "name", "resources/read": "uri",
		"tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId",
	}[m.Method]
	if named == "" || m.Params == nil {
		return
	}
	var member [1]jsonx.Member
	if jsonx.Members(m.Params, []string{named}, member[:]) != nil {
		return // the server will say what is wrong with it
	}
	if name, ok := jsonx.String(member[0].Value); ok {
		if value, ok := mcp.EncodeHeaderValue(name); ok {
			request.Header.Set(mcp.HeaderName, value)
		}
	}
	if m.Method == "tools/call" && e.cfg.Mirror != nil {
		for name, value := range e.cfg.Mirror(m) {
			request.Header.Set(name, value)
		}
	}
}

func contentType(response *http.Response) string {
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

// inSession reports whether the request was one of a session.
func inSession(request *http.Request) bool { return request.Header.Get(mcp.HeaderSessionID) != "" }

// readAll returns the whole body, if it is not longer than limit.
func (e *Endpoint) readAll(ctx context.Context, response *http.Response, limit int) ([]byte, error) {
	body := budget.Buffer{Budget: e.cfg.Budget, Done: ctx.Done(), Expect: int(min(max(response.ContentLength, 0), int64(limit))) + 1, Max: limit + 1}
	_, err := body.ReadFrom(io.LimitReader(response.Body, int64(limit)+1))
	switch full := (*budget.Error)(nil); {
	case errors.As(err, &full):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w (%w)", errNoAnswer, err)
	case body.Len() > limit:
		return nil, tooLong(limit)
	}
	return body.Bytes(), nil
}

// discard reads what is left of a body that nobody needs, so that its connection can be used again. A server
// that still has much to say, or says it slowly, loses the connection.
func discard(body io.Reader) {
	closer, ok := body.(io.Closer)
	if ok {
		timer := time.AfterFunc(time.Second, func() { closer.Close() })
		defer timer.Stop()
	}
	_, _ = io.CopyN(io.Discard, body, 16<<10)
}
