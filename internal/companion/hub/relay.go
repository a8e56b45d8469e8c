package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gorilla/websocket"

	"callgate/gate"
	"callgate/internal/companion/client"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
	"callgate/internal/jsonx"
)

// Relay connects one client of the hub with every process that joined: a WebSocket (protocol version 1) to each,
// in the client's name and with no more than the client's credential. Frames of processes go to the client as they
// are, and a frame of the client goes to the one process that owns the session. The hub knows no more of
// a frame than its head, so what a newer process has to say passes too.
//
// A session or an approval belongs to the process that showed it first. Frames about it from other processes are
// dropped.
type Relay struct {
	hub        *Hub
	hello      []byte                        // as it goes to each process
	credential func() credentials.Credential // of the client, now
	from       string                        // where the client is
	person     string                        // whose credential it has shown
	Frames     chan []byte                   // to the client; unbuffered, so that processes take turns
	Failed     chan struct{}                 // closed when the client has to come again to hear everything
	fail       func()                        // closes failed

	ctx   context.Context
	stop  context.CancelFunc
	links sync.WaitGroup

	mu     sync.Mutex
	owners map[string]owned // by id of session or approval
	counts map[*Link]int    // of those of each process
}

// owned says whose a session or an approval is.
type owned struct {
	link    *Link  // nil: this process'
	session string // of an approval; "" for a session
}

const (
	maxOwned    = 20000 // sessions and approvals of one process: of several, none takes the place of another
	RateWhile   = time.Second
	linkQueue   = 32 // frames of a client that may wait for one process
	linkAgain   = time.Second
	linkTimeout = 5 * time.Second // to connect to a process
)

var errFlood = errors.New("it sends more than a client could be shown")

// Follow begins to follow all processes. The caller MUST close it.
func (h *Hub) Follow(hello []byte, credential func() credentials.Credential, from, person string) *Relay {
	r := &Relay{
		hub: h, hello: hello, credential: credential, from: from, person: person,
		Frames: make(chan []byte), Failed: make(chan struct{}), owners: make(map[string]owned), counts: make(map[*Link]int),
	}
	r.fail = sync.OnceFunc(func() { close(r.Failed) })
	r.ctx, r.stop = context.WithCancel(h.ctx)
	h.fleet.watch(r)
	return r
}

func (r *Relay) Close() {
	r.hub.fleet.unwatch(r)
	r.stop()
	r.links.Wait()
}

// follow starts to relay for a process until it is gone.
func (r *Relay) follow(p *Process) {
	l := &Link{relay: r, process: p, as: r.credential(), out: make(chan []byte, linkQueue)}
	r.links.Go(l.run)
}

// Own notes what this process itself shows.
func (r *Relay) Own(event gate.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e := event.(type) {
	case gate.SessionOpened:
		r.own(e.Info.ID, owned{})
	case gate.SessionClosed:
		r.disown(e.Info.ID)
	case gate.Asked:
		r.own(e.Approval.ID, owned{session: e.Approval.SessionID})
	case gate.Resolved:
		r.disown(e.ID)
	}
}

// own notes whose a session or an approval is. The caller holds mu.
func (r *Relay) own(id string, o owned) {
	r.disown(id)
	r.owners[id] = o
	r.counts[o.link]++
}

// disown forgets whose it was. The caller holds mu.
func (r *Relay) disown(id string) {
	o, known := r.owners[id]
	if !known {
		return
	}
	delete(r.owners, id)
	if r.counts[o.link]--; r.counts[o.link] == 0 {
		delete(r.counts, o.link)
	}
}

// LinkFor returns the link to the process that the frame of a client is for: that which has the approval, or else the
// session. It is nil when that is this process, or nobody knows.
func (r *Relay) LinkFor(data []byte, session string) *Link {
	f, err := glance(data)
	r.mu.Lock()
	defer r.mu.Unlock()
	if o, known := r.owners[f.call]; err == nil && known && f.call != "" {
		return o.link
	}
	return r.owners[session].link
}

// deliver hands a frame to the client. It is false when the client is gone.
func (r *Relay) deliver(data []byte) bool {
	select {
	case r.Frames <- data:
		return true
	case <-r.ctx.Done():
		return false
	}
}

