//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// ownGroup gives the shell its own process group, so that ending the group ends all that the shell started.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
