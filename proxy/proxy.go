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
	Shared   bool         // one for all hosts, instead of one for each
	Choice   Choice       // which of its tools there are
	Bounds   Bounds       // of its requests

	// Locked are the digests of the definitions that people accepted for everybody, by the server's own names; nil when
	// there are none. A definition among them is accepted, another one waits for a person.
	Locked map[string]string

	// Own makes this callgate's own server, for one session: the function is what Upstream.Serve is. Its names
	// are qualified also where the others are untouched, its definitions are not pinned, because they come with
	// the program, and it does not count as a configured server. Nil for every other.
	Own func(*gate.Session) func(ctx context.Context, in io.Reader, out io.Writer) error
}

// Options assemble a proxy. Gate is required.
type Options struct {
	Gate       *gate.Gate
	Servers    []Server
	Reserved   []string    // further names that nobody may bring tools under: of servers that are configured and not served
	Pins       *tools.Pins // definitions as people know them; nil compares none
	Agent      string      // profile that sessions run under whose view names none; "" is none
	Version    string
	Expose     *Expose    // nil shows hosts every tool
	Workspaces Workspaces // hears of the folders that hosts work in; nil for nobody
	// HandOver is how long a call waits for a person before the host gets an answer; 0 goes by the host's own
	// limit, a negative one lets calls wait as long as approvals do.
	HandOver time.Duration
	Hosts    []HostLimit // what users know of their hosts' limits
	// HostApproves makes the host an approver: the answers of its person in a form count.
	HostApproves bool
	Page         func() string // address of the page for approvers, "" when there is none; may be nil
	Hooks        Hooks         // nil has none
	Traces       bool          // sends OpenTelemetry spans of calls; the OTEL_* variables say where, and alone send none
	CacheDir     string        // of what upstreams said of themselves; "" means none
	Checkpoints  Checkpoints   // keeps files before calls change them; nil keeps none
	Verification *Verification // runs checks after calls changed files; nil runs none
	Logger       *slog.Logger
	Budget       *Budget // of messages in flight; nil has no bound

	// Place makes the names of what stateless hosts go on with, which say where that is, see Places; nil makes those that
	// say nothing.
	Place func() string
	// Secret seals what stateless hosts carry from one request to the next; nil makes one that ends with the process.
	Secret      []byte
	IdleTimeout time.Duration // sessions of stateless hosts end when nobody used them for so long; 0 means 30 min
	MaxSessions int           // of one principal at once; 0 sets no bound
}

// Settings are the options that Configure replaces while hosts are served; they mean what the options of their names
// mean.
type Settings struct {
	Servers  []Server
	Reserved []string
	HandOver time.Duration
	Hosts    []HostLimit
}

// settings are those that hold from some moment on.
type settings struct {
	Settings
	maker  *catalogue.Maker
	shared map[string]*shared.Server // servers that hosts share, by alias; the proxy's mu guards it
}

// Upstream says which server, and how it is run.
type Upstream = upstream.Config

// Budget bounds the memory of messages in flight. Proxies can share one.
type Budget = budget.Budget

// NewBudget returns a budget of limit bytes; nil for 0, which is no bound.
func NewBudget(limit int64) *Budget { return budget.New(limit) }

// Hooks hear what happens to calls, and can tighten what the gate decides.
type Hooks = events.Hooks

// HookEvent is what Hooks hear, and HookOpinion what one of them says of a call before the gate decides.
type (
	HookEvent   = hooks.Event
	HookOpinion = hooks.Opinion
)

// Bounds are the limits of every request to one server.
type Bounds = limits.Bounds

// HostLimit says how long a host lets a tool call run.
type HostLimit = limits.Host

// Expose shows hosts few tools of many.
type Expose = catalogue.Expose

// Checkpoints keep files before calls change them.
type Checkpoints interface {
	// Keep keeps what an allowed call is about to change, and returns nil if that is nothing. When it returns without an
	// error, the files are on the disk, and the call is forwarded. The error is for the model; the call is not forwarded.
	Keep(ctx context.Context, g *gate.Gate, s *gate.Session, call gate.Call, v *gate.Verdict) (Kept, error)
}

