// Package client connects approvers with a running callgate. It finds the announced address, has it prove itself, and
// follows it over restarts and changes of the hub.
package client

import (
	"cmp"
	"context"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
	"callgate/internal/periodic"
)

const (
	dialTimeout   = 5 * time.Second
	firstTimeout  = 30 * time.Second // of the first connection: a person waits for it and can end it
	MaxServer     = 64 << 20         // bytes of one frame from the server: arguments come whole
	firstBackoff  = 250 * time.Millisecond
	longestWait   = 10 * time.Second
	noticeEvery   = 5 * time.Second // how often a client asks for problems
	clientAsks    = time.Second     // how often a client asks whether the server is there
	clientSilence = 5 * time.Second // how long the server may say nothing, not even that it is there
)

// Client is a connection of an approver, renewed when it breaks. Its methods may be called by any
// goroutine.
type Client struct {
	target Target
	events chan wire.Event
	ledger ledger
	cancel context.CancelFunc
	done   chan struct{}

	noticed []string // the problems that were delivered last; of the goroutine of one connection

	mu   sync.Mutex      // guards conn and its writes
	conn *websocket.Conn // nil while there is no connection
}

// Dial connects. It fails when no companion is running, is reached, or accepts the credential; later
// breaks are mended by the client itself until ctx ends or Close is called. The credential is read from
// the data directory each time and never shown before the other side has proved that it holds it too.
func Dial(ctx context.Context, t Target) (*Client, error) {
	t.Credential = cmp.Or(t.Credential, credentials.Approve)
	t.Logger = cmp.Or(t.Logger, slog.New(slog.DiscardHandler))
	if refused := wire.CheckClient(t.Client); refused != nil {
		return nil, refused
	}
	conn, address, err := t.connect(ctx, firstTimeout)
	if err != nil {
		return nil, err
	}
	t.Slow, t.renews = nil, true
	ctx, cancel := context.WithCancel(ctx)
	c := &Client{target: t, events: make(chan wire.Event, 64), cancel: cancel, done: make(chan struct{})}
	go c.run(ctx, conn, address)
	return c, nil
}

// Events returns the stream of events. It is closed after the last one: a final Disconnected, or the end
// of the context. A reader that stops reading stops the connection too.
func (c *Client) Events() <-chan wire.Event { return c.events }

// Answer sends an answer. Head is filled in but for SessionID. What became of it comes as an event: a
// ToolApproveResolved, or an Error with the same ToolCallID. With ErrNotBack, which is an ErrClosed, nothing was sent:
// the approval may be answered again in a moment, or is told to be over.
func (c *Client) Answer(f wire.ToolApprove) error {
	f.V, f.Type = wire.Version, wire.TypeToolApprove
	return c.sendNoted(f, func() error { return c.ledger.answered(f.ToolCallID) })
}

// SetAutonomy asks for a level. An AutonomyChanged or an Error comes back as an event.
func (c *Client) SetAutonomy(sessionID, level string) error {
	return c.Send(wire.SetAutonomy{Head: wire.NewHead(wire.TypeSetAutonomy, sessionID), Level: level})
}

// Cancel ends what runs and waits in a session.
func (c *Client) Cancel(sessionID string) error {
	return c.Send(wire.Cancel{Head: wire.NewHead(wire.TypeCancel, sessionID)})
}

// AddAgent registers a subagent profile in a session. A TeamUpdate with its id, or an Error, comes back as an event.
// Head is filled in but for SessionID, as in the frames of all methods below.
func (c *Client) AddAgent(f wire.AgentAdd) error {
	f.V, f.Type = wire.Version, wire.TypeAgentAdd
	return c.Send(f)
}

// RemoveAgent ends a registered profile.
func (c *Client) RemoveAgent(sessionID, agentID string) error {
	return c.Send(wire.AgentRemove{Head: wire.NewHead(wire.TypeAgentRemove, sessionID), AgentID: agentID})
}

// BringTools says which tools the client runs itself for a session; none takes all of them back. The client has to
// have connected with CredentialTools. Each call comes as an MCPCall, which Result MUST answer.
func (c *Client) BringTools(sessionID string, tools []wire.MCPTool) error {
	return c.Send(wire.MCPTools{Head: wire.NewHead(wire.TypeMCPTools, sessionID), Tools: wire.List(tools)})
}

