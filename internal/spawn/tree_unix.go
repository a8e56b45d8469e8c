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

// Tree is the process group of a program: its process and what that starts. Processes that leave the group, by setsid
// or a double fork, are lost: these systems have no way to find them.
//
// The group's leader is a guard: a shell that waits for the end of a pipe which callgate holds. However callgate dies,
// the guard then kills the group, itself included. The guard is reaped last, so the group's number cannot be reused
// while signals may be sent to it.
type Tree struct {
	log   *slog.Logger
	group int       // 0 until Start if there is no guard: then the process leads
	guard *exec.Cmd // nil on systems without a shell
	alive *os.File  // the pipe; closing it makes the guard kill
	wall  *guard.Wall
	state guard.State
	waited
}

const guardScript = `trap '' HUP INT TERM
read -r line || kill -s KILL 0`

// Plant makes the group. Programs in it run behind wall; nil means no wall. The caller MUST call Release.
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

// Start starts cmd in the group. The caller MUST NOT wait for cmd: see Ended and Gone.
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

// Wall returns the state of the program's wall. It is set once the program has started.
func (t *Tree) Wall() guard.State { return t.state }

// Proxy returns nil: this system has no box.
func (t *Tree) Proxy() net.Listener { return nil }

// Terminate asks all processes of the group to end.
func (t *Tree) Terminate() { t.signal(unix.SIGTERM) }

// Kill ends all processes of the group.
func (t *Tree) Kill() { t.signal(unix.SIGKILL) }

func (t *Tree) signal(s unix.Signal) {
	if t.group == 0 {
		return
	}
	// With EPERM some systems say that only zombies are left.
	if err := unix.Kill(-t.group, s); err != nil && !errors.Is(err, unix.ESRCH) && !errors.Is(err, unix.EPERM) {
		t.log.Error("cannot signal a process group", "group", t.group, "signal", s, "error", err)
	}
}

// Release kills what is left of the group, and frees the group's number.
func (t *Tree) Release() {
	if t.guard != nil {
		t.alive.Close()
		_ = t.guard.Wait() // its own signal kills it
	}
}
