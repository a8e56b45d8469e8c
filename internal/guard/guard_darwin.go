package guard

import "os/exec"

// sandboxExec puts up a Seatbelt profile and becomes the program.
const sandboxExec = "/usr/bin/sandbox-exec"

func (w *Wall) start(cmd *exec.Cmd, start func(*exec.Cmd) error) (State, error) {
	if _, err := exec.LookPath(sandboxExec); err != nil {
		s := State{Kind: None, Why: err.Error()}
		if w.Mode == Require {
			return s, nil
		}
		return s, start(cmd)
	}
	cmd.Args = append([]string{"sandbox-exec", "-p", Profile(w.Hidden, w.Fixed), cmd.Path}, cmd.Args[min(1, len(cmd.Args)):]...)
	cmd.Path = sandboxExec
	return State{Kind: Seatbelt}, start(cmd)
}

// Harden does nothing: macOS lets nobody but root and debuggers with an entitlement look into a process.
func Harden() error { return nil }

// Grants are the names of what CloseSockets leaves out when a server is granted it.
func Grants() []string { return nil }

// CloseSockets adds to the wall the sockets through which a program acts outside of every wall; here none is known.
func (w *Wall) CloseSockets([]string, string) {}
