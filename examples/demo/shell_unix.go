//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// ownGroup gives the shell a process group of its own, so that ending it ends what it started.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
