// Package proxy serves MCP hosts. It takes each call through the gate to its server, and relays everything else.
//
// It forwards only what the gate allowed, at most once, in the exact bytes that the gate judged. All else passes
// unchanged in both directions.
package proxy

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/budget"
	"callgate/internal/hooks"
	"callgate/internal/traces"
	"callgate/internal/upstream"
	"callgate/proxy/internal/catalogue"
	"callgate/proxy/internal/events"
	"callgate/proxy/internal/limits"
	"callgate/proxy/internal/shared"
	"callgate/proxy/internal/stateless"
	"callgate/proxy/internal/verification"
)

// Server is one configured upstream.
type Server struct {
	Upstream Upstream
	Tools    tools.Server // Name is the alias; it MUST pass CheckAliases
	Place    tools.Place  // where its calls run
	Shared   bool         // one server for all hosts, instead of one for each
	Choice   Choice       // which of its tools hosts get
	Bounds   Bounds       // limits of its requests

	// Locked maps the server's tool names to digests of definitions that people accepted for everybody; it may be nil.
	// If it is not, any other definition waits for a person.
	Locked map[string]string

	// Own makes this callgate's own server: for each session, it returns an Upstream.Serve. Its names are always
	// qualified. Its definitions are not pinned, because they come with the program. It does not count as a configured
	// server. Own is nil for every other server.
	Own func(*gate.Session) func(ctx context.Context, in io.Reader, out io.Writer) error
}

// Options assemble a proxy. Gate is required.
type Options struct {
	Gate       *gate.Gate
	Servers    []Server
	Reserved   []string    // more names that nobody may bring tools under: servers configured but not served
	Pins       *tools.Pins // the accepted definitions; nil compares none
	Agent      string      // profile for sessions whose view names none; may be ""
	Version    string
	Expose     *Expose    // nil shows hosts every tool
	Workspaces Workspaces // hears of the folders that hosts work in; may be nil
	// HandOver is how long a call waits for a person before the host gets an answer. 0 means the host's own limit; a
	// negative value lets calls wait as long as approvals do.
	HandOver time.Duration
	Hosts    []HostLimit // what users know of their hosts' limits
	// HostApproves makes the host an approver: the answers that its person gives in a form count.
	HostApproves bool
	Page         func() string // returns the address of the page for approvers, or ""; may be nil
	Hooks        Hooks         // nil means no hooks
	Traces       bool          // sends OpenTelemetry spans of calls to where OTEL_* say; those alone do nothing
	CacheDir     string        // of what upstreams said about themselves; "" means no cache
	Checkpoints  Checkpoints   // saves files before calls change them; nil saves none
	Verification *Verification // runs checks after calls change files; nil runs none
	Logger       *slog.Logger
	Budget       *Budget // of messages in flight; nil means no bound

	// Place returns a name for what stateless hosts continue, which tells where that is, see Places. nil means names
	// that tell nothing.
	Place func() string
	// Secret seals what stateless hosts carry from one request to the next; nil means a secret that ends with the
	// process.
	Secret      []byte
	IdleTimeout time.Duration // sessions of stateless hosts end after this time without use; 0 means 30 min
	MaxSessions int           // of one principal at once; 0 means no bound
}

// Settings holds the options that Configure can replace while hosts are served. The fields mean the same as in Options.
type Settings struct {
	Servers  []Server
	Reserved []string
	HandOver time.Duration
	Hosts    []HostLimit
}

// settings are the Settings in effect, with what belongs to them.
type settings struct {
	Settings
	maker  *catalogue.Maker
	shared map[string]*shared.Server // servers that hosts share, by alias; guarded by the proxy's mu
}

// Upstream says which server to run, and how.
type Upstream = upstream.Config

// Budget bounds the memory of messages in flight. Proxies can share one.
type Budget = budget.Budget

// NewBudget returns a budget of limit bytes, or nil for 0, which means no bound.
func NewBudget(limit int64) *Budget { return budget.New(limit) }

// Hooks hear what happens to calls, and can tighten what the gate decides.
type Hooks = events.Hooks

// HookEvent is what Hooks hear. HookOpinion is what a hook says about a call before the gate decides.
type (
	HookEvent   = hooks.Event
	HookOpinion = hooks.Opinion
)

// Bounds are the limits of every request to one server.
type Bounds = limits.Bounds

// HostLimit says how long a host lets a tool call run.
type HostLimit = limits.Host

// Expose shows hosts only a few of many tools.
type Expose = catalogue.Expose

// Checkpoints saves files before calls change them.
type Checkpoints interface {
	// Keep saves the files that an allowed call is about to change, and returns nil if there are none. When it returns
	// without an error, the files are on disk, and the call is forwarded. An error is for the model, and the call is
	// not forwarded.
	Keep(ctx context.Context, g *gate.Gate, s *gate.Session, call gate.Call, v *gate.Verdict) (Kept, error)
}

