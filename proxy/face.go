package proxy

import (
	"context"
	"crypto/cipher"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/internal/upstream"
)

// stateless is what the proxy remembers of hosts that have no sessions.
type stateless struct {
	seal cipher.AEAD
	work sync.WaitGroup // requests that are served

	mu     sync.Mutex
	closed bool
	faces  map[faceKey]*face
	parked map[string]*errand // by id: those that wait for the host to come back
	tasks  map[string]*task   // by id

	resuming map[string]bool // ids of approvals that a request has come back for
}

// faceKey is what requests have in common that share a session: who sends them, and what they say of their host.
type faceKey struct {
	from Sender
	said [sha256.Size]byte
}

// face makes one session out of the requests of a host that has none: behind it is a host as the handshake
// would have made it, and everything that such a host is asked and told goes through here.
type face struct {
	p    *Proxy
	key  faceKey
	open sync.Once
	err  error // why it could not be opened

	h       *host
	welcome []byte // the result of initialize

	asked rpc.Requests

	mu        sync.Mutex
	number    uint64
	errands   map[string]*errand     // requests of the host that run, by the id that we gave them
	own       map[string]chan []byte // requests of ours that run, likewise: the responses
	listeners map[*listener]struct{}
	watched   map[string]int // URIs of resources, with how many listen to changes
	level     int            // log messages that servers were asked for
	users     int
	idle      *time.Timer // ends the face
}

var _ Line = (*face)(nil)

// enter counts a request in, unless the proxy closes. The caller calls work.Done.
func (s *stateless) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.work.Add(1)
	return true
}

// maxFaces bounds the sessions: who sends requests says by itself what tells them apart.
const maxFaces = 1000

// face returns the one that the request belongs to, opened. The caller MUST leave it.
func (p *Proxy) face(from Sender, r statelessRequest) (*face, error) {
	key := faceKey{from: from, said: sha256.Sum256(append(append(append([]byte{}, r.capabilities...), 0), r.client...))}
	p.stateless.mu.Lock()
	f := p.stateless.faces[key]
	if f == nil && len(p.stateless.faces) >= maxFaces {
		p.stateless.mu.Unlock()
		return nil, fmt.Errorf("%d sessions are open: no more fit", maxFaces)
	}
	if f == nil {
		f = &face{p: p, key: key, errands: map[string]*errand{}, own: map[string]chan []byte{}, listeners: map[*listener]struct{}{}, watched: map[string]int{}, level: len(levels)}
		p.stateless.faces[key] = f
	}
	f.enter()
	p.stateless.mu.Unlock()
	f.open.Do(func() { f.err = f.begin(r) })
	if f.err != nil {
		f.leave()
		p.forget(f)
		return nil, f.err
	}
	return f, nil
}

// forget takes the face out, so that the next request opens another.
func (p *Proxy) forget(f *face) {
	p.stateless.mu.Lock()
	defer p.stateless.mu.Unlock()
	if p.stateless.faces[f.key] == f {
		delete(p.stateless.faces, f.key)
	}
}

// begin opens the session with the handshake that the host did not have to make.
func (f *face) begin(r statelessRequest) (err error) {
	if f.h, err = f.p.connect(context.Background(), f.key.from.View, f.key.from.Principal, f, upstream.Modern); err != nil {
		return err
	}
	f.h.waits = declaresTasks(r.capabilities)
	if f.key.from.Session == "" && f.key.from.Principal != StdioPrincipal {
		f.h.session.KeepNoGrants()
	}
	client := r.client
	if client == nil {
		client = []byte(`{"name":"unknown","version":"0"}`)
	}
	params := fmt.Appendf(nil, `{"protocolVersion":%s,"capabilities":%s,"clientInfo":%s}`, jsonx.Quote(latestVersion), withoutTasks(r.capabilities), client)
	response := f.request(f.h.ctx, "initialize", params)
	m, err := rpc.Parse(response)
	if err != nil || m.Result == nil {
		f.h.Close()
		return fmt.Errorf("the session could not be opened: %s", response)
	}
	f.welcome = m.Result
	initialized, err := rpc.Parse(rpc.Request(nil, "notifications/initialized", nil))
	if err == nil {
		f.h.Handle(initialized)
	}
	return err
}

