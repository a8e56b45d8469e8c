//go:build unix

package rpc

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Stdio returns the process's standard input and output for a connection. Pipes and sockets are handed to
// the runtime's poller: a reader that waits then holds no thread, and the answer to what it read runs on
// the thread that read it. Closing in ends a read that waits, also on a terminal.
func Stdio() (in, out *os.File) {
	return interruptible(pollable(os.Stdin)), pollable(os.Stdout)
}

// interruptible returns a pipe that passes on what is typed into a terminal; other files it returns as they are. Closing
// a terminal ends no read, and the shell shares its mode, so it cannot be made pollable.
func interruptible(f *os.File) *os.File {
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return f
	}
	in, says, err := os.Pipe()
	if err != nil {
		return f
	}
	go func() { // nothing can wait for it: it reads until the terminal or the process ends
		defer says.Close()
		_, _ = io.Copy(says, f) // the end of one is the end of the other
	}()
	return in
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
