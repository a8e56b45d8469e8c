//go:build unix && !linux

package upstream

import "os/exec"

// spawn starts cmd. Without a signal from the kernel at the death of callgate, the guard of the tree alone
// sees to it that nothing is left behind.
func spawn(cmd *exec.Cmd) error { return cmd.Start() }
