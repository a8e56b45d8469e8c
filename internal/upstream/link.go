package upstream

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"callgate/internal/rpc"
)

// link is how an incarnation reaches its server: a process, a server inside this program, or an address.
type link interface {
	// connect returns the connection over the link. It is called once, before run.
	connect(rpc.Options) *rpc.Conn

	// speak sets the revision of MCP that is spoken from now on; "" means that it is not known yet.
	speak(version string)

	// run calls handle for every message of the server except the answers to our requests, one at a time, until nothing
	// more will come. of is the id of our request that a message belongs to, or nil if the link cannot tell. run
	// returns why it ended, nil for a clean end. It MUST return after stop.
	run(handle func(m rpc.Message, of []byte)) error

	// epitaph returns an error that explains why the link ended; cause is the link's own error. It may wait a moment
	// for an explanation.
	epitaph(cause error) error

	// stop ends the server and everything the link has started, within a few times grace.
	stop(grace time.Duration) error

	// pid returns the id of the server's process, or 0 if it has none here.
	pid() int

	// wall names the guard that keeps the server's process away from callgate, or returns "".
	wall() string

	// lastWords returns the last lines that the server wrote beside its messages.
	lastWords() []string
}

// noProcess implements part of link for servers without a local process.
type noProcess struct{}

func (noProcess) pid() int            { return 0 }
func (noProcess) wall() string        { return "" }
func (noProcess) lastWords() []string { return nil }

// explained waits a moment for a link to end. It returns the link's own error, which is set before ended closes, or
// else cause.
func explained(ended <-chan struct{}, own *error, cause error) error {
	select {
	case <-ended:
		if *own != nil {
			return *own
		}
	case <-time.After(drain):
	}
	return cmp.Or(cause, errEnded)
}

// open opens the link to the server that the configuration names.
func (u *Upstream) open() (link, error) {
	if u.cfg.Serve != nil {
		return startInside(u.ctx, u.cfg.Serve), nil
	}
	if u.cfg.URL != "" {
		return u.dial()
	}
	cfg := u.cfg
	if u.how.Args != nil {
		cfg.Args = u.how.Args
	}
	cfg.Env = slices.Concat(cfg.Env, u.how.Env)
	proc, err := startProcess(cfg, os.Environ(), u.refusals, u.connect, u.log)
	if err != nil {
		return nil, fmt.Errorf("cannot start: %w", err)
	}
	return proc, nil
}

// errEnded is the error for a link that ended without a known reason.
var errEnded = errors.New("it ended")
