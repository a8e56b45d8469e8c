package spawn

import (
	"errors"
	"os"
	"syscall"
)

// Exists reports whether a process with that id exists, whoever owns it.
func Exists(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	gone := errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone)
	return process.Release() == nil && !gone
}