// Link is the WebSocket to one process on behalf of one client.
type Link struct {
	relay   *Relay
	process *Process
	as      credentials.Credential // what the client had shown when the link was made
	out     chan []byte            // frames of the client
}

// Send queues a frame of the client, for the process to judge. A client that may no longer do what it could when it
// came is refused here: the process knows only what the hub told it then.
func (l *Link) Send(data []byte) *wire.Refusal {
	if l.relay.credential() != l.as {
		return wire.Refuse(wire.CodeUnauthorized, "this credential was rotated: connect again")
	}
	select {
	case l.out <- data:
		return nil
	default:
		return wire.Refuse(wire.CodeInternal, "the process that owns the session takes no more frames")
	}
}

func (l *Link) run() {
	defer func() {
		if p := recover(); p != nil {
			rest.Panicked(l.relay.hub.o.Log, "the frames of a process", p)
			l.relay.fail() // the client may have missed something
		}
	}()
	log := l.relay.hub.o.Log.With("process", l.process.PID)
	for said := false; l.relay.ctx.Err() == nil; {
		conn, err := l.open()
		if err == nil {
			err = l.pass(conn)
			if errors.Is(err, errFlood) {
				log.Warn("companion: a process was cut off", slog.Any("error", err))
				l.process.end()
			}
			l.end()
			return
		}
		if !said {
			log.Warn("companion: a client cannot be shown what a process asks", slog.Any("error", err))
			said = true
		}
		select {
		case <-time.After(linkAgain):
		case <-l.process.Gone():
			return
		case <-l.relay.ctx.Done():
		}
	}
}

// end tells the client what the end of the link means. A process that ends says goodbye on this link a moment before
// its connection is gone.
func (l *Link) end() {
	moment := time.NewTimer(l.relay.hub.o.Timing.Goodbye)
	defer moment.Stop()
	select {
	case <-l.process.Gone():
		l.retract()
	case <-moment.C:
		l.relay.fail() // it lives, and what it said meanwhile is lost
	case <-l.relay.ctx.Done():
	}
}

