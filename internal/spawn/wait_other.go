//go:build !linux

package spawn

import "os/exec"

// waited is a program that callgate itself waits for.
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

// Ended returns a channel that is closed when the program itself has ended.
func (w *waited) Ended() <-chan struct{} { return w.gone }

// Gone returns a channel that is closed when the program has ended: its children cannot be seen.
func (w *waited) Gone() <-chan struct{} { return w.gone }

// Status returns how the program ended. It MUST NOT be called before Ended is closed.
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
