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

// link is what an incarnation talks through: a process, a server inside this program, or an address.
type link interface {
	// connect returns the connection over the link. It is called once, before run.
	connect(rpc.Options) *rpc.Conn

	// speak fixes the revision of MCP that is spoken from now on, "" before that is known.
	speak(version string)

	// run gives handle every message of the server but the answers to our requests, one at a time, until
	// nothing more will come. of is the id of the request of ours that a message belongs to, where the link
	// tells; nil elsewhere. It returns why, nil for a clean end, and MUST return after stop.
	run(handle func(m rpc.Message, of []byte)) error

	// epitaph explains why the link ended; cause is the link's own error. It may wait a moment for an explanation.
	epitaph(cause error) error

	// stop ends the server, within a few times grace, and everything the link has begun.
	stop(grace time.Duration) error

	// pid is the id of the server's process, 0 when it has none here.
	pid() int

	// wall names the guard that keeps the server's process away from callgate; "" if there is none.
	wall() string

	// lastWords are the last lines of what the server wrote beside its messages.
	lastWords() []string
}

// noProcess is what links say that have no process of their own.
type noProcess struct{}

func (noProcess) pid() int            { return 0 }
func (noProcess) wall() string        { return "" }
func (noProcess) lastWords() []string { return nil }

// explained waits a moment for a link to end, and returns its own error, which is set before that, or else cause.
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

// open begins to talk to the server, in the way that its configuration names.
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

// errEnded is for a link that ended without a known reason.
var errEnded = errors.New("it ended")
