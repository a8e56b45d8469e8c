package companion

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// Errors of Dial, besides ErrNotRunning.
var (
	ErrUnreachable  = errors.New("callgate does not answer")
	ErrImpostor     = errors.New("whatever listens there does not hold this user's credentials: it is not callgate, or one with another data directory")
	ErrUnauthorized = errors.New("callgate refused the credential")
	ErrNameTaken    = errors.New("the name is a person's who has a credential of their own")
	ErrNoCredential = errors.New("there is no such credential of a person")
	ErrVersion      = errors.New("callgate speaks another version of the protocol")
	ErrClosed       = errors.New("the connection is closed")
)

const (
	dialTimeout   = 5 * time.Second
	maxServer     = 64 << 20 // bytes of one frame from the server: arguments come whole
	firstBackoff  = 250 * time.Millisecond
	longestWait   = 10 * time.Second
	clientSilence = 90 * time.Second // the server pings three times in this time
)

// Target says where a client connects and as whom.
type Target struct {
	DataDir    string     // has the announcements and the credentials
	Address    string     // host:port, https://host:port on another machine; "" means the hub, or the newest that answers
	Credential Credential // "" means approve
	Client     ClientInfo
	Sessions   []string // to watch; nil means all
	Logger     *slog.Logger

	roots *x509.CertPool // whose certificates count; nil means the system's
}

// Event is what a Client delivers: one frame of the server, or a change of the connection.
type Event struct {
	// Frame points to a wire type of the server (*ToolApproveRequest, *Error, …), to Connected or to
	// Disconnected. It is nil for a frame whose type this version does not know.
	Frame any
	Raw   json.RawMessage // the frame as it came; nil for Connected and Disconnected
}

// Connected: the connection is there, again or for the first time. What was known is void: the replay of
// what waits follows. A connection that is renewed within two seconds, as when another process becomes the hub, is
// no event: the stream goes on.
type Connected struct{ Address string }

// Disconnected: the connection is gone. The client tries again by itself, unless Final is set.
type Disconnected struct {
	Err   error
	Final bool
}

// Client is a connection of an approver, renewed when it breaks. Its methods may be called by any
// goroutine.
type Client struct {
	target Target
	events chan Event
	ledger ledger
	cancel context.CancelFunc
	done   chan struct{}

	mu   sync.Mutex      // guards conn and its writes
	conn *websocket.Conn // nil while there is no connection
}