// Kept is what was saved before one call.
type Kept interface {
	// ID returns the checkpoint's id, or "" if none was taken.
	ID() string
	// End notes the state that the call left. The host may have cancelled the call, but what it did is done.
	End(ctx context.Context)
	// Changed returns the paths that the call changed, and whether they are known. End MUST come first.
	Changed() (paths []string, known bool)
}

// Verification runs the user's checks after calls change files.
type Verification = verification.Checks

// Choice says which tools of a server hosts get, and under which names.
type Choice = catalogue.Choice

// OwnName is the alias of the server that callgate itself is. Nothing else may have it.
const OwnName = catalogue.OwnName

// Sanitize returns name with every character except letters, digits, _ and - replaced by _.
func Sanitize(name string) string { return catalogue.Sanitize(name) }

// CheckAliases returns an error for aliases that would make a qualified name ambiguous.
func CheckAliases(aliases []string) error { return catalogue.CheckAliases(aliases) }

// Plain returns a qualified name without its suffix, if it has one.
func Plain(qualified string) string { return catalogue.Plain(qualified) }

// Proxy serves hosts. Each connection has its own session and, unless they are shared, upstream processes.
type Proxy struct {
	o     Options                  // except what is in set
	set   atomic.Pointer[settings] // in effect now
	quota quota

	mu     sync.Mutex
	hosts  map[*host]struct{}
	shared []*shared.Server // all that were made; they end after long disuse, or with the proxy

	stateless *stateless.Clients
	tracer    *traces.Tracer // nil if tracing is off
}

// Workspaces hears which folders the hosts of a proxy work in.
type Workspaces interface {
	// Opened is called when a host has finished the handshake and named its folders, if any, and again whenever it
	// names others.
	Opened(sessionID string, folders []string)

	// Closed is called when the session ends, even if Opened was not called.
	Closed(sessionID string)
}

// page returns the address of the page that a host may lead its person to, or "".
func (p *Proxy) page() string {
	if p.o.Page == nil {
		return ""
	}
	return p.o.Page()
}

// quota bounds the sessions of each principal, in both eras. Sessions use memory that all share, and hosts that never
// end theirs must not keep others out.
type quota struct {
	limit int // 0 means no bound

	mu sync.Mutex
	of map[string]int // by principal; without those that have no session
}

// QuotaError is the error for a principal that has reached its limit of sessions.
type QuotaError struct {
	Principal string
	Limit     int
}

func (e *QuotaError) Error() string {
	return fmt.Sprintf("the client %q has %d sessions open, and no more are let in (maxSessions): "+
		"a session ends with DELETE, or when nobody has used it for idleTimeout", e.Principal, e.Limit)
}

// enter counts a session. The error is a *QuotaError. If it is nil, the caller MUST call leave later.
func (q *quota) enter(principal string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.limit > 0 && q.of[principal] >= q.limit {
		return &QuotaError{Principal: principal, Limit: q.limit}
	}
	q.of[principal]++
	return nil
}

func (q *quota) leave(principal string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.of[principal]--; q.of[principal] == 0 {
		delete(q.of, principal)
	}
}

// seat is a session's place in the quota, which all connections of the session share.
type seat struct {
	taken atomic.Int32
	leave func()
}

// seat is enter for a session with one connection, which MUST give it.
func (q *quota) seat(principal string) (*seat, error) {
	if err := q.enter(principal); err != nil {
		return nil, err
	}
	s := &seat{leave: sync.OnceFunc(func() { q.leave(principal) })}
	s.taken.Store(1)
	return s, nil
}

func (s *seat) give() {
	if s.taken.Add(-1) == 0 {
		s.leave()
	}
}

// View is the part of callgate that a host sees. The zero value is everything.
type View struct {
	Server string // the alias of the only server, shown with its own names; "" shows all servers, with qualified names
	Agent  string // profile that the session runs under; "" means the configured one
}

// shows reports whether the view includes the server.
func (v View) shows(alias string) bool { return v.Server == "" || v.Server == alias }

// untouched reports whether the host sees the server's own names. Rules see qualified names in any case.
func (v View) untouched() bool { return v.Server != "" }

// StatelessVersion is the first revision of MCP that has neither a handshake nor sessions.
const StatelessVersion = stateless.Version

// logUnsent logs that a message to a host was not sent.
func (p *Proxy) logUnsent(err error) {
	if err != nil {
		p.o.Logger.Debug("message to the host not sent", "error", err)
	}
}

// StdioPrincipal is the host that started callgate. No other principal may have this name.
const StdioPrincipal = "stdio"

// AnyPrincipal stands for every host when hosts need no credential. No other principal may have this name.
const AnyPrincipal = "anyone"

// FindTool and CallTool take the place of the tools that are not shown.
const (
	FindTool = catalogue.FindTool
	CallTool = catalogue.CallTool
)
