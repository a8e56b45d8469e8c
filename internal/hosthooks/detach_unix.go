//go:build unix

package hosthooks

import (
	"os/exec"
	"syscall"
)

// detach lets a program outlive the terminal and the process group of the one that starts it.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
