//go:build unix

package hosthooks

import (
	"os/exec"
	"syscall"
)

// detach has a program outlive the terminal and the process group of who starts it.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
