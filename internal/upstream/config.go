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

// Config says which server to run, and how.
type Config struct {
	Name    string   // the alias that messages and logs use
	Command string   // program: a name to look up in PATH, a path relative to Dir, or an absolute path
	Args    []string // passed as is, without a shell
	Env     []string // NAME=value, expanded; added to the clean environment, later entries win

	// InheritEnv gives the process callgate's environment, except callgate's own variables.
	InheritEnv bool
	Dir        string // working directory; "" means callgate's own

	URL    string      // address of a remote server, instead of Command
	Header http.Header // sent with every request

	// Serve runs a server inside this program, instead of Command. It reads one message per line from in and writes one
	// per line to out, until in or ctx ends. It is called again after it has ended. Nothing that it says is cached.
	Serve func(ctx context.Context, in io.Reader, out io.Writer) error

	StartTimeout time.Duration // from the spawn to the end of the handshake; 0 means DefaultStartTimeout
	IdleTimeout  time.Duration // a server is stopped after this time without use, until the next use; 0 means never
	MaxMessage   int           // bytes of one message from the server; 0 means 64 MiB

	terms Terms
}

// Terms is the part of a Config that callgate's own configuration sets: what a server runs behind, what it gets, and
// what must hold before it starts. The zero value sets nothing.
type Terms struct {
	Era       Era              // AnyEra asks the server
	Transport remote.Transport // of a server behind a URL

	// Secret returns the value of a secret that Env names; nil means that there are no secrets. Intercept lets a
	// sandbox's proxy read TLS traffic from the process to the hosts that secrets are for, so that it can insert them.
	Secret    func(name string) (string, error)
	Intercept bool

	// Wall guards the process; nil means no guard.
	Wall *guard.Wall
	// Sandbox makes the wall, with a box, for the program at path when it starts. It is nil for a server without a
	// sandbox.
	Sandbox func(path string) (*guard.Wall, error)
	// Narrowed returns nil as soon as Sandbox would allow less than when Narrowed was called. The process then stops
	// once nobody uses it. It returns an error when ctx ends. If Narrowed is nil, nothing is watched.
	Narrowed func(ctx context.Context) error

	// Login is callgate's login at a server behind a URL; nil if callgate does not sign in there.
	Login Login

	// Check is called before each start. It returns how the server must start, or an error if it must not. Checked
	// returns nil once Check may have changed its answer, and callgate then starts the server. Checked returns an error
	// when ctx ends. Set both or neither.
	Check   func(ctx context.Context) (Launch, error)
	Checked func(ctx context.Context) error
}

// TermsOf returns a server's terms. Set them before passing the Config to New.
func TermsOf(c *Config) *Terms { return &c.terms }

// Launch is how Check changes a start, so that exactly what was checked runs, and nothing newer.
type Launch struct {
	Args []string // replace those of the configuration, unless nil
	Env  []string // NAME=value, added
}

// DefaultStartTimeout gives a package runner time to download the server.
const DefaultStartTimeout = 60 * time.Second

// Hello is what the host said about itself, as raw JSON. Nil members are sent as empty ones.
type Hello struct {
	ProtocolVersion string
	Capabilities    []byte
	ClientInfo      []byte

	// Era is the host's era. callgate speaks it with a server that speaks both, because then nothing has to be
	// translated. It does not if the server could not ask the host anything in that era. AnyEra means no preference.
	Era Era

	// Tasks says that calls may be answered with tasks of the modern era's extension. The host can wait for their end,
	// or callgate does in its place. See Follow.
	Tasks bool
}

// Options connects an upstream to its surroundings. The zero value has no cache, logs nothing and reports to nobody.
type Options struct {
	CacheDir string // the data directory's cache; "" means none. Files are in CacheDir/upstreams.
	Logger   *slog.Logger
	Events   Events
	Budget   *budget.Budget // of messages in flight; nil means no bound

	// Wanted reports whether somebody waits to hear from the server, so that IdleTimeout does not stop it. If it is nil,
	// nobody does.
	Wanted func() bool
	// Connect returns nil if a server in a sandbox may connect. It may wait. If Connect is nil, nothing may connect.
	Connect func(ctx context.Context, to sandbox.Peer) error
	// Refused hears what the sandbox refused to a server. Widen returns nil if the server's next process may have it,
	// and may wait. If Widen is nil, the answer is no.
	Refused func(guard.Access)
	Widen   func(ctx context.Context, a guard.Access) error
}

// State is the stage of an upstream's life.
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
	PID     int       // of the process; 0 if none is running
	Wall    string    // guard that keeps the process away from callgate; "" if none is running
	Resting bool      // it is Idle because nobody used it for long; the next use starts it
	Broken  bool      // it is Down, and left alone for a minute or more because it failed too often
	Reason  string    // why it is down, for people, with the last lines of its standard error
	RetryAt time.Time // a use before then fails at once; zero if it never starts again
}

// Login gets the credentials for a server. Many goroutines may use it at once.
type Login interface {
	// Authorize is as in remote.Config. Its error becomes the reason why the server is down.
	Authorize(ctx context.Context, refused *remote.Refusal) (string, error)
	// Await returns nil once there may be a new credential in place of the refused one, and callgate then starts the
	// server. It returns an error when ctx ends.
	Await(ctx context.Context) error
}