// Kept is what was kept before one call.
type Kept interface {
	// ID is that of the checkpoint; "" when none was taken.
	ID() string
	// End notes what the call left. The host may have taken the call back: what it did is done all the same.
	End(ctx context.Context)
	// Changed are the paths that the call was seen to change. It is asked after End.
	Changed() (paths []string, known bool)
}

// Verification runs the user's checks after a call changed files.
type Verification = verification.Checks

// Choice says which tools of a server there are for hosts, and how they are called.
type Choice = catalogue.Choice

// OwnName is the alias of the server that callgate itself is. Nothing else may have it.
const OwnName = catalogue.OwnName

// Sanitize returns name with everything but letters, digits, _ and - replaced by _.
func Sanitize(name string) string { return catalogue.Sanitize(name) }

// CheckAliases reports aliases that would make a qualified name mean two things.
func CheckAliases(aliases []string) error { return catalogue.CheckAliases(aliases) }

// Plain is the name that the suffix of a qualified name was added to, if it has one.
func Plain(qualified string) string { return catalogue.Plain(qualified) }

// Proxy serves hosts. Each connection has a session and upstream processes of its own.
type Proxy struct {
	o     Options                  // but for what is in set
	set   atomic.Pointer[settings] // as they are now
	quota quota

	mu     sync.Mutex
	hosts  map[*host]struct{}
	shared []*shared.Server // all that were begun: they end when nobody uses them for long, or with the proxy

	stateless *stateless.Clients
	tracer    *traces.Tracer // nil makes no traces
}

// Workspaces learns which folders the hosts of a proxy work in.
type Workspaces interface {
	// Opened is called when a host has shaken hands and named its folders, none if it names none, and whenever
	// it names others.
	Opened(sessionID string, folders []string)

	// Closed is called when the session ends, also for one that was never opened.
	Closed(sessionID string)
}

// page is the address that a host may lead its person to.
func (p *Proxy) page() string {
	if p.o.Page == nil {
		return ""
	}
	return p.o.Page()
}

// quota bounds the sessions of one principal, in both eras. Sessions cost memory that all share, and hosts that never
// end theirs must not keep others out.
type quota struct {
	limit int // 0 is none

	mu sync.Mutex
	of map[string]int // by principal; those with none are not in it
}

// QuotaError says that a principal has reached its limit of sessions.
type QuotaError struct {
	Principal string
	Limit     int
}

func (e *QuotaError) Error() string {
	return fmt.Sprintf("the client %q has %d sessions open, and no more are let in (maxSessions): "+
		"a session ends with DELETE, or when nobody has used it for idleTimeout", e.Principal, e.Limit)
}

// enter counts a session in; the error is a *QuotaError. A session that has entered MUST leave.
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

// View is the part of callgate that a host is shown. The zero value is everything.
type View struct {
	Server string // the alias of the one server that is shown, with its own names; "" shows all, with qualified ones
	Agent  string // profile that the session runs under; "" is the configured one
}

// shows reports whether the view has the server.
func (v View) shows(alias string) bool { return v.Server == "" || v.Server == alias }

// untouched reports whether names are shown as the server has them. Rules see qualified names all the same.
func (v View) untouched() bool { return v.Server != "" }

// StatelessVersion is the first revision of MCP that has neither a handshake nor sessions.
const StatelessVersion = stateless.Version

// told notes that a message to a host was not sent.
func (p *Proxy) told(err error) {
	if err != nil {
		p.o.Logger.Debug("message to the host not sent", "error", err)
	}
}

// StdioPrincipal is the host that started callgate. No other may be called so.
const StdioPrincipal = "stdio"

// AnyPrincipal is every host where hosts need no credential. No other may be called so.
const AnyPrincipal = "anyone"

// The names of the two tools that take the place of those that are not shown.
const (
	FindTool = catalogue.FindTool
	CallTool = catalogue.CallTool
)