// Result answers an MCPCall, once.
func (c *Client) Result(f wire.MCPResult) error {
	f.V, f.Type = wire.Version, wire.TypeMCPResult
	return c.Send(f)
}

// Chat asks the model of a session's host. A ChatAsked, and then a Token and a Done, or an Error, come back as events.
// Head is filled in but for SessionID.
func (c *Client) Chat(f wire.Chat) error {
	f.V, f.Type = wire.Version, wire.TypeChat
	return c.Send(f)
}

// ResetChat ends the conversation of a session. A ChatCleared comes back as an event.
func (c *Client) ResetChat(sessionID string) error {
	return c.Send(wire.ChatReset{Head: wire.NewHead(wire.TypeChatReset, sessionID)})
}

// Add, Search, List and Remove speak with the knowledge base of a session. Head is filled in but for SessionID. A
// KBAdded, KBSearchResult, KBListResult or KBRemoved, or an Error, comes back as an event.
func (c *Client) Add(f wire.KBAdd) error {
	f.V, f.Type = wire.Version, wire.TypeKBAdd
	return c.Send(f)
}

// Search is described at Add.
func (c *Client) Search(f wire.KBSearch) error {
	f.V, f.Type = wire.Version, wire.TypeKBSearch
	return c.Send(f)
}

// List is described at Add.
func (c *Client) List(sessionID string) error {
	return c.Send(wire.KBList{Head: wire.NewHead(wire.TypeKBList, sessionID)})
}

// Remove is described at Add.
func (c *Client) Remove(sessionID, documentID string) error {
	return c.Send(wire.KBRemove{Head: wire.NewHead(wire.TypeKBRemove, sessionID), DocumentID: documentID})
}

// Close ends the connection and waits until nothing of the client runs any more.
func (c *Client) Close() {
	c.cancel()
	<-c.done
}

// Send sends a frame that is complete.
func (c *Client) Send(frame any) error {
	return c.sendNoted(frame, func() error { return nil })
}

// sendNoted calls note, and sends the frame unless that fails. The connection is the same to both.
func (c *Client) sendNoted(frame any, note func() error) error {
	data, err := wire.Encode(frame)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		return wire.ErrClosed
	}
	if err := note(); err != nil {
		return err
	}
	if err := c.conn.SetWriteDeadline(time.Now().Add(dialTimeout)); err != nil {
		return err
	}
	return c.conn.WriteMessage(websocket.TextMessage, data)
}

// run follows one connection after the other.
func (c *Client) run(ctx context.Context, conn *websocket.Conn, address string) {
	defer close(c.done)
	defer close(c.events)
	defer c.cancel()
	wait := firstBackoff
	for renewed := false; ; {
		began := time.Now()
		err := c.follow(ctx, conn, address, renewed)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > longestWait {
			wait = firstBackoff
		}
		final := true
		switch {
		case websocket.IsCloseError(err, wire.CloseProtocolMismatch):
			err = wire.ErrVersion
		case websocket.IsCloseError(err, wire.CloseNameTaken):
			err = wire.ErrNameTaken
		default:
			final = false
		}
		if renewed = false; !final && time.Since(began) > resumeAfter {
			if conn, address, renewed = c.resume(ctx); renewed {
				continue
			}
			if ctx.Err() != nil {
				return
			}
		}
		if !c.deliver(ctx, wire.Event{Frame: wire.Disconnected{Err: err, Final: final}}) || final {
			return
		}
		if conn, address, err = c.again(ctx, &wait); err != nil {
			return
		}
	}
}

// resume connects at once, if it can within resumeWithin.
func (c *Client) resume(ctx context.Context) (*websocket.Conn, string, bool) {
	ctx, cancel := context.WithTimeout(ctx, resumeWithin)
	defer cancel()
	for {
		if !periodic.Sleep(ctx, resumeEvery/2+mathrand.N(resumeEvery)) {
			return nil, "", false
		}
		conn, address, err := c.target.connect(ctx, dialTimeout)
		if err == nil {
			return conn, address, true
		}
		c.target.Logger.Debug("companion client: not connected", slog.Any("error", err))
	}
}

// again connects until it works or ctx ends. The pauses grow from wait on, and go on growing over
// connections that break soon.
func (c *Client) again(ctx context.Context, wait *time.Duration) (*websocket.Conn, string, error) {
	for {
		if !periodic.Sleep(ctx, *wait/2+mathrand.N(*wait/2)) {
			return nil, "", ctx.Err()
		}
		*wait = min(2**wait, longestWait)
		conn, address, err := c.target.connect(ctx, dialTimeout)
		if err == nil {
			return conn, address, nil
		}
		c.target.Logger.Debug("companion client: not connected", slog.Any("error", err))
	}
}

