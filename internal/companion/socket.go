package companion

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"callgate/audit"
	"callgate/gate"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/hub"
	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
)

const (
	maxSockets  = 256 // open WebSockets of one credential
	maxAtOnce   = 64  // events whose frames are written together
	maxReplies  = 32  // replies to a client's own frames that may wait to be written
	maxPerWhile = 100 // frames that a client may send in each hub.RateWhile
	maxName     = 64  // runes of an approver's name
)

var upgrader = websocket.Upgrader{
	HandshakeTimeout: 5 * time.Second,
	Subprotocols:     []string{wire.Subprotocol},
	CheckOrigin:      func(*http.Request) bool { return true }, // guard has checked it for every path
	Error: func(w http.ResponseWriter, _ *http.Request, status int, reason error) {
		rest.WriteError(w, status, wire.CodeBadMessage, reason.Error())
	},
}

// socket is one WebSocket client. The handler's goroutine reads, and another writes all data frames. Each client has
// its own subscription at the gate, whose bounded queue is its send queue. If it is full, the gate closes it, and the
// client is evicted without slowing down the others. The replay shows what it missed when it reconnects.
type socket struct {
	server    *Server
	conn      *websocket.Conn
	out       *batching                     // below conn
	as        credentials.Credential        // the client's role when it connected
	may       func() credentials.Credential // returns the client's current role: "" once its credential was rotated
	who       audit.Author                  // "kind:name" and the client's address, for the record
	person    string                        // the person whose credential the client has shown, or ""
	replies   chan reply
	stream    *stream    // only for the writer, except wants
	toolbox   *toolbox   // the tools that the client brought
	relay     *hub.Relay // to the processes that joined; nil if the client is the hub
	questions questions  // the client's running questions to knowledge bases
	chats     questions  // the client's running chats with models
	window    time.Time  // when the current rate window began
	count     int        // frames in the window
	sent      time.Time  // when events were last written
}

// reply is a frame in reply to one of the client's: an error, or what it asked for. If close is not 0, it is the code
// that ends the connection after the frame, and why is the reason.
type reply struct {
	frame any
	close int
	why   string
}

// places counts the WebSockets of each credential, so that a flood with one credential does not lock out the others.
type places struct {
	mu    sync.Mutex
	taken map[string]int
}

func (p *places) enter(holder string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken[holder] >= maxSockets {
		return false
	}
	if p.taken == nil {
		p.taken = map[string]int{}
	}
	p.taken[holder]++
	return true
}

func (p *places) leave(holder string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken[holder]--; p.taken[holder] == 0 {
		delete(p.taken, holder)
	}
}

// rechecks tells all WebSockets at once to check their credentials again.
type rechecks struct {
	mu   sync.Mutex
	next chan struct{} // closed by the next recheck; nil if nobody waits

	state  string // of the credentials at the last look
	looked time.Time
}

// lookEvery is how often the credentials are checked for changes. A change ends connections within about that time.
const lookEvery = time.Second

// look reports whether the credentials have changed since the last look. It looks once in lookEvery, no matter how
// often it is called. It reports a change once, so the caller MUST tell the others.
func (r *rechecks) look(held *credentials.Store) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.looked) < lookEvery*9/10 {
		return false
	}
	before := r.state
	r.looked, r.state = time.Now(), held.State()
	return r.state != before
}

func (r *rechecks) wait() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next == nil {
		r.next = make(chan struct{})
	}
	return r.next
}

// Recheck ends the WebSockets whose credential no longer works at once. Without it they end within lookEvery.
func (s *Server) Recheck() {
	s.rechecks.mu.Lock()
	defer s.rechecks.mu.Unlock()
	if s.rechecks.next != nil {
		close(s.rechecks.next)
		s.rechecks.next = nil
	}
}

// look calls Recheck if the credentials have changed.
func (s *Server) look() {
	if s.rechecks.look(s.options.Credentials) {
		s.Recheck()
	}
}

// stillAllowed reports whether the client's credential still works. If not, it ends the connection.
func (c *socket) stillAllowed() bool {
	if c.may() != "" {
		return true
	}
	c.bye(websocket.ClosePolicyViolation, "the credential was rotated")
	return false
}