// withoutTasks returns the capabilities without the extension that each upstream declares by itself, where it can.
func withoutTasks(capabilities []byte) []byte {
	var extensions, tasks [1]jsonx.Member
	if jsonx.Members(capabilities, []string{"extensions"}, extensions[:]) != nil || extensions[0].Value == nil ||
		jsonx.Members(extensions[0].Value, []string{extensionTasks}, tasks[:]) != nil || tasks[0].Value == nil {
		return capabilities
	}
	edit := jsonx.Delete(extensions[0].Value, tasks[0])
	return jsonx.Splice(capabilities, jsonx.Edit{Start: extensions[0].Start + edit.Start, End: extensions[0].Start + edit.End})
}

// enter and leave count who uses the face. One that nobody uses for long is closed.
func (f *face) enter() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.users++
	if f.idle != nil {
		f.idle.Stop()
	}
}

func (f *face) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users--; f.users == 0 {
		f.idle = time.AfterFunc(f.p.o.IdleTimeout, f.expire)
	}
}

// expire closes the face if still nobody uses it.
func (f *face) expire() {
	if !f.p.stateless.enter() {
		return // everything is closed now
	}
	defer f.p.stateless.work.Done()
	f.p.stateless.mu.Lock()
	f.mu.Lock()
	gone := f.users == 0 && f.p.stateless.faces[f.key] == f
	f.mu.Unlock()
	if gone {
		delete(f.p.stateless.faces, f.key)
	}
	f.p.stateless.mu.Unlock()
	if gone && f.h != nil {
		f.h.Close()
	}
}

// newID returns an id for a request to the host behind the face.
func (f *face) newID() []byte {
	f.number++
	return append(strconv.AppendUint([]byte(`"x-`), f.number, 36), '"')
}

// request makes a request of our own and returns the response, nil when ctx ends first.
func (f *face) request(ctx context.Context, method string, params []byte) []byte {
	answered := make(chan []byte, 1)
	f.mu.Lock()
	id := f.newID()
	f.own[string(id)] = answered
	f.mu.Unlock()
	m, err := rpc.Parse(rpc.Request(id, method, params))
	if err != nil {
		return rpc.Error(id, rpc.CodeInvalidParams, err.Error())
	}
	f.h.Handle(m)
	select {
	case response := <-answered:
		return response
	case <-ctx.Done():
		return nil
	}
}

// Respond implements Line.
func (f *face) Respond(id, response []byte) error {
	f.mu.Lock()
	e, own := f.errands[string(id)], f.own[string(id)]
	delete(f.errands, string(id))
	delete(f.own, string(id))
	f.mu.Unlock()
	switch {
	case own != nil:
		own <- response
	case e != nil:
		e.end(response)
	}
	return nil
}

// Notify implements Line.
func (f *face) Notify(about, message []byte) error {
	m, err := rpc.Parse(message)
	if err != nil {
		return err
	}
	// What a resource has become belongs to those who listen to it, also while a request runs that may have changed it.
	if e := f.errand(about); e != nil && m.Method != "notifications/resources/updated" {
		e.notify(m)
		return nil
	}
	f.broadcast(m)
	return nil
}

// errNoWay says that a host of a stateless revision can be asked nothing but in answer to a request.
var errNoWay = errors.New("the host waits for nothing that could carry a question")

// Ask implements Line.
func (f *face) Ask(about []byte, label string, compose func(id []byte) []byte) (*rpc.Pending, error) {
	e := f.errand(about)
	if e == nil {
		return nil, errNoWay
	}
	return f.asked.Send(func(id []byte) error {
		m, err := rpc.Parse(compose(id))
		if err != nil {
			return err
		}
		return e.ask(label, m)
	})
}

// Hurry implements Line.
func (f *face) Hurry() { f.asked.Abandon() }