// follow delivers the frames of one connection until it ends. With renewed it goes on with what was known.
func (c *Client) follow(ctx context.Context, conn *websocket.Conn, address string, renewed bool) error {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	c.mu.Lock()
	if c.conn = conn; renewed {
		c.ledger.renewed()
	} else {
		c.ledger.clear()
	}
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.conn = nil
		c.mu.Unlock()
	}()
	if !renewed {
		if !c.deliver(ctx, wire.Event{Frame: wire.Connected{Address: address}}) {
			return ctx.Err()
		}
		c.noticed = nil
	}
	if !c.notice(ctx, address) { // first, so that nobody takes a part for the whole
		return ctx.Err()
	}
	if renewed {
		defer c.settleLater(ctx)()
	}
	alive := func() error { return conn.SetReadDeadline(time.Now().Add(clientSilence)) }
	pong := conn.PingHandler()
	conn.SetPingHandler(func(data string) error {
		_ = pong(data) // to a server that has gone: what it said last, and why, is still to be read
		return alive()
	})
	conn.SetPongHandler(func(string) error { return alive() })
	beside, stop := context.WithCancel(ctx)
	var helpers sync.WaitGroup
	defer helpers.Wait()
	defer stop()
	helpers.Go(func() { askWhetherThere(beside, conn) })
	helpers.Go(func() { c.noticeAgain(beside, address) })
	for {
		if err := alive(); err != nil {
			return err
		}
		_, data, err := conn.ReadMessage()
		if err != nil {
			return err
		}
		frame, err := wire.DecodeServer(data)
		if err != nil {
			return err
		}
		if f, ok := frame.(*wire.Error); ok && f.Code == wire.CodeProblem {
			continue // it is among the problems that were asked for
		}
		for _, e := range c.ledger.take(wire.Event{Frame: frame, Raw: data}) {
			if !c.deliver(ctx, e) {
				return ctx.Err()
			}
		}
	}
}

// askWhetherThere pings until ctx ends. A server that is stopped keeps its connections and answers nothing: only its
// silence tells.
func askWhetherThere(ctx context.Context, conn *websocket.Conn) {
	for now := range periodic.Every(ctx, clientAsks) {
		if conn.WriteControl(websocket.PingMessage, nil, now.Add(clientAsks)) != nil {
			return // the reader notices
		}
	}
}

// notice asks the companion at address for its problems and delivers a Notice when they are others than before. It is
// false when ctx has ended.
func (c *Client) notice(ctx context.Context, address string) bool {
	target := c.target
	target.Address = address // another's problems are not those of what is shown here
	problems, err := target.Problems(ctx)
	if err != nil {
		c.target.Logger.Debug("companion client: problems not known", slog.Any("error", err))
		return ctx.Err() == nil
	}
	if slices.Equal(problems, c.noticed) {
		return true
	}
	c.noticed = problems
	return c.deliver(ctx, wire.Event{Frame: wire.Notice{Problems: problems}})
}

// noticeAgain calls notice from time to time until ctx ends.
func (c *Client) noticeAgain(ctx context.Context, address string) {
	for range periodic.Every(ctx, noticeEvery) {
		if !c.notice(ctx, address) {
			return
		}
	}
}

// Problems returns what a person who looks through this address should know, one sentence each.
func (t Target) Problems(ctx context.Context) ([]string, error) {
	var all struct {
		Problems  []string
		Processes []wire.ProcessInfo
	}
	if err := t.Ask(ctx, http.MethodGet, "/api/info", nil, &all); err != nil {
		return nil, err
	}
	return problemsOf(all.Problems, all.Processes), nil
}

// problemsOf adds to what a companion says of itself the processes that joined it and do not answer.
func problemsOf(said []string, processes []wire.ProcessInfo) []string {
	for _, p := range processes {
		if p.Silent {
			said = append(said, wire.Unseen(p.PID, p.Replica))
		}
	}
	return said
}

func (c *Client) deliver(ctx context.Context, e wire.Event) bool {
	select {
	case c.events <- e:
		return true
	case <-ctx.Done():
		return false
	}
}
