package hosthooks

import (
	"os/exec"
	"syscall"
)

// detach makes a program outlive the console of its parent.
func detach(cmd *exec.Cmd) {
	const detachedProcess = 0x8
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | detachedProcess}
}
