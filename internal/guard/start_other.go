//go:build !linux

package guard

import (
	"fmt"
	"os/exec"
	"runtime"
)

// Start calls start to start cmd behind the wall. cmd MUST have no ExtraFiles. Start returns when the program runs or
// could not be started.
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

// Probe returns which kind of wall works here.
func (w *Wall) Probe() State {
	s, err := w.Start(&exec.Cmd{}, func(*exec.Cmd) error { return nil })
	if err != nil && s.Why == "" {
		s.Why = err.Error()
	}
	return s
}

// Harden does nothing. On macOS only root and debuggers with an entitlement can look into a process; for other systems
// callgate knows no way.
func Harden() error { return nil }

// Grants returns the names of the grants: none here.
func Grants() []string { return nil }

// CloseSockets does nothing: callgate knows no sockets to close here.
func (w *Wall) CloseSockets([]string, string) {}

// cgroups and cgroup exist only on Linux.
type (
	cgroups struct{}
	cgroup  struct{}
)
