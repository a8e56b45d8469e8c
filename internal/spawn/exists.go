package spawn

import (
	"errors"
	"os"
	"syscall"
)

// Exists reports whether there is a process with that id, whoever it belongs to.
func Exists(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	gone := errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone)
	return process.Release() == nil && !gone
}
