package hosthooks

import (
	"os/exec"
	"syscall"
)

// detach lets a program outlive the console of the one that starts it.
func detach(cmd *exec.Cmd) {
	const detachedProcess = 0x8
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | detachedProcess}
}
