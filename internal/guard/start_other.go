//go:build !linux

package guard

import (
	"fmt"
	"os/exec"
	"runtime"
)

// Start starts cmd with the function start behind the wall. cmd has to have no ExtraFiles. It returns when the program
// runs or could not be started.
func (w *Wall) Start(cmd *exec.Cmd, start func(*exec.Cmd) error) (State, error) {
	if w != nil && w.Box != nil {
		return State{Kind: None}, fmt.Errorf("sandbox: callgate has none for %s", runtime.GOOS)
	}
	if w == nil || w.Mode == Off || w.Mode == "" {
		return State{Kind: None, Why: "it is off"}, start(cmd)
	}
	s, err := w.start(cmd, start)
	if err == nil && s.Kind == None && w.Mode == Require {
		err = fmt.Errorf("guard: require is set, and this system has none: %s", s.Why)
	}
	return s, err
}

// Probe says what keeps the wall here.
func (w *Wall) Probe() State {
	s, err := w.Start(&exec.Cmd{}, func(*exec.Cmd) error { return nil })
	if err != nil && s.Why == "" {
		s.Why = err.Error()
	}
	return s
}

// Harden does nothing: macOS lets nobody but root and debuggers with an entitlement look into a process, and of the
// other systems nothing is known.
func Harden() error { return nil }

// Grants are the names of what CloseSockets leaves out when a server is granted it.
func Grants() []string { return nil }

// CloseSockets adds to the wall the sockets through which a program acts outside of every wall; here none is known.
func (w *Wall) CloseSockets([]string, string) {}

// cgroups and cgroup are of Linux.
type (
	cgroups struct{}
	cgroup  struct{}
)
