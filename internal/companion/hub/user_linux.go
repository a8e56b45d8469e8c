package hub

import (
	"bytes"
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
		peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err != nil {
			return fmt.Errorf("whose process is at the hub's socket: %w", err)
		}
		return mine(int(peer.Uid), os.Geteuid())
	})
}

// suspended returns a function that says whether the process at the other end of a unix socket is stopped (SIGSTOP,
// Ctrl-Z): it keeps its sockets and locks then and answers nobody. It is false of a process that this one cannot see.
func suspended(conn *net.UnixConn) func() bool {
	var pid int32
	err := controlled(conn, func(fd int) error {
		peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err == nil {
			pid = peer.Pid
		}
		return err
	})
	if err != nil || pid <= 0 {
		return func() bool { return false }
	}
	return func() bool { return stopped(int(pid)) }
}

// stopped reports whether a process is stopped (SIGSTOP, Ctrl-Z). It is false of one that this process cannot see.
func stopped(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // "PID (NAME) STATE …"; the name may hold anything
	state := stat[bytes.LastIndexByte(stat, ')')+1:]
	return err == nil && (bytes.HasPrefix(state, []byte(" T")) || bytes.HasPrefix(state, []byte(" t")))
}
