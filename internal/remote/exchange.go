package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
)

// ErrSessionLost says that the server does not know the session any more: the conversation is over.
var ErrSessionLost = errors.New("the server has ended the session")

// ErrNotRun is what a request hears that was refused because of that: it may be sent again in another session.
var ErrNotRun = errors.New("the server has ended the session, and did not run the request")

// AuthError says that the server wants to know who calls.
type AuthError struct {
	Challenge string // the WWW-Authenticate header
	Err       error  // why there is no credential; nil when the server refused one, or none was there
}

func (e *AuthError) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return "it wants to know who calls (HTTP 401)"
}

func (e *AuthError) Unwrap() error { return e.Err }

// StatusError is an answer that is none of MCP.
type StatusError struct {
	Code int
	Body string // its beginning
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("the server answers HTTP %d %s", e.Code, http.StatusText(e.Code))
	if e.Body != "" {
		text += ": " + e.Body
	}
	return text
}

// errNoAnswer is for requests whose stream ended too early.
var errNoAnswer = errors.New("the connection ended before the answer; the server may have done it or not")

// exchange sends a request and delivers what comes for it. An error says why there is no answer.
func (e *Endpoint) exchange(ctx context.Context, m rpc.Message) error {
	select {
	case <-e.started:
	case <-ctx.Done():
		return ctx.Err()
	}
	if e.eventsInUse() {
		return e.postToEvents(ctx, m)
	}
	response, err := e.post(ctx, e.cfg.URL, m)
	if err != nil {
		return e.unreached(err)
	}
	defer response.Body.Close()
	switch kind := contentType(response); {
	case response.StatusCode == http.StatusUnauthorized:
		return e.unauthorized(response)
	case response.StatusCode == http.StatusNotFound && inSession(response.Request):
		return e.lost()
	case response.StatusCode/100 == 4 && m.Method == "initialize" && e.cfg.Transport == Detect:
		e.log.Info("the server does not speak Streamable HTTP: trying HTTP+SSE", "status", response.StatusCode)
		e.openEvents()
		return e.postToEvents(ctx, m)
	case response.StatusCode/100 != 2:
		return e.refused(response, m)
	case kind == "text/event-stream":
		e.learnSession(response, m)
		return e.follow(ctx, response.Body, m)
	case kind == "application/json":
		e.learnSession(response, m)
		return e.whole(response.Body, m)
	}
	return fmt.Errorf("the server's answer is neither JSON nor an event stream but %.60q (HTTP %d)", contentType(response), response.StatusCode)
}

// post sends one message.
func (e *Endpoint) post(ctx context.Context, address string, m rpc.Message) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(m.Raw))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	e.mu.Lock()
	modern := e.modern()
	e.mu.Unlock()
	if modern {
		e.describe(request, m)
	}
	return e.do(request)
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
// early: the request, which was not run, is sent once more if there is another.
func (e *Endpoint) do(request *http.Request) (*http.Response, error) {
	e.address(request)
	if e.cfg.Authorize == nil {
		return e.client.Do(request)
	}
	credential, err := e.credential(request.Context(), "")
	if err != nil {
		return nil, err
	}
	response, err := e.client.Do(authorized(request, credential))
	if err != nil || response.StatusCode != http.StatusUnauthorized || credential == "" {
		return response, err
	}
	next, err := e.credential(request.Context(), credential)
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
	return e.client.Do(authorized(request, next))
}

func (e *Endpoint) credential(ctx context.Context, refused string) (string, error) {
	value, err := e.cfg.Authorize(ctx, refused)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
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
	named := map[string]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}[m.Method]
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

// note sends a message that has no answer.
func (e *Endpoint) note(m rpc.Message) error {
	ctx, cancel := context.WithTimeout(e.ctx, noteLimit)
	defer cancel()
	address := e.cfg.URL
	if e.eventsInUse() {
		var err error
		if address, err = e.messages(ctx); err != nil {
			return err
		}
	}
	response, err := e.post(ctx, address, m)
	if err != nil {
		return e.unreached(err)
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusUnauthorized:
		return e.unauthorized(response)
	case response.StatusCode == http.StatusNotFound && inSession(response.Request):
		return e.lost()
	case response.StatusCode/100 != 2:
		return statusError(response)
	}
	discard(response.Body)
	return nil
}

