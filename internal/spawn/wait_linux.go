package spawn

import (
	"errors"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// wait waits for the end of a started program. Where the kernel can, it waits in the poller first: waiting for a
// process takes a thread, whose stacks are most of the memory that a session with its own server needs.
func wait(cmd *exec.Cmd) {
	if fd, err := unix.PidfdOpen(cmd.Process.Pid, unix.PIDFD_NONBLOCK); err == nil {
		f := os.NewFile(uintptr(fd), "process")
		if raw, err := f.SyscallConn(); err == nil {
			_ = raw.Read(ended) // after an error, the wait below does the work
		}
		f.Close()
	}
	_ = cmd.Wait() // the keeper reports how the program ended
}

// ended reports whether the process behind fd has ended.
func ended(fd uintptr) bool {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		if !errors.Is(err, unix.EINTR) {
			return n > 0 || err != nil
		}
	}
}