func (s *Server) handleSocket(w http.ResponseWriter, r *http.Request) {
	may := func() credentials.Credential { return s.may.caller(r, websocket.Subprotocols(r)) }
	as := may()
	if as == "" {
		rest.Unauthorized(w)
		return
	}
	if as == credentials.Prompt {
		rest.WriteError(w, http.StatusForbidden, wire.CodeUnauthorized, promptOnly)
		return
	}
	holder := string(as)
	if person := hub.PersonOf(r); person != "" {
		holder += "@" + person
	}
	if !s.sockets.enter(holder) {
		rest.WriteError(w, http.StatusServiceUnavailable, wire.CodeBadMessage, fmt.Sprintf("%d clients are connected with the credential %s, which is as many as may: close one; other credentials have places of their own", maxSockets, holder))
		return
	}
	defer s.sockets.leave(holder)
	taken := &gathers{ResponseWriter: w}
	conn, err := upgrader.Upgrade(taken, r, nil)
	if err != nil {
		s.log.Debug("companion: upgrade failed", slog.Any("error", err))
		return
	}
	c := &socket{server: s, conn: conn, out: taken.conn, as: as, may: may, who: audit.Author{From: hub.ClientAddress(r)}, person: hub.PersonOf(r), replies: make(chan reply, maxReplies)}
	c.serve(r.Context(), hub.DoorOf(r) != nil)
}

// serve runs the connection from hello to its end. The end of ctx ends it too. If all is set, the client also follows
// the processes that joined.
func (c *socket) serve(ctx context.Context, all bool) {
	defer c.conn.Close()
	closing := make(chan struct{})
	defer close(closing)
	c.server.serving.Go(func() {
		select {
		case <-ctx.Done():
			c.bye(websocket.CloseGoingAway, "callgate ends")
		case <-closing:
		}
	})
	c.conn.SetReadLimit(wire.MaxMessage)

	hello, err := c.hello()
	if err != nil {
		c.server.log.Debug("companion: no hello", slog.Any("error", err))
		return
	}
	if c.person != "" {
		hello.Client.Name = c.person
	} else if refused := c.server.may.refuseTaken(hello.Client.Name); all && refused != nil { // the hub has checked the name already
		c.turnAway(refused)
		return
	}
	c.who.By = approverName(hello.Client)
	c.toolbox = newToolbox(c.server.backend.Bringer, c.who.By, c.server.timing.tool)
	defer c.toolbox.close()
	c.server.log.Info("companion: client connected", "client", c.who.By)
	defer c.server.log.Info("companion: client gone", "client", c.who.By)

	if all {
		for _, problem := range c.server.hub.Problems() { // before the client sees anything else
			if err := c.send(wire.ErrorFrame(wire.Refuse(wire.CodeProblem, "%s", problem), "", "")); err != nil {
				return
			}
		}
		raw, err := wire.Encode(hello)
		if err != nil {
			c.server.log.Error("companion: client refused", slog.Any("error", err))
			return
		}
		c.relay = c.server.hub.Follow(raw, c.may, c.who.From, c.person)
		defer c.relay.Close()
	}
	c.stream = newStream(hello.Sessions, c.as)
	subscription := c.server.backend.Gate.Subscribe()
	defer subscription.Close()
	done := make(chan struct{})
	c.server.serving.Go(func() {
		defer close(done)
		defer c.conn.Close() // ends read
		defer rest.Recover(c.server.log, "the frames for a client")
		c.write(subscription.Events)
	})
	c.read()
	c.questions.end()
	c.chats.end()
	close(c.replies)
	<-done
}

// hello waits for the first frame and checks it. If it refuses the frame, it has told the client.
func (c *socket) hello() (wire.Hello, error) {
	var hello wire.Hello
	if err := c.conn.SetReadDeadline(time.Now().Add(c.server.timing.hello)); err != nil {
		return hello, err
	}
	for {
		data, err := c.next()
		if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
			c.turnAway(wire.Refuse(wire.CodeBadMessage, "no hello within %v", c.server.timing.hello))
			return hello, err
		}
		if refused, ok := errors.AsType[*wire.Refusal](err); ok {
			c.turnAway(refused)
			return hello, err
		}
		if err != nil {
			return hello, err
		}
		if string(data) == "ping" {
			continue
		}
		head, refused := readHead(data)
		if refused == nil && head.Type != wire.TypeHello {
			refused = wire.Refuse(wire.CodeBadMessage, "the first frame must be hello")
		}
		if refused == nil {
			refused = rest.Decode(data, &hello)
		}
		if refused == nil {
			refused = wire.CheckClient(hello.Client)
		}
		if refused != nil {
			c.turnAway(refused)
			return hello, refused
		}
		return hello, nil
	}
}

// turnAway sends an error and closes the connection. It is for use before the writer runs.
func (c *socket) turnAway(r *wire.Refusal) {
	if err := c.send(wire.ErrorFrame(r, "", "")); err != nil {
		return
	}
	c.bye(cmp.Or(r.Close, websocket.ClosePolicyViolation), r.Message)
}

// reply queues an error for the writer. It returns false if the connection must end: because the refusal says so, or
// because the client does not read.
func (c *socket) reply(r *wire.Refusal, session, call string) bool {
	select {
	case c.replies <- reply{wire.ErrorFrame(r, session, call), r.Close, r.Message}:
		return r.Close == 0
	default:
		c.bye(websocket.ClosePolicyViolation, "too slow")
		return false
	}
}

