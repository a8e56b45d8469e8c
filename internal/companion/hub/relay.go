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

// Relay connects one client of the hub to every process that joined. It opens a WebSocket (protocol version 1) to each,
// in the client's name and with no more than the client's credential. It passes frames of processes to the client
// unchanged, and a frame of the client to the one process that owns the session. The hub reads only the head of a
// frame, so frames of newer processes pass too.
//
// A session or an approval belongs to the process that showed it first. Frames about it from other processes are
// dropped.
type Relay struct {
	hub        *Hub
	hello      []byte                        // the client's hello, as sent to each process
	credential func() credentials.Credential // returns the client's current credential
	from       string                        // the client's address
	person     string                        // the person whose credential the client has shown
	Frames     chan []byte                   // to the client; unbuffered, so that processes take turns
	Failed     chan struct{}                 // closed when the client MUST reconnect, because it missed frames
	fail       func()                        // closes Failed

	ctx   context.Context
	stop  context.CancelFunc
	links sync.WaitGroup

	mu     sync.Mutex
	owners map[string]owned // by id of the session or approval
	counts map[*Link]int    // number of sessions and approvals of each process
}

// owned says who owns a session or an approval.
type owned struct {
	link    *Link  // nil means this process
	session string // of an approval; "" for a session
}

const (
	maxOwned    = 20000 // most sessions and approvals of one process, so that a process cannot crowd out others
	RateWhile   = time.Second
	linkQueue   = 32 // frames of a client that may wait for one process
	linkAgain   = time.Second
	linkTimeout = 5 * time.Second // for connecting to a process
)

var errFlood = errors.New("it sends more than a client could be shown")

// Follow starts to follow all processes. The caller MUST close the Relay.
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

// follow starts a link to a process, which runs until the process is gone.
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

// own notes who owns a session or an approval. The caller holds mu.
func (r *Relay) own(id string, o owned) {
	r.disown(id)
	r.owners[id] = o
	r.counts[o.link]++
}

// disown forgets the owner of a session or an approval. The caller holds mu.
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

// LinkFor returns the link to the process that a client's frame is for: the owner of the approval, or else of the
// session. It returns nil if that is this process or not known.
func (r *Relay) LinkFor(data []byte, session string) *Link {
	f, err := glance(data)
	r.mu.Lock()
	defer r.mu.Unlock()
	if o, known := r.owners[f.call]; err == nil && known && f.call != "" {
		return o.link
	}
	return r.owners[session].link
}

// deliver hands a frame to the client. It returns false if the client is gone.
func (r *Relay) deliver(data []byte) bool {
	select {
	case r.Frames <- data:
		return true
	case <-r.ctx.Done():
		return false
	}
}

// Link is a WebSocket to one process on behalf of one client.
type Link struct {
	relay   *Relay
	process *Process
	as      credentials.Credential // the client's credential when the link was made
	out     chan []byte            // frames from the client
}

// Send queues a client's frame for the process. It refuses the frame if the client's credential has changed, because
// the process only knows the credential that the link was made with.
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

// end tells the client what the end of the link means. An ending process closes this link before its connection.
func (l *Link) end() {
	moment := time.NewTimer(l.relay.hub.o.Timing.Goodbye)
	defer moment.Stop()
	select {
	case <-l.process.Gone():
		l.retract()
	case <-moment.C:
		l.relay.fail() // the process lives, but its frames since then are lost
	case <-l.relay.ctx.Done():
	}
}

// open connects to the process in the client's name.
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

// pass relays frames both ways until one side ends.
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
					return // the reader returns the error
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

// owns reports whether the process may send the frame, and notes what the process owns from now on.
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
		l.process.setShown("/api/sessions", f.session, !(f.kind == wire.TypeTeamUpdate && f.empty))
	}
	switch {
	case f.kind == wire.TypeToolApproveRequest && f.call != "":
		r.own(f.call, owned{l, f.session})
		l.process.setShown("/api/approvals", f.call, true)
	case f.kind == wire.TypeToolApproveResolved:
		r.disown(f.call)
		l.process.setShown("/api/approvals", f.call, false)
	case f.kind == wire.TypeTeamUpdate && f.empty:
		r.disown(f.session)
	}
	return true, nil
}

// inherits reports whether the link may take over what o describes. Replicas take over from one that ended, and learn
// of its end at different times. Tenants never inherit from each other.
func (l *Link) inherits(o owned) bool {
	if l.process.Replica == "" {
		return false
	}
	if o.link == nil {
		return l.process.Worker == l.relay.hub.o.Worker
	}
	return o.link.process.Replica != "" && o.link.process.Worker == l.process.Worker
}

// retract tells the client that everything the process showed is over, since its host no longer waits.
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

// glimpse is the part of a frame that the hub reads.
type glimpse struct {
	kind, session, call string
	empty               bool // a team_update without agents: the session has ended
}

// glance reads what the hub must know of a frame. It refuses a frame that clients could read in two ways: with a member
// that is repeated or differs in case.
func glance(data []byte) (f glimpse, err error) {
	// Deeper duplicates are the process's own business: an upstream's result may hold anything.
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
