package spawn

import (
	"errors"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// wait waits for the end of a program that has started. It waits in the poller first, where the kernel can: to wait for
// a process takes a thread, and its stacks are most of what a session with a server of its own needs.
func wait(cmd *exec.Cmd) {
	if fd, err := unix.PidfdOpen(cmd.Process.Pid, unix.PIDFD_NONBLOCK); err == nil {
		f := os.NewFile(uintptr(fd), "process")
		if raw, err := f.SyscallConn(); err == nil {
			_ = raw.Read(ended) // after an error, the wait below takes as long
		}
		f.Close()
	}
	_ = cmd.Wait() // how the program ended, the keeper says
}

// ended reports whether the process that fd stands for has ended.
func ended(fd uintptr) bool {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		if !errors.Is(err, unix.EINTR) {
			return n > 0 || err != nil
		}
	}
}
