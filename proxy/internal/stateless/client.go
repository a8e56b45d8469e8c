package stateless

import (
	"context"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
)

// Options holds what the clients need of the rest of callgate.
type Options struct {
	// Open begins the session behind a client, with the client as its Line. The caller closes the Host.
	Open func(ctx context.Context, c *Client, from Sender, o Opening) (Host, error)
	// Awaits reports whether the approval is pending, or is decided and waits for its request.
	Awaits func(approval string) bool
	// AgentOf reads from a request's _meta which agent makes it.
	AgentOf func(meta []byte) (string, error)

	// Place returns a name, without dots, that tells which process made it. nil means names that tell nothing.
	Place func() string

	Versions    []string // the revisions with a handshake, oldest first
	Secret      []byte   // seals what hosts carry from one round to the next; nil means one that ends with the process
	IdleTimeout time.Duration
	Logger      *slog.Logger
}

// Opening says how a session begins.
type Opening struct {
	WaitsForTasks bool   // the host can wait for a task of the extension
	KeepsNoGrants bool   // several hosts may share the session
	Account       string // a digest of who sends and what they say of their host, the same in all processes
	Before        Host   // the host whose session continues; nil for a new session
}

// Host is the session behind a client, as if the client had made a handshake.
type Host interface {
	Handle(m rpc.Message)                               // takes a message that is not part of a Request
	Begin(m rpc.Message, of *Request)                   // takes a request of the host
	TakeBack(id []byte)                                 // ends a request that nobody wants any more
	LeadsToPage() bool                                  // the host can lead its person to the page for approvers
	Definition(ctx context.Context, tool string) []byte // nil if the tool is not offered
	Welcome(version string) []byte                      // what the handshake's result would be now
	Context() context.Context
	Expelled() // withdraws what waits for a person, because the host is no longer let in
	Close()
}

// Clients holds the hosts that have no sessions.
type Clients struct {
	o    Options
	aead cipher.AEAD
	work sync.WaitGroup // requests being served

	mu      sync.Mutex
	closed  bool
	clients map[clientKey]*Client
	parked  map[string]*Request // by name: requests that wait for the host to come back
	tasks   map[string]*task    // by id

	resuming map[string]bool // ids of approvals that a running request has come back for
	renewed  uint64          // how often Renew was called
}

// clientKey is what all requests of one session have in common: who sends them, and what they say of their host.
type clientKey struct {
	from     Sender
	said     [sha256.Size]byte
	renewals uint64 // calls of Renew before it
}

// account returns a digest of the key, which reveals nothing about it.
func (k clientKey) account() string {
	h := sha256.New()
	for _, part := range []string{k.from.View.Server, k.from.View.Agent, k.from.Principal, k.from.Session, string(k.said[:])} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Client makes one session out of the requests of a host that has none. Behind it is a Host, as if after a handshake.
// Everything that callgate asks or tells the Host's peer goes through the Client.
type Client struct {
	all    *Clients
	key    clientKey
	open   sync.Once
	opened atomic.Bool // it is open; for readers that do not wait for that
	err    error       // why it could not open
	before *Client     // until it is open: the client whose session it continues, or nil

	host Host

	asked rpc.Requests

	welcome welcome

	mu            sync.Mutex
	number        uint64
	requests      map[string]*Request    // running requests of the host, by the id that we gave them
	own           map[string]chan []byte // our own running requests, by id: where responses go
	subscriptions map[*subscription]struct{}
	watched       map[string]int           // URIs of resources, with the number of listeners
	telling       map[string]chan struct{} // URIs whose servers are being told of that; closed when they have been
	level         int                      // index of the lowest log level that servers were asked for
	users         int
	idle          *time.Timer  // closes the client
	admitted      func() error // returns why the host's last credential is no longer valid; nil if it needs none
}

// New returns the clients of one process. The caller MUST Close them.
func New(o Options) (*Clients, error) {
	if o.Place == nil {
		o.Place = rand.Text
	}
	aead, err := newSeal(o.Secret)
	if err != nil {
		return nil, err
	}
	return &Clients{o: o, aead: aead, clients: map[clientKey]*Client{}, parked: map[string]*Request{}, tasks: map[string]*task{}, resuming: map[string]bool{}}, nil
}

// enter counts a request, or returns false after Close. If it returns true, the caller MUST call work.Done.
func (all *Clients) enter() bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.closed {
		return false
	}
	all.work.Add(1)
	return true
}

