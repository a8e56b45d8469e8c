package hub

import (
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxSocketPath is how long the path of a unix socket may be, in bytes.
const maxSocketPath = len(syscall.RawSockaddrUnix{}.Path) - 1

// sameUser fails unless the process at the other end of a unix socket is this user's.
func sameUser(conn *net.UnixConn) error {
	return controlled(conn, func(fd int) error {
		peer, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
		if err != nil {
			return fmt.Errorf("whose process is at the hub's socket: %w", err)
		}
		return mine(int(peer.Uid), os.Geteuid())
	})
}

// stoppedState is SSTOP of sys/proc.h.
const stoppedState = 4

// suspended returns a function that says whether the process at the other end of a unix socket is stopped (SIGSTOP,
// Ctrl-Z): it keeps its sockets and locks then and answers nobody. It is false of a process that this one cannot see.
func suspended(conn *net.UnixConn) func() bool {
	var pid int
	err := controlled(conn, func(fd int) (err error) {
		pid, err = unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
		return err
	})
	if err != nil || pid <= 0 {
		return func() bool { return false }
	}
	return func() bool { return stopped(pid) }
}

// stopped reports whether a process is stopped (SIGSTOP, Ctrl-Z). It is false of one that this process cannot see.
func stopped(pid int) bool {
	process, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	return err == nil && process.Proc.P_stat == stoppedState
}
