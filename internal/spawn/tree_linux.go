package spawn

import (
	"errors"
	"log/slog"
	"net"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"callgate/internal/guard"
)

// Tree is a program and everything that it starts, wherever that moves: the keeper is the ancestor of all of it.
// However callgate dies, the keeper ends the tree.
type Tree struct {
	log    *slog.Logger
	wall   *guard.Wall
	state  guard.State
	keeper *guard.Keeper
	group  int // the keeper's, and that of all that does not leave it
	gone   chan struct{}
}

// Plant prepares a tree. Programs in it run behind wall; nil means no wall. The caller MUST call Release.
func Plant(log *slog.Logger, wall *guard.Wall) (*Tree, error) {
	return &Tree{log: log, wall: wall, gone: make(chan struct{})}, nil
}

// Start starts cmd. The caller MUST NOT wait for cmd: see Ended and Gone.
func (t *Tree) Start(cmd *exec.Cmd) (err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if t.keeper, t.state, err = t.wall.Start(cmd); err != nil {
		return err
	}
	t.group = cmd.Process.Pid
	go func() {
		defer close(t.gone)
		wait(cmd)
	}()
	return nil
}

// PID is the program's process id.
func (t *Tree) PID() int { return t.keeper.PID }

// Ended returns a channel that is closed when the program itself has ended.
func (t *Tree) Ended() <-chan struct{} { return t.keeper.Ended() }

// Gone returns a channel that is closed when nothing that the program started is left.
func (t *Tree) Gone() <-chan struct{} { return t.gone }

// Status returns how the program ended. It MUST NOT be called before Ended is closed.
func (t *Tree) Status() Status {
	status, known := t.keeper.Status()
	switch {
	case !known:
		return Status{-1, "ended with its guard"}
	case status.Signaled():
		return Status{-1, "signal: " + status.Signal().String()}
	}
	return exitStatus(status.ExitStatus())
}

// Wall returns the state of the program's wall. It is set once the program has started.
func (t *Tree) Wall() guard.State { return t.state }

// Proxy returns the listener that the program reaches instead of the network; nil unless its box has guard.ProxyNet.
// Release closes it.
func (t *Tree) Proxy() net.Listener { return t.keeper.Proxy }

// Terminate asks the processes of the program's group to end.
func (t *Tree) Terminate() { t.signal(unix.SIGTERM) }

// Kill ends everything that the program started. It does not wait.
func (t *Tree) Kill() {
	if t.keeper != nil {
		t.keeper.EndAll()
	}
}

func (t *Tree) signal(s unix.Signal) {
	select {
	case <-t.gone: // the group's number may belong to another by now
	default:
		if err := unix.Kill(-t.group, s); err != nil && !errors.Is(err, unix.ESRCH) {
			t.log.Error("cannot signal a process group", "group", t.group, "signal", s, "error", err)
		}
	}
}

// Release kills what is left of the tree and waits for it.
func (t *Tree) Release() {
	if t.keeper == nil {
		return
	}
	t.Kill()
	select {
	case <-t.gone:
	case <-time.After(keeperLimit):
		t.signal(unix.SIGKILL) // the keeper itself does not respond: stopped, or out of memory
		<-t.gone
	}
	if left := t.keeper.Release(); left != "" {
		t.log.Error("processes that a program left behind cannot be ended", "processes", left)
	}
}

// keeperLimit is how long a keeper may take to end everything. It gives up on its own before that.
const keeperLimit = 10 * time.Second
