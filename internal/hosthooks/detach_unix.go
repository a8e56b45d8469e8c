//go:build unix

package hosthooks

import (
	"os/exec"
	"syscall"
)

// detach makes a program outlive the terminal and the process group of its parent.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