// Renew makes later requests open a new Host, which continues the session of the earlier one. The earlier one ends when
// nobody uses it.
func (all *Clients) Renew() {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.renewed++
}

// maxClients bounds the sessions, because senders choose themselves what tells their sessions apart.
const maxClients = 1000

// client returns the client that the request belongs to, opened. The caller MUST leave it.
func (all *Clients) client(from Sender, r incoming) (*Client, error) {
	key := clientKey{from: from, said: sha256.Sum256(append(append(append([]byte{}, r.capabilities...), 0), r.client...))}
	all.mu.Lock()
	key.renewals = all.renewed
	c := all.clients[key]
	if c == nil && len(all.clients) >= maxClients {
		all.mu.Unlock()
		return nil, fmt.Errorf("%d sessions are open, which is the limit", maxClients)
	}
	if c == nil {
		c = newClient(all, key)
		c.before = all.before(key)
		all.clients[key] = c
	}
	c.enter()
	all.mu.Unlock()
	c.begun(r)
	if c.err != nil {
		c.leave()
		all.forget(c)
		return nil, c.err
	}
	return c, nil
}

func newClient(all *Clients, key clientKey) *Client {
	return &Client{all: all, key: key, requests: map[string]*Request{}, own: map[string]chan []byte{}, subscriptions: map[*subscription]struct{}{}, watched: map[string]int{}, telling: map[string]chan struct{}{}, level: len(levels)}
}

// before returns the client whose session continues under the key, or nil. The caller holds all.mu, and MUST leave the
// client.
func (all *Clients) before(key clientKey) (last *Client) {
	now := key.renewals
	for _, c := range all.clients {
		key.renewals = c.key.renewals
		if c.key == key && key.renewals < now && (last == nil || last.key.renewals < key.renewals) {
			last = c
		}
	}
	if last != nil {
		last.enter()
	}
	return last
}

// begun opens the client, once.
func (c *Client) begun(r incoming) {
	c.open.Do(func() {
		var before Host
		if b := c.before; b != nil {
			defer b.leave()
			b.begun(r) // it has the same key, so it says the same of its host
			if c.before = nil; b.err == nil {
				before = b.host
			}
		}
		c.err = c.begin(r, before)
		c.opened.Store(c.err == nil)
	})
}

// forget removes the client, so that the next request opens another.
func (all *Clients) forget(c *Client) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.clients[c.key] == c {
		delete(all.clients, c.key)
	}
}

// begin opens the session and makes the handshake that the host did not have to make.
func (c *Client) begin(r incoming, before Host) (err error) {
	o := Opening{Before: before, WaitsForTasks: declaresTasks(r.capabilities), KeepsNoGrants: c.key.from.Session == "", Account: c.key.account()}
	if c.host, err = c.all.o.Open(context.Background(), c, c.key.from, o); err != nil {
		return err
	}
	client := r.client
	if client == nil {
		client = []byte(`{"name":"unknown","version":"0"}`)
	}
	params := fmt.Appendf(nil, `{"protocolVersion":%s,"capabilities":%s,"clientInfo":%s}`, jsonx.Quote(c.all.latest()), withoutTasks(r.capabilities), client)
	response := c.request(c.host.Context(), "initialize", params)
	m, err := rpc.Parse(response)
	if err != nil || m.Result == nil {
		c.host.Close()
		return fmt.Errorf("the session could not be opened: %s", response)
	}
	c.welcome.keep(m.Result)
	initialized, err := rpc.Parse(rpc.Request(nil, "notifications/initialized", nil))
	if err == nil {
		c.host.Handle(initialized)
	}
	return err
}

// withoutTasks returns the capabilities without the tasks extension, which callgate declares to each server that can
// use it.
func withoutTasks(capabilities []byte) []byte {
	var extensions, tasks [1]jsonx.Member
	if jsonx.Members(capabilities, []string{"extensions"}, extensions[:]) != nil || extensions[0].Value == nil ||
		jsonx.Members(extensions[0].Value, []string{ExtensionTasks}, tasks[:]) != nil || tasks[0].Value == nil {
		return capabilities
	}
	edit := jsonx.Delete(extensions[0].Value, tasks[0])
	return jsonx.Splice(capabilities, jsonx.Edit{Start: extensions[0].Start + edit.Start, End: extensions[0].Start + edit.End})
}

