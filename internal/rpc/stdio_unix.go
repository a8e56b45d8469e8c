//go:build unix

package rpc

import (
	"os"

	"golang.org/x/sys/unix"
)

// Stdio returns the process's standard input and output for a connection. Pipes and sockets are handed to
// the runtime's poller: a reader that waits then holds no thread, and the answer to what it read runs on
// the thread that read it.
func Stdio() (in, out *os.File) {
	return pollable(os.Stdin), pollable(os.Stdout)
}

func pollable(f *os.File) *os.File {
	info, err := f.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return f
	}
	fd := int(f.Fd())
	if unix.SetNonblock(fd, true) != nil {
		return f
	}
	return os.NewFile(uintptr(fd), f.Name())
}