func (f *face) errand(id []byte) *errand {
	if id == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.errands[string(id)]
}

// serve answers one request, whatever it takes.
func (f *face) serve(ctx context.Context, x Exchange, r statelessRequest) {
	respond := func(response []byte) { f.p.told(x.Respond(response)) }
	switch r.Method {
	case "server/discover":
		respond(rpc.Result(r.ID, f.dress(r.Method, f.discovered())))
		return
	case "subscriptions/listen":
		f.listen(ctx, x, r)
		return
	case "tasks/get", "tasks/update", "tasks/cancel":
		if !declaresTasks(r.capabilities) {
			f.p.told(x.Reject(lacksTasks(r.ID)))
			return
		}
		respond(f.serveTask(r))
		return
	case "tools/call":
		if h, ok := x.(headed); ok {
			if err := f.argumentHeadersAgree(ctx, h, r); err != nil {
				f.p.told(x.Reject(rpc.Error(r.ID, codeHeaderMismatch, err.Error())))
				return
			}
		}
	}
	l := &leg{ctx: ctx, x: x, id: r.ID, token: r.token, level: levelOf(r.level), done: make(chan struct{})}
	f.raise(ctx, l.level)
	if err := f.p.depart(f, l, r); err != nil {
		respond(rpc.Error(r.ID, rpc.CodeInvalidParams, err.Error()))
		return
	}
	select {
	case <-l.done:
	case <-ctx.Done():
		l.errand.gone(l)
	}
}

func (f *face) argumentHeadersAgree(ctx context.Context, h headed, r statelessRequest) error {
	var name [1]jsonx.Member
	if jsonx.Members(r.Params, []string{"name"}, name[:]) != nil {
		return nil // the call is refused for it
	}
	text, _ := jsonx.String(name[0].Value)
	entry := f.h.findTool(ctx, text)
	if entry == nil {
		return nil
	}
	return argumentHeadersAgree(h, entry.tool.Definition, r.Params)
}

// levels are those of log messages, the least severe first.
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// levelOf is the index of a level; that of none, which is "", is beyond all.
func levelOf(name string) int {
	for i, l := range levels {
		if l == name {
			return i
		}
	}
	return len(levels)
}

// raise has servers log what the request wants to hear, if no request before has wanted as much.
func (f *face) raise(ctx context.Context, level int) {
	f.mu.Lock()
	enough := f.level <= level
	if !enough {
		f.level = level
	}
	f.mu.Unlock()
	if !enough {
		f.request(ctx, "logging/setLevel", fmt.Appendf(nil, `{"level":%s}`, jsonx.Quote(levels[level])))
	}
}

// Close ends the sessions of stateless hosts and the servers that hosts share, and waits until nothing of them
// runs. Hosts that have connections of their own are not the proxy's to end; they MUST have ended.
func (p *Proxy) Close() {
	s := &p.stateless
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
	p.closeFaces(func(faceKey) bool { return true })
	s.work.Wait()
	p.closeShared()
}

// Farewell ends, in an orderly way, what stateless hosts keep open to hear of changes. Everything else goes on.
func (p *Proxy) Farewell() {
	p.stateless.mu.Lock()
	faces := slices.Collect(maps.Values(p.stateless.faces))
	p.stateless.mu.Unlock()
	for _, f := range faces {
		f.endListeners()
	}
}

// closeFaces ends the sessions of stateless hosts that which says yes to, and waits for it.
func (p *Proxy) closeFaces(which func(faceKey) bool) {
	s := &p.stateless
	var faces []*face
	s.mu.Lock()
	for key, f := range s.faces {
		if which(key) {
			faces = append(faces, f)
			delete(s.faces, key)
		}
	}
	s.mu.Unlock()
	var closing sync.WaitGroup
	for _, f := range faces {
		closing.Go(f.close)
	}
	closing.Wait()
}

func (f *face) close() {
	f.open.Do(func() { f.err = errNoWay }) // nobody opens it any more
	f.endListeners()
	if f.h != nil {
		f.h.Close()
	}
}
