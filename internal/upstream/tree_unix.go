//go:build unix

package upstream

import (
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// tree is the process group of a server: the server and what it starts, unless that leaves the group.
//
// Its leader is a guard, a shell that waits for the end of a pipe which callgate holds: when callgate
// dies, however it dies, the guard kills the group, itself included. As the guard is reaped last, the
// group's number cannot be given to anybody else while signals may be sent to it.
type tree struct {
	log   *slog.Logger
	group int       // 0 until start when there is no guard: the server leads then
	guard *exec.Cmd // nil on systems without a shell
	alive *os.File  // the pipe; closing it makes the guard kill
}

const guardScript = `trap '' HUP INT TERM; read -r line || kill -s KILL 0`

// plantTree makes the group.
func plantTree(log *slog.Logger) (*tree, error) {
	t := &tree{log: log}
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
		log.Warn("no /bin/sh to guard the server with: what it starts may outlive a killed callgate", "error", err)
		return t, nil
	}
	t.guard, t.alive, t.group = guard, w, guard.Process.Pid
	return t, nil
}

// start starts cmd in the group.
func (t *tree) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: t.group}
	if err := spawn(cmd); err != nil {
		return err
	}
	if t.group == 0 {
		t.group = cmd.Process.Pid
	}
	return nil
}

// terminate asks all processes of the group to end.
func (t *tree) terminate() { t.signal(unix.SIGTERM) }

// kill ends all processes of the group.
func (t *tree) kill() { t.signal(unix.SIGKILL) }

func (t *tree) signal(s unix.Signal) {
	if t.group == 0 {
		return
	}
	// EPERM is how some systems say that only zombies are left.
	if err := unix.Kill(-t.group, s); err != nil && !errors.Is(err, unix.ESRCH) && !errors.Is(err, unix.EPERM) {
		t.log.Error("cannot signal the server's process group", "group", t.group, "signal", s, "error", err)
	}
}

// release gives the group's number back, and kills what is left of it.
func (t *tree) release() {
	if t.guard == nil {
		return
	}
	t.alive.Close()
	_ = t.guard.Wait() // it dies by its own signal
}
