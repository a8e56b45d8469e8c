// Package remote talks to one MCP server at a URL, over Streamable HTTP or the older HTTP+SSE.
//
// It passes messages on byte for byte, except line ends between tokens. Everything that the server sends is hostile
// input, and can harm only its own endpoint.
package remote

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"callgate/internal/budget"
	"callgate/internal/jsonx"
	"callgate/internal/pool"
	"callgate/internal/rpc"
)

// Transport is how to speak to a server behind a URL.
type Transport uint8

const (
	Detect     Transport = iota // Streamable HTTP, or HTTP+SSE if the server refuses that
	Streamable                  // one address for everything
	SSE                         // an event stream that names the address for messages
)

// Config says which server to talk to. It MUST have passed Check.
type Config struct {
	URL       string
	Transport Transport
	Header    http.Header // sent with every request, but never to another origin than the URL's

	// Authorize returns the value of the Authorization header for one request, or "". refused is what the server has
	// just answered to that request, or nil before the first try. Authorize is nil if the header is in Header.
	Authorize func(ctx context.Context, refused *Refusal) (string, error)

	// Mirror returns the headers that repeat arguments of a tools/call in the modern era; may be nil.
	Mirror func(call rpc.Message) map[string]string

	MaxMessage int            // bytes of one message; 0 means 64 MiB
	Budget     *budget.Budget // of messages in flight; nil means no bound
	Logger     *slog.Logger
}

const defaultMaxMessage = 64 << 20

// Check returns what is wrong with the address, or nil.
func (c *Config) Check() error {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil:
		return errors.Unwrap(err) // without the address, which may hold a secret
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("it is not an address that begins with http:// or https://")
	case u.User != nil:
		return errors.New("it has a password: use a header, as in \"Authorization: Basic ${…}\"")
	}
	return nil
}

// Endpoint is one conversation with the server, from its handshake to its end. It serves as the io.Writer of an
// rpc.Conn without a reader.
type Endpoint struct {
	cfg  Config
	url  *url.URL
	log  *slog.Logger
	http requester

	ctx     context.Context // of everything that is sent and read
	cancel  context.CancelFunc
	stop    chan struct{} // closed by Close
	stopped sync.Once
	ended   chan struct{} // closed when Run has returned

	started    chan struct{} // closed when Run has set everything
	conn       *rpc.Conn
	handle     Handler
	delivering sync.Mutex // held during a delivery: the connection takes one message at a time

	mu       sync.Mutex
	over     bool // nothing new may begin
	work     *pool.Pool
	running  map[string]context.CancelFunc // cancel requests, by id
	requests sync.WaitGroup
	notes    int // notifications and answers being sent

	broken chan struct{} // closed when err is set
	err    error

	events *events // for HTTP+SSE; nil for Streamable HTTP
}

// New returns an endpoint that has sent nothing yet. The caller MUST Run it before it can Close it.
func New(cfg Config) (*Endpoint, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil {
		return nil, err
	}
	if cfg.MaxMessage <= 0 {
		cfg.MaxMessage = defaultMaxMessage
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	e := &Endpoint{
		cfg: cfg, url: u, log: cfg.Logger,
		stop: make(chan struct{}), ended: make(chan struct{}), started: make(chan struct{}), broken: make(chan struct{}),
		running: map[string]context.CancelFunc{}, work: pool.New(),
	}
	e.http.cfg = &e.cfg
	e.ctx, e.cancel = context.WithCancel(context.Background())
	return e, nil
}

// Handler gets the server's messages that answer nothing. of is the id of the request on whose stream a message came,
// or nil if it came on none.
type Handler func(m rpc.Message, of []byte)

// Run delivers what the server sends to conn, and to handle what conn does not take, until the conversation is over. It
// returns nil if Close ended it. It returns when nothing of the endpoint is running.
func (e *Endpoint) Run(conn *rpc.Conn, handle Handler) error {
	defer close(e.ended)
	e.conn, e.handle, e.http.clients = conn, handle, reach(e.cfg.URL)
	defer release(e.cfg.URL)
	if e.cfg.Transport == SSE {
		e.openEvents()
	}
	close(e.started)
	select {
	case <-e.stop:
		e.leave()
	case <-e.broken:
	}
	e.mu.Lock()
	e.over = true
	e.mu.Unlock()
	e.cancel()
	e.requests.Wait()
	e.work.Wait()
	conn.Abandon()
	if e.isBroken() {
		return e.err
	}
	return nil
}

// Close ends the conversation and, within the time that leave allows, the session at the server. It waits for Run.
func (e *Endpoint) Close() {
	e.stopped.Do(func() { close(e.stop) })
	<-e.ended
}

// Speak sets the revision of MCP for what is sent from now on; "" means before the handshake.
func (e *Endpoint) Speak(version string) { e.http.speak(version) }

// Sessionless reports whether the server speaks Streamable HTTP without a session. It is valid once the server has
// answered the handshake.
func (e *Endpoint) Sessionless() bool {
	return e.stream() == nil && e.http.sessionID() == ""
}

// fail ends the conversation with err, unless it has an error already.
func (e *Endpoint) fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-e.broken:
	default:
		e.err = err
		close(e.broken)
	}
}

func (e *Endpoint) isBroken() bool {
	select {
	case <-e.broken:
		return true
	default:
		return false
	}
}

