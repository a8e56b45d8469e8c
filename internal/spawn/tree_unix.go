//go:build unix && !linux

package spawn

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"callgate/internal/guard"
)

// Tree is the process group of a program, its process and what that starts. What leaves the group, by setsid or a
// double fork, is not in it: these systems have no way to find it.
//
// Its leader is a guard, a shell that waits for the end of a pipe which callgate holds: when callgate
// dies, however it dies, the guard kills the group, itself included. As the guard is reaped last, the
// group's number cannot be given to anybody else while signals may be sent to it.
type Tree struct {
	log   *slog.Logger
	group int       // 0 until start when there is no guard: the process leads then
	guard *exec.Cmd // nil on systems without a shell
	alive *os.File  // the pipe; closing it makes the guard kill
	wall  *guard.Wall
	state guard.State
	waited
}

const guardScript = `trap '' HUP INT TERM
read -r line || kill -s KILL 0`

// Plant makes the group. What starts in it runs behind the wall; nil is none.
func Plant(log *slog.Logger, wall *guard.Wall) (*Tree, error) {
	t := &Tree{log: log, wall: wall, waited: newWaited()}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	guard := exec.Command("/bin/sh", "-c", guardScript, "callgate-guard")
	guard.Env = []string{}
	guard.Dir = "/"
	guard.Stdin = r
	guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := guard.Start(); err != nil {
		w.Close()
		log.Warn("no /bin/sh to guard a process with: what it starts may outlive a killed callgate", "error", err)
		return t, nil
	}
	t.guard, t.alive, t.group = guard, w, guard.Process.Pid
	return t, nil
}

// Start starts cmd in the group. It MUST NOT be waited for: see Ended and Gone.
func (t *Tree) Start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: t.group}
	var err error
	if t.state, err = t.wall.Start(cmd, (*exec.Cmd).Start); err != nil {
		return err
	}
	if t.group == 0 {
		t.group = cmd.Process.Pid
	}
	t.wait(cmd)
	return nil
}

// Wall is what the program runs behind, once it has started.
func (t *Tree) Wall() guard.State { return t.state }

// Proxy is nil: this system has no box.
func (t *Tree) Proxy() net.Listener { return nil }

// Terminate asks all processes of the group to end.
func (t *Tree) Terminate() { t.signal(unix.SIGTERM) }

// Kill ends all processes of the group.
func (t *Tree) Kill() { t.signal(unix.SIGKILL) }

func (t *Tree) signal(s unix.Signal) {
	if t.group == 0 {
		return
	}
	// EPERM is how some systems say that only zombies are left.
	if err := unix.Kill(-t.group, s); err != nil && !errors.Is(err, unix.ESRCH) && !errors.Is(err, unix.EPERM) {
		t.log.Error("cannot signal a process group", "group", t.group, "signal", s, "error", err)
	}
}

// Release gives the group's number back, and kills what is left of it.
func (t *Tree) Release() {
	if t.guard != nil {
		t.alive.Close()
		_ = t.guard.Wait() // it dies by its own signal
	}
}
