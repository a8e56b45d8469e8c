// Package client connects approvers to a running callgate. It finds the announced address, has the other side prove
// itself, and reconnects after restarts and changes of the hub.
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
	firstTimeout  = 30 * time.Second // for the first connection: a person waits for it and can interrupt it
	MaxServer     = 64 << 20         // largest frame from the server, in bytes: arguments are not cut
	firstBackoff  = 250 * time.Millisecond
	longestWait   = 10 * time.Second
	noticeEvery   = 5 * time.Second // how often a client asks for problems
	clientAsks    = time.Second     // how often a client pings the server
	clientSilence = 5 * time.Second // how long the server may send nothing, not even a pong
)

// Client is an approver's connection. It reconnects when it breaks. Any goroutine may call its methods.
type Client struct {
	target Target
	events chan wire.Event
	ledger ledger
	cancel context.CancelFunc
	done   chan struct{}

	noticed []string // the last delivered problems; only for the goroutines of one connection

	mu   sync.Mutex      // guards conn and writes to it
	conn *websocket.Conn // nil while disconnected
}

// Dial connects to the companion. It fails if no companion is running or can be reached, or if the companion refuses
// the credential. Later the client reconnects by itself until ctx ends or Close is called. It reads the credential from
// the data directory each time, and shows it only after the other side has proved that it holds it too.
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

// Events returns the stream of events. It is closed after a final Disconnected, or when the context ends. A reader that
// stops reading stops the connection too.
func (c *Client) Events() <-chan wire.Event { return c.events }

// Answer sends an answer. It fills in Head except SessionID. The result comes as an event: a ToolApproveResolved, or an
// Error with the same ToolCallID. If Answer returns wire.ErrNotBack, which is an ErrClosed, nothing was sent: try again
// in a moment, unless an event says that the approval is over.
func (c *Client) Answer(f wire.ToolApprove) error {
	f.V, f.Type = wire.Version, wire.TypeToolApprove
	return c.sendNoted(f, func() error { return c.ledger.answered(f.ToolCallID) })
}

// SetAutonomy asks for a level. The result comes as an AutonomyChanged or Error event.
func (c *Client) SetAutonomy(sessionID, level string) error {
	return c.Send(wire.SetAutonomy{Head: wire.NewHead(wire.TypeSetAutonomy, sessionID), Level: level})
}

// Cancel ends the running calls and pending approvals of a session.
func (c *Client) Cancel(sessionID string) error {
	return c.Send(wire.Cancel{Head: wire.NewHead(wire.TypeCancel, sessionID)})
}

// AddAgent registers a subagent profile in a session. The result comes as a TeamUpdate event with its id, or an Error.
// AddAgent fills in Head except SessionID, as do all methods below.
func (c *Client) AddAgent(f wire.AgentAdd) error {
	f.V, f.Type = wire.Version, wire.TypeAgentAdd
	return c.Send(f)
}

// RemoveAgent ends a registered profile.
func (c *Client) RemoveAgent(sessionID, agentID string) error {
	return c.Send(wire.AgentRemove{Head: wire.NewHead(wire.TypeAgentRemove, sessionID), AgentID: agentID})
}

// BringTools replaces the tools that the client runs for a session; an empty list takes all of them back. The client
// MUST have connected with credentials.Tools. Each call comes as an MCPCall event, and the client MUST answer it with
// Result.
func (c *Client) BringTools(sessionID string, tools []wire.MCPTool) error {
	return c.Send(wire.MCPTools{Head: wire.NewHead(wire.TypeMCPTools, sessionID), Tools: wire.List(tools)})
}

// Result answers an MCPCall, once.
func (c *Client) Result(f wire.MCPResult) error {
	f.V, f.Type = wire.Version, wire.TypeMCPResult
	return c.Send(f)
}

// Chat asks the model of a session's host. The result comes as events: a ChatAsked, then a Token and a Done, or an
// Error. Chat fills in Head except SessionID.
func (c *Client) Chat(f wire.Chat) error {
	f.V, f.Type = wire.Version, wire.TypeChat
	return c.Send(f)
}