// Dial connects. It fails when no companion is running, is reached, or accepts the credential; later
// breaks are mended by the client itself until ctx ends or Close is called. The credential is read from
// the data directory each time and never shown before the other side has proved that it holds it too.
func Dial(ctx context.Context, t Target) (*Client, error) {
	if t.Credential == "" {
		t.Credential = CredentialApprove
	}
	if t.Logger == nil {
		t.Logger = slog.New(slog.DiscardHandler)
	}
	if refused := checkClient(t.Client); refused != nil {
		return nil, refused
	}
	conn, address, err := t.connect(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	c := &Client{target: t, events: make(chan Event, 64), cancel: cancel, done: make(chan struct{})}
	go c.run(ctx, conn, address)
	return c, nil
}

// Events returns the stream of events. It is closed after the last one: a final Disconnected, or the end
// of the context. A reader that stops reading stops the connection too.
func (c *Client) Events() <-chan Event { return c.events }

// Answer sends an answer. Head is filled in but for SessionID. What became of it comes as an event: a
// ToolApproveResolved, or an Error with the same ToolCallID.
func (c *Client) Answer(f ToolApprove) error {
	f.V, f.Type = Version, TypeToolApprove
	err := c.send(f)
	if err == nil {
		c.ledger.answered(f.ToolCallID)
	}
	return err
}

// SetAutonomy asks for a level. An AutonomyChanged or an Error comes back as an event.
func (c *Client) SetAutonomy(sessionID, level string) error {
	return c.send(SetAutonomy{Head: head(TypeSetAutonomy, sessionID), Level: level})
}

// Cancel ends what runs and waits in a session.
func (c *Client) Cancel(sessionID string) error {
	return c.send(Cancel{Head: head(TypeCancel, sessionID)})
}

// AddAgent registers a subagent profile in a session. A TeamUpdate with its id, or an Error, comes back as an event.
// Head is filled in but for SessionID, as in the frames of all methods below.
func (c *Client) AddAgent(f AgentAdd) error {
	f.V, f.Type = Version, TypeAgentAdd
	return c.send(f)
}

// RemoveAgent ends a registered profile.
func (c *Client) RemoveAgent(sessionID, agentID string) error {
	return c.send(AgentRemove{Head: head(TypeAgentRemove, sessionID), AgentID: agentID})
}

// BringTools says which tools the client runs itself for a session; none takes all of them back. The client has to
// have connected with CredentialTools. Each call comes as an MCPCall, which Result MUST answer.
func (c *Client) BringTools(sessionID string, tools []MCPTool) error {
	return c.send(MCPTools{Head: head(TypeMCPTools, sessionID), Tools: list(tools)})
}

// Result answers an MCPCall, once.
func (c *Client) Result(f MCPResult) error {
	f.V, f.Type = Version, TypeMCPResult
	return c.send(f)
}

// Chat asks the model of a session's host. A Token and a Done, or an Error, come back as events.
func (c *Client) Chat(sessionID, message string) error {
	return c.send(Chat{Head: head(TypeChat, sessionID), Message: message})
}

// Add, Search, List and Remove speak with the knowledge base of a session. Head is filled in but for SessionID. A
// KBAdded, KBSearchResult, KBListResult or KBRemoved, or an Error, comes back as an event.
func (c *Client) Add(f KBAdd) error {
	f.V, f.Type = Version, TypeKBAdd
	return c.send(f)
}

// Search is described at Add.
func (c *Client) Search(f KBSearch) error {
	f.V, f.Type = Version, TypeKBSearch
	return c.send(f)
}

// List is described at Add.
func (c *Client) List(sessionID string) error {
	return c.send(KBList{Head: head(TypeKBList, sessionID)})
}

// Remove is described at Add.
func (c *Client) Remove(sessionID, documentID string) error {
	return c.send(KBRemove{Head: head(TypeKBRemove, sessionID), DocumentID: documentID})
}

// Close ends the connection and waits until nothing of the client runs any more.
func (c *Client) Close() {
	c.cancel()
	<-c.done
}

func (c *Client) send(frame any) error {
	data, err := encode(frame)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		return ErrClosed
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
		case websocket.IsCloseError(err, closeProtocolMismatch):
			err = ErrVersion
		case websocket.IsCloseError(err, closeNameTaken):
			err = ErrNameTaken
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
		if !c.deliver(ctx, Event{Frame: Disconnected{Err: err, Final: final}}) || final {
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
		select {
		case <-time.After(resumeEvery/2 + mathrand.N(resumeEvery)):
		case <-ctx.Done():
			return nil, "", false
		}
		conn, address, err := c.target.connect(ctx)
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
		select {
		case <-time.After(*wait/2 + mathrand.N(*wait/2)):
		case <-ctx.Done():
			return nil, "", ctx.Err()
		}
		*wait = min(2**wait, longestWait)
		conn, address, err := c.target.connect(ctx)
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
	c.conn = conn
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.conn = nil
		c.mu.Unlock()
	}()
	if renewed {
		c.ledger.renewed()
		defer c.settleLater(ctx)()
	} else {
		c.ledger.clear()
		if !c.deliver(ctx, Event{Frame: Connected{Address: address}}) {
			return ctx.Err()
		}
	}
	alive := func() error { return conn.SetReadDeadline(time.Now().Add(clientSilence)) }
	pong := conn.PingHandler()
	conn.SetPingHandler(func(data string) error { return errors.Join(alive(), pong(data)) })
	for {
		if err := alive(); err != nil {
			return err
		}
		_, data, err := conn.ReadMessage()
		if err != nil {
			return err
		}
		frame, err := decodeServer(data)
		if err != nil {
			return err
		}
		for _, e := range c.ledger.take(Event{Frame: frame, Raw: data}) {
			if !c.deliver(ctx, e) {
				return ctx.Err()
			}
		}
	}
}

func (c *Client) deliver(ctx context.Context, e Event) bool {
	select {
	case c.events <- e:
		return true
	case <-ctx.Done():
		return false
	}
}

// connect finds the companion, has it prove itself, opens the WebSocket and says hello.
func (t Target) connect(ctx context.Context) (_ *websocket.Conn, address string, err error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	address, token, err := t.prove(ctx, t.Credential)
	if err != nil {
		return nil, "", err
	}
	dialer := websocket.Dialer{TLSClientConfig: t.tls(), HandshakeTimeout: dialTimeout, Subprotocols: []string{Subprotocol}}
	conn, response, err := dialer.DialContext(ctx, "ws"+strings.TrimPrefix(urlOf(address), "http")+"/ws", http.Header{"Authorization": {"Bearer " + token}})
	if response != nil && response.StatusCode == http.StatusUnauthorized {
		return nil, "", ErrUnauthorized
	}
	if err != nil {
		return nil, "", fmt.Errorf("%w at %s: %w", ErrUnreachable, address, err)
	}
	conn.SetReadLimit(maxServer)
	sessions := t.Sessions
	if sessions == nil {
		sessions = []string{AllSessions}
	}
	hello, err := encode(Hello{Head: head(TypeHello, ""), Client: t.Client, Sessions: sessions})
	if err == nil {
		err = conn.WriteMessage(websocket.TextMessage, hello)
	}
	if err != nil {
		conn.Close()
		return nil, "", fmt.Errorf("say hello: %w", err)
	}
	return conn, address, nil
}

// direct follows no redirects and asks no proxy: what is said there is for one other side.
func (t Target) direct() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, TLSClientConfig: t.tls()},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (t Target) tls() *tls.Config { return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: t.roots} }