// enter and leave count the users of the client. A client without users closes after IdleTimeout.
func (c *Client) enter() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users++
	if c.idle != nil {
		c.idle.Stop()
	}
}

func (c *Client) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.users--; c.users == 0 {
		c.idle = time.AfterFunc(c.all.o.IdleTimeout, c.expire)
	}
}

// expire closes the client if it still has no users.
func (c *Client) expire() {
	if !c.all.enter() {
		return // Close has closed everything
	}
	defer c.all.work.Done()
	c.all.mu.Lock()
	c.mu.Lock()
	gone := c.users == 0 && c.all.clients[c.key] == c
	c.mu.Unlock()
	if gone {
		delete(c.all.clients, c.key)
	}
	c.all.mu.Unlock()
	if gone && c.host != nil {
		c.host.Close()
	}
}

// newID returns an id for a request to the host behind the client. The caller holds mu.
func (c *Client) newID() []byte {
	c.number++
	return append(strconv.AppendUint([]byte(`"x-`), c.number, 36), '"')
}

// request makes a request of our own and returns the response, or nil if ctx ends first.
func (c *Client) request(ctx context.Context, method string, params []byte) []byte {
	answered := make(chan []byte, 1)
	c.mu.Lock()
	id := c.newID()
	c.own[string(id)] = answered
	c.mu.Unlock()
	m, err := rpc.Parse(rpc.Request(id, method, params))
	if err != nil {
		return rpc.Error(id, rpc.CodeInvalidParams, err.Error())
	}
	c.host.Handle(m)
	select {
	case response := <-answered:
		return response
	case <-ctx.Done():
		return nil
	}
}

// Respond implements Line.
func (c *Client) Respond(id, response []byte) error {
	c.mu.Lock()
	e, own := c.requests[string(id)], c.own[string(id)]
	delete(c.requests, string(id))
	delete(c.own, string(id))
	c.mu.Unlock()
	switch {
	case own != nil:
		own <- response
	case e != nil:
		e.end(response)
	}
	return nil
}

// Notify implements Line.
func (c *Client) Notify(about, message []byte) error {
	m, err := rpc.Parse(message)
	if err != nil {
		return err
	}
	// A change of a resource goes to its listeners, even while a request runs that may have caused it.
	if e := c.running(about); e != nil && m.Method != "notifications/resources/updated" {
		e.notify(m)
		return nil
	}
	c.broadcast(m)
	return nil
}

// errNoWay is returned because a host of a stateless revision can only be asked in answer to a request.
var errNoWay = errors.New("no request of the host can carry a question")

// Ask implements Line.
func (c *Client) Ask(about []byte, label string, compose func(id []byte) []byte) (*rpc.Pending, error) {
	e := c.running(about)
	if e == nil {
		return nil, errNoWay
	}
	return c.asked.Send(func(id []byte) error {
		m, err := rpc.Parse(compose(id))
		if err != nil {
			return err
		}
		return e.ask(label, m)
	})
}

// Waits implements Line. It does nothing, because Request.Shown does the work.
func (c *Client) Waits([]byte) {}

// Hurry implements Line.
func (c *Client) Hurry() { c.asked.Abandon() }

// running returns the host's running request with that id, or nil.
func (c *Client) running(id []byte) *Request {
	if id == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests[string(id)]
}

// serve answers one request of any method.
func (c *Client) serve(ctx context.Context, x Exchange, r incoming) {
	respond := func(response []byte) { c.all.logUnsent(x.Respond(response)) }
	switch r.Method {
	case "server/discover":
		c.welcome.keep(c.host.Welcome(c.all.latest())) // slow servers may be up by now
		respond(rpc.Result(r.ID, c.wrap(r.Method, c.discovered())))
		return
	case "subscriptions/listen":
		c.listen(ctx, x, r)
		return
	case "tasks/get", "tasks/update", "tasks/cancel":
		if !declaresTasks(r.capabilities) {
			c.all.logUnsent(x.Reject(lacksTasks(r.ID)))
			return
		}
		respond(c.serveTask(r))
		return
	case "tools/call":
		if h, ok := x.(headed); ok {
			if err := c.argumentHeadersAgree(ctx, h, r); err != nil {
				c.all.logUnsent(x.Reject(rpc.Error(r.ID, codeHeaderMismatch, err.Error())))
				return
			}
		}
	}
	l := &round{ctx: ctx, x: x, id: r.ID, token: r.token, level: levelOf(r.level), done: make(chan struct{})}
	c.raise(ctx, l.level)
	if err := c.all.start(c, l, r); err != nil {
		respond(rpc.Error(r.ID, rpc.CodeInvalidParams, err.Error()))
		return
	}
	select {
	case <-l.done:
	case <-ctx.Done():
		l.request.gone(l)
	}
}

