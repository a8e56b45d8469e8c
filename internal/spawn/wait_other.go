//go:build !linux

package spawn

import "os/exec"

// waited is a program that callgate waits for itself.
type waited struct {
	cmd  *exec.Cmd
	gone chan struct{}
}

func newWaited() waited { return waited{gone: make(chan struct{})} }

func (w *waited) wait(cmd *exec.Cmd) {
	w.cmd = cmd
	go func() {
		defer close(w.gone)
		_ = cmd.Wait() // its error is in ProcessState
	}()
}

// PID is the program's process id.
func (w *waited) PID() int { return w.cmd.Process.Pid }

// Ended is closed when the program itself has ended.
func (w *waited) Ended() <-chan struct{} { return w.gone }

// Gone is closed when the program has ended: what it started cannot be seen.
func (w *waited) Gone() <-chan struct{} { return w.gone }

// Status is how the program ended. It MUST have.
func (w *waited) Status() Status {
	switch state := w.cmd.ProcessState; {
	case state == nil:
		return Status{-1, "it could not be waited for"}
	case state.ExitCode() < 0:
		return Status{-1, state.String()}
	default:
		return exitStatus(state.ExitCode())
	}
}