// prove finds a companion, reads the credential and has the other side prove that it holds it too. Of several
// that are announced it takes the newest that can.
func (t Target) prove(ctx context.Context, name Credential) (address, token string, err error) {
	addresses := []string{t.Address}
	if t.Address == "" {
		found, err := companions(t.DataDir)
		if err != nil {
			return "", "", err
		}
		addresses = addresses[:0]
		for _, a := range found {
			addresses = append(addresses, a.Address)
		}
	}
	token, err = (&Credentials{dir: credentialsDir(t.DataDir)}).Token(name)
	if errors.Is(err, fs.ErrNotExist) && name.Person() != "" {
		return "", "", fmt.Errorf("%w: %s", ErrNoCredential, name)
	}
	if err != nil {
		return "", "", fmt.Errorf("read the %s credential: %w", name, err)
	}
	var first error
	for _, address := range addresses {
		address, err := t.proveAt(ctx, address, name, token)
		if err == nil {
			return address, token, nil
		}
		first = cmp.Or(first, err)
	}
	return "", "", first
}

func (t Target) proveAt(ctx context.Context, address string, name Credential, token string) (string, error) {
	if t.Address == "" { // one of several must not use up the others' time
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, proofTimeout)
		defer cancel()
	}
	if remote, ok := strings.CutPrefix(address, remoteScheme); ok {
		host, port, err := net.SplitHostPort(strings.TrimSuffix(remote, "/"))
		if err != nil {
			return "", fmt.Errorf("companion address %q: use https://host:port", address)
		}
		address = remoteScheme + net.JoinHostPort(host, port)
	} else {
		var err error
		if address, err = loopback(address); err != nil {
			return "", err
		}
	}
	return address, t.challenge(ctx, address, name, token)
}

// remoteScheme begins the address of a callgate on another machine.
const remoteScheme = "https://"

// urlOf is where the companion at address is asked: on this machine as it is, elsewhere over TLS alone.
func urlOf(address string) string {
	if strings.HasPrefix(address, remoteScheme) {
		return address
	}
	return "http://" + address
}

// challenge asks whoever listens at address to prove that it holds token, without showing it.
func (t Target) challenge(ctx context.Context, address string, name Credential, token string) error {
	var random [nonceLength / 2]byte
	rand.Read(random[:])
	nonce := hex.EncodeToString(random[:])
	query := url.Values{"credential": {string(name)}, "nonce": {nonce}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, urlOf(address)+"/api/proof?"+query.Encode(), nil)
	if err != nil {
		return fmt.Errorf("companion address %q: %w", address, err)
	}
	response, err := t.direct().Do(request)
	if err != nil {
		return fmt.Errorf("%w at %s: %w", ErrUnreachable, address, err)
	}
	defer response.Body.Close()
	var answer struct {
		Proof string `json:"proof"`
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxPrivate))
	if err != nil {
		return fmt.Errorf("%w at %s: %w", ErrUnreachable, address, err)
	}
	if err := json.Unmarshal(body, &answer); err != nil || !hmac.Equal([]byte(answer.Proof), []byte(prove(token, nonce, strings.TrimPrefix(address, remoteScheme)))) {
		return fmt.Errorf("%s: %w", address, ErrImpostor)
	}
	return nil
}

// serverFrames are the frames that a server sends.
var serverFrames = map[string]func() any{
	TypeToolStart:           func() any { return new(ToolStart) },
	TypeToolApproveRequest:  func() any { return new(ToolApproveRequest) },
	TypeToolApproveResolved: func() any { return new(ToolApproveResolved) },
	TypeToolResult:          func() any { return new(ToolResult) },
	TypeAgentState:          func() any { return new(AgentState) },
	TypeTeamUpdate:          func() any { return new(TeamUpdate) },
	TypeAutonomyChanged:     func() any { return new(AutonomyChanged) },
	TypeAuditEntry:          func() any { return new(AuditEntry) },
	TypeMCPCall:             func() any { return new(MCPCall) },
	TypeMCPCancel:           func() any { return new(MCPCancel) },
	TypeToken:               func() any { return new(Token) },
	TypeDone:                func() any { return new(Done) },
	TypeKBAdded:             func() any { return new(KBAdded) },
	TypeKBSearchResult:      func() any { return new(KBSearchResult) },
	TypeKBListResult:        func() any { return new(KBListResult) },
	TypeKBRemoved:           func() any { return new(KBRemoved) },
	TypeIndexStart:          func() any { return new(IndexStart) },
	TypeIndexProgress:       func() any { return new(IndexProgress) },
	TypeIndexDone:           func() any { return new(IndexDone) },
	TypeError:               func() any { return new(Error) },
}

// decodeServer reads a frame of the server. It is nil for a type that this version does not know.
func decodeServer(data []byte) (any, error) {
	var head Head
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("frame from callgate: %w", err)
	}
	if head.V != Version {
		return nil, ErrVersion
	}
	make, ok := serverFrames[head.Type]
	if !ok {
		return nil, nil
	}
	frame := make()
	if err := json.Unmarshal(data, frame); err != nil {
		return nil, fmt.Errorf("%s from callgate: %w", head.Type, err)
	}
	return frame, nil
}