// give queues a frame that the client asked for. If the client does not read, it is disconnected.
func (c *socket) give(frame any) {
	select {
	case c.replies <- reply{frame: frame}:
	default:
		c.bye(websocket.ClosePolicyViolation, "too slow")
	}
}

// write sends events, replies and pings until the connection ends, the reader has ended (replies is closed), or the
// gate has closed the subscription.
func (c *socket) write(events <-chan gate.Event) {
	ping := time.NewTicker(c.server.timing.ping)
	defer ping.Stop()
	var relayed chan []byte
	var behind chan struct{}
	recheck := c.server.rechecks.wait()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	c.server.look()
	if !c.stillAllowed() { // it may have changed since the client connected
		return
	}
	if c.relay != nil {
		relayed, behind = c.relay.Frames, c.relay.Failed
	}
	for {
		var err error
		select {
		case event, ok := <-events:
			if !ok {
				c.bye(websocket.CloseTryAgainLater, "too slow, or callgate is stopping: connect again")
				return
			}
			err = c.sendEvents(event, events)
		case frame := <-c.toolbox.out:
			err = c.send(frame)
		case data := <-relayed:
			err = c.sendText(data)
		case <-behind:
			c.bye(websocket.CloseTryAgainLater, "frames were lost: connect again")
			return
		case r, ok := <-c.replies:
			if !ok {
				return
			}
			err = c.send(r.frame)
			if err == nil && r.close != 0 {
				c.bye(r.close, r.why)
				return
			}
		case <-recheck:
			recheck = c.server.rechecks.wait()
			if !c.stillAllowed() {
				return
			}
		case <-look.C:
			c.server.look()
		case <-ping.C:
			if !c.stillAllowed() {
				return
			}
			err = c.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(c.server.timing.Write))
		}
		if err != nil {
			c.server.log.Debug("companion: client evicted", "client", c.who.By, slog.Any("error", err))
			return
		}
	}
}

// gatherFor is the shortest time between two writes of events to one client. At a thousand events a second, system
// calls would otherwise be most of the work.
const gatherFor = 4 * time.Millisecond

// sendEvents writes the frames of an event, and of those that wait behind it, in one batch.
func (c *socket) sendEvents(event gate.Event, more <-chan gate.Event) (err error) {
	time.Sleep(gatherFor - time.Since(c.sent))
	c.sent = time.Now()
	c.out.gather()
	for n, ok := 0, true; ok && err == nil; n++ {
		if c.relay != nil {
			c.relay.Own(event)
		}
		err = c.sendEvent(event)
		if n >= maxAtOnce {
			break
		}
		select {
		case event, ok = <-more: // the caller notices a closed channel too
		default:
			ok = false
		}
	}
	return errors.Join(err, c.out.release())
}

func (c *socket) sendEvent(event gate.Event) error {
	switch {
	case !c.stream.wants(event.Session()):
		return nil
	case c.stream.bare:
		return c.send(bareFrames(event)...)
	}
	for _, data := range c.server.encodings.of(event, c.encode) {
		if err := c.sendText(data); err != nil {
			return err
		}
	}
	return c.send(c.stream.own(event)...)
}

// encode returns frames as JSON. It leaves out a frame that cannot be encoded: failing would only bring the frame back
// after every reconnect.
func (c *socket) encode(frames []any) (list [][]byte) {
	for _, frame := range frames {
		data, err := wire.Encode(frame)
		if err != nil {
			c.server.log.Error("companion: frame left out", slog.Any("error", err))
			continue
		}
		list = append(list, data)
	}
	return list
}

// send writes frames. It fails if the client does not take one in time.
func (c *socket) send(frames ...any) error {
	for _, data := range c.encode(frames) {
		if err := c.sendText(data); err != nil {
			return err
		}
	}
	return nil
}

func (c *socket) sendText(data []byte) error {
	if err := c.conn.SetWriteDeadline(time.Now().Add(c.server.timing.Write)); err != nil {
		return err
	}
	return c.conn.WriteMessage(websocket.TextMessage, data)
}

// linkFor returns the link to the process that a client's frame is for, or nil for this process or an unknown one.
func (c *socket) linkFor(data []byte, session string) *hub.Link {
	if c.relay == nil || session == "" {
		return nil
	}
	return c.relay.LinkFor(data, session)
}

// bye sends a close frame with the reason and closes the connection. Any goroutine may call it.
func (c *socket) bye(code int, reason string) {
	if len(reason) > 120 { // a control frame holds 125 bytes
		reason = strings.ToValidUTF8(reason[:120], "")
	}
	deadline := time.Now().Add(min(c.server.timing.Write, time.Second))
	if err := c.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, reason), deadline); err != nil {
		c.server.log.Debug("companion: close frame not sent", slog.Any("error", err))
	}
	c.conn.Close()
}
