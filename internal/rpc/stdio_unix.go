//go:build unix

package rpc

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Stdio returns the process's standard input and output for a connection. Pipes and sockets go to the runtime's poller:
// a waiting reader then holds no thread, and the answer to a message runs on the thread that read it. Closing in ends a
// read that waits, even on a terminal.
func Stdio() (in, out *os.File) {
	return interruptible(pollable(os.Stdin)), pollable(os.Stdout)
}

// interruptible returns a pipe with the input of a terminal, or f if f is not a terminal. Closing a terminal does not
// end a read, and the shell shares its mode, so it cannot be made pollable.
func interruptible(f *os.File) *os.File {
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return f
	}
	in, says, err := os.Pipe()
	if err != nil {
		return f
	}
	go func() { // nothing can wait for this goroutine: it reads until the terminal or the process ends
		defer says.Close()
		_, _ = io.Copy(says, f) // the end of one ends the other
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