// open connects in the client's name.
func (l *Link) open() (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(l.relay.ctx, linkTimeout)
	defer cancel()
	dialer := websocket.Dialer{NetDialContext: l.process.dial, HandshakeTimeout: linkTimeout, Subprotocols: []string{wire.Subprotocol}}
	conn, _, err := dialer.DialContext(ctx, "ws://process/ws", http.Header{OnBehalf: {string(l.as)}, fromHeader: {l.relay.from}, personHeader: {l.relay.person}})
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(client.MaxServer)
	err = conn.SetWriteDeadline(time.Now().Add(l.relay.hub.o.Timing.Write))
	if err == nil {
		err = conn.WriteMessage(websocket.TextMessage, l.relay.hello)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// pass carries frames both ways until one side ends.
func (l *Link) pass(conn *websocket.Conn) error {
	ctx, stop := context.WithCancel(l.relay.ctx)
	defer stop()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	var writing sync.WaitGroup
	defer writing.Wait()
	defer stop()
	writing.Go(func() {
		defer stop()
		for {
			select {
			case data := <-l.out:
				if conn.SetWriteDeadline(time.Now().Add(l.relay.hub.o.Timing.Write)) != nil || conn.WriteMessage(websocket.TextMessage, data) != nil {
					return // the reader tells
				}
			case <-ctx.Done():
				return
			}
		}
	})
	window, count := time.Now(), 0
	for {
		_, data, err := conn.ReadMessage()
		if err != nil {
			return err
		}
		if now := time.Now(); now.Sub(window) >= RateWhile {
			window, count = now, 0
		}
		if count++; count > l.relay.hub.o.Timing.Frames {
			return errFlood
		}
		mine, err := l.owns(data)
		if err != nil {
			return err
		}
		if !mine {
			l.relay.hub.o.Log.Warn("companion: a process sent frames about another process's calls", "process", l.process.PID)
			continue
		}
		if !l.relay.deliver(data) {
			return l.relay.ctx.Err()
		}
	}
}

// owns reports whether the process may say what the frame says, and notes what it has from now on.
func (l *Link) owns(data []byte) (bool, error) {
	f, err := glance(data)
	if err != nil {
		return false, err
	}
	r := l.relay
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range []string{f.session, f.call} {
		if o, known := r.owners[id]; known && o.link != l && !l.inherits(o) {
			return false, nil
		}
	}
	if r.counts[l] >= maxOwned {
		return false, errFlood
	}
	if f.session != "" {
		r.own(f.session, owned{link: l})
		l.process.shows("/api/sessions", f.session, !(f.kind == wire.TypeTeamUpdate && f.empty))
	}
	switch {
	case f.kind == wire.TypeToolApproveRequest && f.call != "":
		r.own(f.call, owned{l, f.session})
		l.process.shows("/api/approvals", f.call, true)
	case f.kind == wire.TypeToolApproveResolved:
		r.disown(f.call)
		l.process.shows("/api/approvals", f.call, false)
	case f.kind == wire.TypeTeamUpdate && f.empty:
		r.disown(f.session)
	}
	return true, nil
}

// inherits reports whether what another has may be the link's by now: replicas take over what one of them left, and
// hear of its end at different times. Tenants have nothing of each other.
func (l *Link) inherits(o owned) bool {
	if l.process.Replica == "" {
		return false
	}
	if o.link == nil {
		return l.process.Worker == l.relay.hub.o.Worker
	}
	return o.link.process.Replica != "" && o.link.process.Worker == l.process.Worker
}

// retract tells the client that what the process showed is over: its host waits no more.
func (l *Link) retract() {
	r := l.relay
	var calls, sessions []any
	r.mu.Lock()
	for id, o := range r.owners {
		switch {
		case o.link != l:
			continue
		case o.session == "":
			sessions = append(sessions, wire.NoTeam(id))
		default:
			calls = append(calls, wire.ToolApproveResolved{
				Head: wire.NewHead(wire.TypeToolApproveResolved, o.session), ToolCallID: id, Decision: "withdrawn", By: "callgate",
				Reason: "The process whose host waited has ended.",
			})
		}
		r.disown(id)
	}
	r.mu.Unlock()
	for _, frame := range append(calls, sessions...) {
		data, err := wire.Encode(frame)
		if err != nil {
			r.hub.o.Log.Error("companion: frame left out", slog.Any("error", err))
			continue
		}
		if !r.deliver(data) {
			return
		}
	}
}

// glimpse is what the hub reads of a frame.
type glimpse struct {
	kind, session, call string
	empty               bool // a team_update without agents: the session has ended
}

// glance reads what the hub must know of a frame. A frame that clients could read in two ways is an error: one with
// a member twice, or in another case.
func glance(data []byte) (f glimpse, err error) {
	// What lies deeper is the process' own business: an upstream's result may hold anything.
	d := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if token, err := d.ReadToken(); err != nil || token.Kind() != '{' {
		return f, errors.Join(errors.New("a frame that is not an object"), err)
	}
	seen := map[string]bool{}
	for d.PeekKind() == '"' {
		token, err := d.ReadToken()
		if err != nil {
			return f, err
		}
		name := token.String()
		if fold := strings.ToLower(name); seen[fold] {
			return f, fmt.Errorf("a frame that has %q twice", name)
		} else {
			seen[fold] = true
		}
		value, err := d.ReadValue()
		if err != nil {
			return f, err
		}
		var into *string
		switch {
		case name == "type":
			into = &f.kind
		case name == "sessionId":
			into = &f.session
		case name == "toolCallId":
			into = &f.call
		case name == "agents":
			f.empty = string(value) == "[]"
			continue
		case strings.EqualFold(name, "type"), strings.EqualFold(name, "sessionId"), strings.EqualFold(name, "toolCallId"):
			return f, fmt.Errorf("a frame that spells a member %q", name)
		default:
			continue
		}
		text, ok := jsonx.String(value)
		if !ok && string(value) != "null" {
			return f, fmt.Errorf("a frame whose %q is not text", name)
		}
		*into = text
	}
	_, err = d.ReadToken() // the end of the object
	return f, err
}
