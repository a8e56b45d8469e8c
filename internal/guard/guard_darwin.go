package guard

import "os/exec"

// sandboxExec applies a Seatbelt profile and then runs the program.
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
