//go:build unix

package durable

import (
	"os"
	"syscall"
)

// openShared opens a file for reading. It does not wait for the other end of a named pipe.
func openShared(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}