// begin runs f in the background. It returns false if the conversation is over.
func (e *Endpoint) begin(f func()) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		return false
	}
	e.work.Run(e.ctx, f)
	return true
}

// deliver passes on a message of the server. of is the id of the request on whose stream it came, or nil.
func (e *Endpoint) deliver(message, of []byte) {
	select {
	case <-e.started:
	case <-e.ctx.Done():
		return
	}
	e.delivering.Lock()
	defer e.delivering.Unlock()
	e.conn.Deliver(oneLine(message), func(m rpc.Message) { e.handle(m, of) })
}

// oneLine replaces line ends, which JSON has only between tokens. It changes the text in place.
func oneLine(text []byte) []byte {
	text = bytes.TrimSpace(text)
	for _, end := range []byte("\r\n") {
		for rest := text; ; {
			i := bytes.IndexByte(rest, end)
			if i < 0 {
				break
			}
			rest[i], rest = ' ', rest[i+1:]
		}
	}
	return text
}

// Limits of messages that are sent beside requests.
const (
	maxNotes  = 64               // being sent at once
	noteLimit = 30 * time.Second // for each

	probeLimit = time.Minute // for the question about the server's era
)

// Write sends a message of one line that is not a request. It does not wait for the server, except after
// notifications/initialized. The server must have that before anything else comes, and callgate waits for it to open
// its own stream.
func (e *Endpoint) Write(line []byte) (int, error) {
	m, err := rpc.Parse(bytes.Clone(bytes.TrimSpace(line)))
	if err != nil {
		return 0, fmt.Errorf("not sent: %w", err)
	}
	switch m.Method {
	case "notifications/initialized":
		if err = e.note(m); err == nil && e.streamable() {
			e.listen()
		}
	case "notifications/cancelled":
		e.cancelled(m)
	default:
		e.send(m)
	}
	if err != nil {
		return 0, err
	}
	return len(line), nil
}

// Exchange implements rpc.Exchanger. It delivers the answer, or why there is none.
func (e *Endpoint) Exchange(request []byte) (func(context.Context), error) {
	m, err := rpc.Composed(request)
	if err != nil {
		return nil, fmt.Errorf("not sent: %w", err)
	}
	return func(waiting context.Context) { e.request(waiting, m) }, nil
}

// request sends a request and delivers its answer. Work that need not come before the answer continues in the
// background.
func (e *Endpoint) request(waiting context.Context, m rpc.Message) {
	var ctx context.Context
	var cancel context.CancelFunc
	if m.Method == "server/discover" { // nobody may wait for it any more
		ctx, cancel = context.WithTimeout(e.ctx, probeLimit)
	} else {
		ctx, cancel = context.WithCancel(e.ctx)
	}
	if !e.enter(m.ID, cancel) {
		cancel()
		e.conn.Fail(m.ID, rpc.ErrClosed)
		return
	}
	abandoned := context.AfterFunc(waiting, cancel)
	rest, err := e.exchange(ctx, m)
	end := func(err error) {
		if errors.Is(err, ErrNotRun) || err != nil && ctx.Err() == nil && !e.isBroken() {
			e.conn.Fail(m.ID, err) // a caller of another request hears why the conversation is over
		}
		cancel()
		e.exit(m.ID)
	}
	switch waits := abandoned(); {
	case rest == nil:
		end(err)
	case !waits || !e.begin(func() { end(rest()) }):
		end(rest())
	}
}

// enter registers a request. It returns false if the conversation is over.
func (e *Endpoint) enter(id []byte, cancel context.CancelFunc) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		return false
	}
	e.requests.Add(1)
	e.running[string(id)] = cancel
	return true
}

func (e *Endpoint) exit(id []byte) {
	e.mu.Lock()
	delete(e.running, string(id))
	e.mu.Unlock()
	e.requests.Done()
}

// send sends a notification or an answer in the background.
func (e *Endpoint) send(m rpc.Message) {
	e.mu.Lock()
	full := e.notes >= maxNotes
	if !full {
		e.notes++
	}
	e.mu.Unlock()
	if full {
		e.log.Warn("message for the server dropped: too many are on their way", "method", m.Method)
		return
	}
	done := func() {
		e.mu.Lock()
		e.notes--
		e.mu.Unlock()
	}
	begun := e.begin(func() {
		defer done()
		if err := e.note(m); err != nil && e.ctx.Err() == nil {
			e.log.Warn("message for the server not taken", "method", m.Method, "error", err)
		}
	})
	if !begun {
		done()
	}
}

// cancelled tells the server that nobody waits for a request any more, and stops waiting. In the modern era the end of
// the stream tells it.
func (e *Endpoint) cancelled(m rpc.Message) {
	var id [1]jsonx.Member
	if m.Params == nil || jsonx.Members(m.Params, []string{"requestId"}, id[:]) != nil {
		return
	}
	e.mu.Lock()
	cancel := e.running[string(id[0].Value)]
	e.mu.Unlock()
	switch modern := e.http.modern(); {
	case modern && cancel != nil:
		cancel()
	case !modern:
		e.begin(func() {
			if cancel != nil {
				defer cancel()
			}
			if err := e.note(m); err != nil && e.ctx.Err() == nil {
				e.log.Debug("the cancellation was not taken", "error", err)
			}
		})
	}
}

// streamable reports whether the server speaks Streamable HTTP with sessions.
func (e *Endpoint) streamable() bool { return e.stream() == nil && !e.http.modern() }