// ResetChat clears the conversation of a session. The result comes as a ChatCleared event.
func (c *Client) ResetChat(sessionID string) error {
	return c.Send(wire.ChatReset{Head: wire.NewHead(wire.TypeChatReset, sessionID)})
}

// Add adds a document to the knowledge base of a session. Add, Search, List and Remove fill in Head except SessionID.
// The result comes as a KBAdded, KBSearchResult, KBListResult, KBRemoved or Error event.
func (c *Client) Add(f wire.KBAdd) error {
	f.V, f.Type = wire.Version, wire.TypeKBAdd
	return c.Send(f)
}

// Search searches the knowledge base of a session; see Add.
func (c *Client) Search(f wire.KBSearch) error {
	f.V, f.Type = wire.Version, wire.TypeKBSearch
	return c.Send(f)
}

// List lists the knowledge base of a session; see Add.
func (c *Client) List(sessionID string) error {
	return c.Send(wire.KBList{Head: wire.NewHead(wire.TypeKBList, sessionID)})
}

// Remove removes a document from the knowledge base of a session; see Add.
func (c *Client) Remove(sessionID, documentID string) error {
	return c.Send(wire.KBRemove{Head: wire.NewHead(wire.TypeKBRemove, sessionID), DocumentID: documentID})
}

// Close ends the connection and waits until all goroutines of the client have ended.
func (c *Client) Close() {
	c.cancel()
	<-c.done
}

// Send sends a complete frame.
func (c *Client) Send(frame any) error {
	return c.sendNoted(frame, func() error { return nil })
}

// sendNoted calls note, then sends the frame unless note fails. Both see the same connection.
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

// run follows one connection after another until ctx ends or an error is final.
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
		if conn, address, err = c.reconnect(ctx, &wait); err != nil {
			return
		}
	}
}

// resume reconnects within resumeWithin, or returns false.
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

// reconnect reconnects, and retries until it succeeds or ctx ends. The pauses start at wait and keep growing while
// connections break early.
func (c *Client) reconnect(ctx context.Context, wait *time.Duration) (*websocket.Conn, string, error) {
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

// follow delivers the frames of one connection until it ends. If renewed, it builds on what the ledger knows.
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
	if !c.notice(ctx, address) { // first, so that nobody takes a part of the picture for all of it
		return ctx.Err()
	}
	if renewed {
		defer c.settleLater(ctx)()
	}
	alive := func() error { return conn.SetReadDeadline(time.Now().Add(clientSilence)) }
	pong := conn.PingHandler()
	conn.SetPingHandler(func(data string) error {
		_ = pong(data) // the server may be gone, but its last frames must still be read
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
			continue // notice asks for the problems itself
		}
		for _, e := range c.ledger.take(wire.Event{Frame: frame, Raw: data}) {
			if !c.deliver(ctx, e) {
				return ctx.Err()
			}
		}
	}
}

// askWhetherThere pings until ctx ends. A stopped process keeps its connections open, so only its silence gives it
// away.
func askWhetherThere(ctx context.Context, conn *websocket.Conn) {
	for now := range periodic.Every(ctx, clientAsks) {
		if conn.WriteControl(websocket.PingMessage, nil, now.Add(clientAsks)) != nil {
			return // the reader notices too
		}
	}
}

// notice asks the companion at address for its problems, and delivers a Notice if they changed. It returns false when
// ctx has ended.
func (c *Client) notice(ctx context.Context, address string) bool {
	target := c.target
	target.Address = address // another companion's problems do not concern this connection
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

// noticeAgain calls notice every noticeEvery until ctx ends.
func (c *Client) noticeAgain(ctx context.Context, address string) {
	for range periodic.Every(ctx, noticeEvery) {
		if !c.notice(ctx, address) {
			return
		}
	}
}

// Problems returns what a person who uses this address should know, one sentence each.
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

// problemsOf adds the joined processes that do not answer to the companion's own problems.
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