// unreached words why nothing was answered. Where nobody is there, the conversation is over.
func (e *Endpoint) unreached(err error) error {
	var auth *AuthError
	err = unreached(err)
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

func (e *Endpoint) unauthorized(response *http.Response) error {
	err := &AuthError{Challenge: response.Header.Get("WWW-Authenticate")}
	e.fail(err)
	return err
}

// inSession reports whether the request was one of a session.
func inSession(request *http.Request) bool { return request.Header.Get(mcp.HeaderSessionID) != "" }

// lost ends the conversation, for a request that the server refused because of its session.
func (e *Endpoint) lost() error {
	e.fail(ErrSessionLost)
	return ErrNotRun
}

// learnSession keeps the session that the answer to initialize begins.
func (e *Endpoint) learnSession(response *http.Response, m rpc.Message) {
	if m.Method != "initialize" {
		return
	}
	id := response.Header.Get(mcp.HeaderSessionID)
	if len(id) > 4<<10 || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) {
		e.log.Warn("the server's session id is not one: ignored")
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.session = id
}

// refused delivers the JSON-RPC error that came with another status than success, or returns the status.
func (e *Endpoint) refused(response *http.Response, m rpc.Message) error {
	if contentType(response) != "application/json" {
		return statusError(response)
	}
	body, err := readAll(response.Body, 1<<20)
	if err != nil {
		return &StatusError{Code: response.StatusCode}
	}
	answer, err := rpc.Parse(oneLine(body))
	if err != nil || answer.Error == nil {
		return &StatusError{Code: response.StatusCode, Body: excerpt(body)}
	}
	if response.StatusCode == http.StatusBadRequest && inSession(response.Request) && unknownSession(answer.Error) {
		return e.lost()
	}
	e.deliver(answer.WithID(m.ID), m.ID) // servers that could not read the request do not repeat its id
	return &StatusError{Code: response.StatusCode}
}

// unknownSession recognizes the error with which servers that do not answer 404 say that they have restarted.
func unknownSession(fault []byte) bool {
	var m [2]jsonx.Member
	if jsonx.Members(fault, []string{"code", "message"}, m[:]) != nil {
		return false
	}
	text, _ := jsonx.String(m[1].Value)
	return string(m[0].Value) == "-32000" && strings.Contains(strings.ToLower(text), "session")
}

// whole delivers an answer that is the whole body.
func (e *Endpoint) whole(body io.Reader, m rpc.Message) error {
	message, err := readAll(body, e.cfg.MaxMessage)
	if err != nil {
		return err
	}
	e.deliver(message, m.ID)
	if len(message) > 0 && message[0] == '[' {
		return &rpc.UnreadableError{Err: errors.New("it is a batch, which nobody asked for")}
	}
	return &rpc.UnreadableError{Err: errors.New("it does not answer the request")} // nobody hears it if it does
}

// follow delivers the events of a request's stream until its answer is among them, and takes the stream up
// again where it was cut off, if the server numbers its events.
func (e *Endpoint) follow(ctx context.Context, body io.ReadCloser, m rpc.Message) error {
	var at position
	for failures := 0; ; {
		before := at.last
		err := readEvents(body, e.cfg.MaxMessage, &at, func(ev event) bool {
			if ev.name == "" || ev.name == "message" {
				e.deliver(ev.data, m.ID)
			}
			return e.conn.Waiting(m.ID)
		})
		if !e.conn.Waiting(m.ID) {
			discard(body)
			body.Close()
			return nil
		}
		body.Close()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errTooLong): // it would come again
			return err
		case at.last == "" || !e.streamable():
			return errNoAnswer
		case at.last != before:
			failures = 0
		}
		if body, failures, err = e.resume(ctx, at, failures); err != nil {
			return err
		}
	}
}

// resume asks for the rest of a stream until it comes, the server says that there is none, or it was asked for
// too often since the last event.
func (e *Endpoint) resume(ctx context.Context, at position, failures int) (io.ReadCloser, int, error) {
	for failures < maxResumptions {
		failures++
		if !sleep(ctx, resumeAfter(at, failures)) {
			return nil, failures, ctx.Err()
		}
		body, again, err := e.rest(ctx, at)
		if err == nil {
			return body, failures, nil
		}
		if !again {
			return nil, failures, fmt.Errorf("%w (%w)", errNoAnswer, err)
		}
	}
	return nil, failures, errNoAnswer
}

// maxResumptions bounds how often a stream is asked for again that brings nothing new.
const maxResumptions = 6

func resumeAfter(at position, failures int) time.Duration {
	if at.retry > 0 && failures == 1 {
		return at.retry
	}
	return min(max(at.retry, 100*time.Millisecond)<<min(failures-1, 10), maxRetry)
}

// rest asks for the rest of a stream. again says that it may be asked for once more.
func (e *Endpoint) rest(ctx context.Context, at position) (body io.ReadCloser, again bool, err error) {
	response, err := e.get(ctx, e.cfg.URL, at)
	if err != nil {
		return nil, true, err
	}
	switch {
	case response.StatusCode == http.StatusOK && contentType(response) == "text/event-stream":
		return response.Body, false, nil
	case response.StatusCode == http.StatusNotFound && inSession(response.Request):
		e.fail(ErrSessionLost)
		err = ErrSessionLost // the request itself was run
	case response.StatusCode == http.StatusUnauthorized:
		err = e.unauthorized(response)
	}
	response.Body.Close()
	if err == nil {
		err = &StatusError{Code: response.StatusCode}
	}
	return nil, response.StatusCode >= 500, err
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
	response, err := e.do(request)
	if err != nil {
		return nil, unreached(err)
	}
	return response, nil
}

func contentType(response *http.Response) string {
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

func statusError(response *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(response.Body, 600)) // what cannot be read does not explain anything
	return &StatusError{Code: response.StatusCode, Body: excerpt(body)}
}

// readAll returns the whole text, if it is not longer than limit.
func readAll(r io.Reader, limit int) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w (%w)", errNoAnswer, err)
	case len(text) > limit:
		return nil, tooLong(limit)
	}
	return text, nil
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

// excerpt is the beginning of text of the server, on one line and without control characters.
func excerpt(text []byte) string {
	s := strings.ToValidUTF8(string(text[:min(len(text), 300)]), "\uFFFD")
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x200b && r <= 0x200f || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return ' '
		}
		return r
	}, s)), " ")
}

// sleep waits for d; false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
