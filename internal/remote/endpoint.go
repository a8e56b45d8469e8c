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

// Transport is how a server behind a URL is spoken to.
type Transport uint8

const (
	Detect     Transport = iota // Streamable HTTP, or HTTP+SSE where the server refuses that
	Streamable                  // one address for everything
	SSE                         // an event stream that names the address for messages
)

// Config says which server. Config MUST have passed Check.
type Config struct {
	URL       string
	Transport Transport
	Header    http.Header // sent with every request, to no other origin than the URL's

	// Authorize returns the value of the Authorization header for one request, "" for none. refused is what the server
	// has just said to that request; nil before it was sent. Nil for servers whose header is in Header.
	Authorize func(ctx context.Context, refused *Refusal) (string, error)

	// Mirror returns the headers that repeat arguments of a tools/call in the modern era; nil for none.
	Mirror func(call rpc.Message) map[string]string

	MaxMessage int            // bytes of one message; 0 means 64 MiB
	Budget     *budget.Budget // of messages in flight; nil has no bound
	Logger     *slog.Logger
}

const defaultMaxMessage = 64 << 20

// Check reports what is wrong with the address.
func (c *Config) Check() error {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil:
		return errors.Unwrap(err) // the address may hold a secret
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("it is not an address that begins with http:// or https://")
	case u.User != nil:
		return errors.New("it has a password: use a header, as in \"Authorization: Basic ${…}\"")
	}
	return nil
}

// Endpoint is one conversation with the server, from its handshake to its end. It is an io.Writer for an rpc.Conn
// without a reader.
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

	started    chan struct{} // closed when what Run sets is set
	conn       *rpc.Conn
	handle     Handler
	delivering sync.Mutex // the connection takes one message at a time

	mu       sync.Mutex
	over     bool // nothing new begins
	work     *pool.Pool
	running  map[string]context.CancelFunc // requests by id
	requests sync.WaitGroup
	notes    int // notifications and answers that are on their way

	broken chan struct{} // closed when err is set
	err    error

	events *events // of HTTP+SSE, nil for Streamable HTTP
}

// New returns an endpoint that has sent nothing yet.
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

// Handler gets the messages of the server that answer nothing. of is the id of the request on whose stream it came;
// nil for what came on no request's.
type Handler func(m rpc.Message, of []byte)

// Run delivers what the server sends to conn, and to handle what conn does not take, until the conversation is
// over; nil when Close ended it. It returns when nothing of the endpoint runs any more.
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

// Close ends the conversation, and the session at the server if it takes no longer than the grace of leave.
func (e *Endpoint) Close() {
	e.stopped.Do(func() { close(e.stop) })
	<-e.ended
}

// Speak fixes the revision of MCP for what is sent from now on; "" before the handshake.
func (e *Endpoint) Speak(version string) { e.http.speak(version) }

// Sessionless reports whether the server is spoken to over Streamable HTTP and keeps no session, once it has answered
// the handshake.
func (e *Endpoint) Sessionless() bool {
	return e.stream() == nil && e.http.sessionID() == ""
}

// fail ends the conversation: err is why.
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

// begin runs f beside everything else, unless the conversation is over.
func (e *Endpoint) begin(f func()) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		return false
	}
	e.work.Run(e.ctx, f)
	return true
}

// deliver hands on one message of the server, which came on the stream of the request with the id of, or on none.
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

// oneLine replaces line ends, which JSON has between tokens alone. It changes the text in place.
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

// Limits for messages that are sent beside requests.
const (
	maxNotes  = 64               // on their way at once
	noteLimit = 30 * time.Second // for each

	probeLimit = time.Minute // for the question which era the server speaks
)

// Write sends the message of one line, which is not a request. It does not wait for the server but for
// notifications/initialized, which the server must have before anything else comes, and for its answer where it wants
// to say something by itself.
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

// Exchange implements rpc.Exchanger. The answer, or why there is none, is delivered.
func (e *Endpoint) Exchange(request []byte) (func(context.Context), error) {
	m, err := rpc.Composed(request)
	if err != nil {
		return nil, fmt.Errorf("not sent: %w", err)
	}
	return func(waiting context.Context) { e.request(waiting, m) }, nil
}

// request sends a request and delivers its answer. Work that may go on before or after the answer goes on in the
// background.
func (e *Endpoint) request(waiting context.Context, m rpc.Message) {
	ctx, cancel := context.WithCancel(e.ctx)
	if m.Method == "server/discover" { // nobody may wait for it any more
		ctx, cancel = context.WithTimeout(e.ctx, probeLimit)
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
			e.conn.Fail(m.ID, err) // a caller that waits for another hears why the conversation is over
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

// enter registers a request; false when the conversation is over.
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

// cancelled tells the server that nobody waits for a request any more, and stops waiting. In the modern era the
// end of the stream is what tells it.
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
