package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"callgate/internal/budget"
	"callgate/internal/jsonx"
	"callgate/internal/outbound"
	"callgate/internal/rpc"
)

// requester makes the HTTP requests of one conversation.
type requester struct {
	cfg     *Config
	clients *clients // set by Run

	mu      sync.Mutex
	version string // of MCP; "" before the handshake
	session string
	drafted *draft // the last draft
}

// modern reports whether the conversation is in the modern era, without a session.
func (r *requester) modern() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return mcp.IsModernProtocol(r.version)
}

// speak sets the revision of MCP for what is sent from now on; "" means before the handshake.
func (r *requester) speak(version string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.version = version
}

// sessionID returns the id of the session at the server, or "".
func (r *requester) sessionID() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.session
}

// draft is the part of a request with a message that is the same for all messages to an address. It is immutable.
type draft struct {
	address, version, session string
	request                   *http.Request
}

// draft returns the request to copy for a message sent now.
func (r *requester) draft(address string) (*http.Request, error) {
	r.mu.Lock()
	d := r.drafted
	if d != nil && d.address == address && d.version == r.version && d.session == r.session {
		r.mu.Unlock()
		return d.request, nil
	}
	d = &draft{address: address, version: r.version, session: r.session}
	r.mu.Unlock()
	var err error
	if d.request, err = http.NewRequest(http.MethodPost, address, nil); err != nil {
		return nil, err
	}
	d.request.Header.Set("Content-Type", "application/json")
	d.request.Header.Set("Accept", "application/json, text/event-stream")
	r.address(d.request, d.version, d.session)
	r.mu.Lock()
	r.drafted = d
	r.mu.Unlock()
	return d.request, nil
}

// post sends one message.
func (r *requester) post(ctx context.Context, address string, m rpc.Message) (*http.Response, error) {
	draft, err := r.draft(address)
	if err != nil {
		return nil, err
	}
	request := draft.WithContext(ctx)
	request.Body, request.ContentLength = newSentBody(m.Raw), int64(len(m.Raw))
	request.GetBody = func() (io.ReadCloser, error) { return newSentBody(m.Raw), nil }
	if mcp.IsModernProtocol(draft.Header.Get(mcp.HeaderProtocolVersion)) {
		if m, err = rpc.Parse(m.Raw); err != nil { // the headers repeat params
			return nil, err
		}
		request.Header = request.Header.Clone()
		r.setModernHeaders(request, m)
	}
	return r.do(r.clients.requests, request)
}

// get asks for an event stream.
func (r *requester) get(ctx context.Context, address string, at position) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "text/event-stream")
	request.Header.Set("Cache-Control", "no-cache")
	if at.last != "" {
		request.Header.Set(mcp.HeaderLastEventID, at.last)
	}
	response, err := r.do(r.clients.listening, r.addressed(request))
	if err != nil {
		return nil, outbound.WithoutAddress(err)
	}
	return response, nil
}

// addressed returns the request with the headers that all requests have now.
func (r *requester) addressed(request *http.Request) *http.Request {
	r.mu.Lock()
	version, session := r.version, r.session
	r.mu.Unlock()
	r.address(request, version, session)
	return request
}

// address sets the headers that every request has.
func (r *requester) address(request *http.Request, version, session string) {
	maps.Copy(request.Header, r.cfg.Header)
	if request.Header.Get("User-Agent") == "" {
		request.Header.Set("User-Agent", "callgate")
	}
	if host := r.cfg.Header.Get("Host"); host != "" {
		request.Host = host
	}
	if version != "" {
		request.Header.Set(mcp.HeaderProtocolVersion, version)
	}
	if session != "" {
		request.Header.Set(mcp.HeaderSessionID, session)
	}
}

// do sends a request, with a credential if the server requires one. A refused credential may have ended early, or may
// allow too little. The request was not run, so it is sent once more if there is another credential.
func (r *requester) do(client *http.Client, request *http.Request) (*http.Response, error) {
	if r.cfg.Authorize == nil {
		return roundTrip(client, request)
	}
	credential, err := r.credential(request.Context(), nil)
	if err != nil {
		return nil, err
	}
	response, err := roundTrip(client, authorized(request, credential))
	if err != nil {
		return nil, err
	}
	refused := refusal(response, credential)
	if refused == nil {
		return response, nil
	}
	next, err := r.credential(request.Context(), refused)
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
	return roundTrip(client, authorized(request, next))
}

// roundTrip sends a request as client.Do does. client.Do also copies every header in case of a redirect, which
// roundTrip does only if there is one.
func roundTrip(client *http.Client, request *http.Request) (*http.Response, error) {
	response, err := client.Transport.RoundTrip(request)
	if err != nil || response.StatusCode/100 != 3 {
		return response, err
	}
	led := *client
	led.Transport = &answered{RoundTripper: client.Transport, first: response}
	return led.Do(request)
}

// answered is a transport that already has the answer to its first request.
type answered struct {
	http.RoundTripper
	first *http.Response
}

func (a *answered) RoundTrip(request *http.Request) (*http.Response, error) {
	if first := a.first; first != nil {
		a.first = nil
		return first, nil
	}
	return a.RoundTripper.RoundTrip(request)
}

// credential returns the credential to send. The error is an *AuthError if there is none for the server. It is not if
// there is none at the moment, or none for this request.
func (r *requester) credential(ctx context.Context, refused *Refusal) (string, error) {
	value, err := r.cfg.Authorize(ctx, refused)
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
		request.Header = request.Header.Clone() // it may be a draft's
		request.Header.Set("Authorization", credential)
	}
	return request
}

// setModernHeaders sets the headers in which the modern era repeats what a message is about.
func (r *requester) setModernHeaders(request *http.Request, m rpc.Message) {
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
	if m.Method == "tools/call" && r.cfg.Mirror != nil {
		for name, value := range r.cfg.Mirror(m) {
			request.Header.Set(name, value)
		}
	}
}

func contentType(response *http.Response) string {
	if said := response.Header.Get("Content-Type"); said == "application/json" || said == "text/event-stream" {
		return said
	}
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

// inSession reports whether the request belonged to a session.
func inSession(request *http.Request) bool { return request.Header.Get(mcp.HeaderSessionID) != "" }

// readAll returns the whole body, or an error if it is longer than limit.
func (r *requester) readAll(ctx context.Context, response *http.Response, limit int) ([]byte, error) {
	body := budget.Buffer{Budget: r.cfg.Budget, Done: ctx.Done(), Expect: int(min(max(response.ContentLength, 0), int64(limit))) + 1, Max: limit + 1}
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

// discard reads the rest of a body that nobody needs, so that its connection can be used again. If the server has much
// more to send, or sends it slowly, the connection is closed.
func discard(body io.Reader) {
	closer, ok := body.(io.Closer)
	if ok {
		timer := time.AfterFunc(time.Second, func() { closer.Close() })
		defer timer.Stop()
	}
	_, _ = io.CopyN(io.Discard, body, 16<<10)
}

// learnSession stores the session that the answer to initialize begins.
func (r *requester) learnSession(response *http.Response, m rpc.Message) {
	if m.Method != "initialize" {
		return
	}
	id := response.Header.Get(mcp.HeaderSessionID)
	if len(id) > 4<<10 || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) {
		r.cfg.Logger.Warn("the server's session id is not one: ignored")
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.session = id
}

// readEvents reads events of this conversation.
func (r *requester) readEvents(ctx context.Context, body io.Reader, p *position, yield func(event) bool) error {
	return readEvents(body, r.cfg.MaxMessage, budget.Buffer{Budget: r.cfg.Budget, Done: ctx.Done()}, p, yield)
}