func (c *Client) argumentHeadersAgree(ctx context.Context, h headed, r incoming) error {
	var name [1]jsonx.Member
	if jsonx.Members(r.Params, []string{"name"}, name[:]) != nil {
		return nil // the call will be refused for that
	}
	text, _ := jsonx.String(name[0].Value)
	return argumentHeadersAgree(h, c.host.Definition(ctx, text), r.Params)
}

// levels lists the log levels, least severe first.
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// levelOf returns the index of a level. Unknown levels, and "", come after all others.
func levelOf(name string) int {
	for i, l := range levels {
		if l == name {
			return i
		}
	}
	return len(levels)
}

// raise asks servers for the log level that the request wants, unless an earlier request wanted as much.
func (c *Client) raise(ctx context.Context, level int) {
	c.mu.Lock()
	enough := c.level <= level
	if !enough {
		c.level = level
	}
	c.mu.Unlock()
	if !enough {
		c.request(ctx, "logging/setLevel", fmt.Appendf(nil, `{"level":%s}`, jsonx.Quote(levels[level])))
	}
}

// Close ends all sessions and waits until nothing of them runs.
func (all *Clients) Close() {
	s := all
	s.mu.Lock()
	s.closed = true
	for _, e := range s.parked {
		e.expiry.Stop()
	}
	clear(s.parked)
	for _, t := range s.tasks {
		if t.expiry != nil {
			t.expiry.Stop()
		}
	}
	clear(s.tasks)
	s.mu.Unlock()
	closeEach(all.take(func(clientKey) bool { return true }))
	s.work.Wait()
}

// Farewell closes the subscriptions of stateless hosts in an orderly way. Everything else goes on.
func (all *Clients) Farewell() {
	all.mu.Lock()
	clients := slices.Collect(maps.Values(all.clients))
	all.mu.Unlock()
	for _, c := range clients {
		c.endSubscriptions()
	}
}

// Expel withdraws what waits for a person in the sessions of principals that are not known. It does not wait for
// sessions that are still opening, where nothing waits yet. The caller MUST call end, which ends the sessions and waits
// for them.
func (all *Clients) Expel(known func(principal string) bool) (end func()) {
	gone := all.take(func(key clientKey) bool { return !known(key.from.Principal) })
	var late []*Client
	for _, c := range gone {
		if !c.opened.Load() {
			late = append(late, c)
			continue
		}
		c.host.Expelled()
	}
	return func() {
		for _, c := range late {
			if c.shut(); c.opened.Load() {
				c.host.Expelled()
			}
		}
		closeEach(gone)
	}
}

// CloseSession ends the sessions of one session of the transport, and waits for them.
func (all *Clients) CloseSession(name string) {
	closeEach(all.take(func(key clientKey) bool { return key.from.Session == name }))
}

// take removes and returns the clients for which which returns true. The caller MUST close them.
func (all *Clients) take(which func(clientKey) bool) (clients []*Client) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for key, c := range all.clients {
		if which(key) {
			clients = append(clients, c)
			delete(all.clients, key)
		}
	}
	return clients
}

// closeEach ends sessions and waits for them.
func closeEach(clients []*Client) {
	var closing sync.WaitGroup
	for _, c := range clients {
		closing.Go(c.close)
	}
	closing.Wait()
}

// shut makes sure that nobody opens the client any more.
func (c *Client) shut() {
	c.open.Do(func() {
		if c.err = errNoWay; c.before != nil {
			c.before.leave()
		}
	})
}

func (c *Client) close() {
	c.shut()
	c.endSubscriptions()
	if c.host != nil {
		c.host.Close()
	}
}
