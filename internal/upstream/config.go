package upstream

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"callgate/internal/budget"
	"callgate/internal/guard"
	"callgate/internal/remote"
	"callgate/internal/sandbox"
)

// Config says which server, and how it is run.
type Config struct {
	Name    string   // the alias that messages and logs use
	Command string   // program: a name looked up in PATH, a path relative to Dir, or an absolute path
	Args    []string // as they are, no shell
	Env     []string // NAME=value, expanded; added to the clean environment, later entries win

	// InheritEnv gives the process callgate's environment, except callgate's own variables.
	InheritEnv bool
	Dir        string // working directory; "" means callgate's own

	URL    string      // of a remote server, instead of Command
	Header http.Header // sent to it with every request

	// Serve is a server inside this program, instead of Command: it reads a message a line from in and
	// writes such to out until in ends or ctx does. It is called again when it has ended. Nothing that it
	// says is cached.
	Serve func(ctx context.Context, in io.Reader, out io.Writer) error

	StartTimeout time.Duration // from the spawn to the end of the handshake; 0 means DefaultStartTimeout
	IdleTimeout  time.Duration // after which a server that nobody uses is stopped, until it is used again; 0 means never
	MaxMessage   int           // bytes of one message from the server; 0 means 64 MiB

	terms Terms
}

// Terms are the part of a Config that callgate's own configuration sets: what a server runs behind, what it is given,
// and what has to hold before it starts. The zero value asks for nothing.
type Terms struct {
	Era       Era              // AnyEra asks the server
	Transport remote.Transport // of a server behind a URL

	// Secret returns the value of a secret that Env names; nil knows none. Intercept lets the proxy of a sandbox read what
	// the process sends over TLS to the hosts that secrets are for, to put them in.
	Secret    func(name string) (string, error)
	Intercept bool

	// Wall is what the process runs behind; nil is none.
	Wall *guard.Wall
	// Sandbox makes the wall, with a box, of the program at a path when it starts; nil for a server without a sandbox.
	Sandbox func(path string) (*guard.Wall, error)
	// Narrowed returns nil as soon as Sandbox opens less than it did at the call, which stops the process once nobody
	// uses it. It returns an error when ctx ends. If it is nil, nothing is watched.
	Narrowed func(ctx context.Context) error

	// Authorize is as in remote.Config. Its error says why the server is down.
	Authorize func(ctx context.Context, refused *remote.Refusal) (string, error)

	// Await returns nil once there may be another credential than the refused one, which starts the server. It returns
	// an error when ctx ends. It is nil if that cannot be known.
	Await func(ctx context.Context) error

	// Check says before each start why the server must not start, or how it must start. Checked returns nil once Check
	// may have changed its answer, which starts the server. It returns an error when ctx ends. Set both or neither.
	Check   func(ctx context.Context) (Launch, error)
	Checked func(ctx context.Context) error
}

// TermsOf returns the terms of a server, to be set before it is given to New.
func TermsOf(c *Config) *Terms { return &c.terms }

// Launch is how Check changes a start: it runs what was checked, and nothing newer.
type Launch struct {
	Args []string // instead of those of the configuration; nil is these
	Env  []string // NAME=value, added
}

// DefaultStartTimeout leaves a package runner the time to download the server.
const DefaultStartTimeout = 60 * time.Second

// Hello is what the host said of itself, raw JSON as it was sent. Nil members are sent as empty ones.
type Hello struct {
	ProtocolVersion string
	Capabilities    []byte
	ClientInfo      []byte

	// Era is the host's era. callgate speaks it with a server that speaks both, because nothing then has to be
	// translated, unless the server could not ask the host anything in it. AnyEra has no preference.
	Era Era

	// Tasks says that calls may be answered with tasks of the modern era's extension: the host can wait for their end,
	// or callgate does in its place. See Follow.
	Tasks bool
}

// Options are the surroundings of an upstream. The zero value has no cache, logs nothing and tells nobody.
type Options struct {
	CacheDir string // the data directory's cache; "" means none. Files are in CacheDir/upstreams.
	Logger   *slog.Logger
	Events   Events
	Budget   *budget.Budget // of messages in flight; nil has no bound

	// Connect says whether a server in a sandbox may connect; nil is yes. It may wait. Without it nothing connects.
	Connect func(ctx context.Context, to sandbox.Peer) error
	// Refused hears what the sandbox keeps from a server, and Widen says whether its next process may have it; nil is no.
	// It may wait.
	Refused func(guard.Access)
	Widen   func(ctx context.Context, a guard.Access) error
}

// State is where an upstream is in its life.
type State uint8

const (
	Idle     State = iota // not started yet
	Starting              // spawned, in the handshake
	Ready                 // requests go straight through
	Down                  // not running; the next use may start it again
	Closed                // for good
)

func (s State) String() string {
	switch s {
	case Idle:
		return "idle"
	case Starting:
		return "starting"
	case Ready:
		return "ready"
	case Down:
		return "down"
	case Closed:
		return "closed"
	}
	return fmt.Sprintf("state %d", uint8(s))
}

// Status is a snapshot for people.
type Status struct {
	State   State
	PID     int       // of the process, 0 when none runs
	Wall    string    // what keeps the process from callgate; "" when none runs
	Resting bool      // it is Idle because nobody used it for long: the next use starts it
	Broken  bool      // it is Down, and left alone for a minute or more because it failed too often
	Reason  string    // why it is down, for people: with the last lines of its standard error
	RetryAt time.Time // before then a use fails at once; zero when it never starts again
}
