//go:build linux || darwin

package hub

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
)

// maxSocketPath is the longest path of a unix socket, in bytes.
const maxSocketPath = len(syscall.RawSockaddrUnix{}.Path) - 1

// peer returns the user and process id at the other end of a unix socket. pid is 0 if the system does not tell.
func peer(conn *net.UnixConn) (uid, pid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	var seen error
	err = raw.Control(func(fd uintptr) { uid, pid, seen = peerOf(int(fd)) })
	return uid, pid, errors.Join(err, seen)
}

// sameUser returns an error unless the process at the other end of a unix socket belongs to this user.
func sameUser(conn *net.UnixConn) error {
	uid, _, err := peer(conn)
	if err != nil {
		return fmt.Errorf("whose process is at the hub's socket: %w", err)
	}
	return mine(uid, os.Geteuid())
}

func mine(uid, own int) error {
	if uid != own {
		return fmt.Errorf("the process at the other end of the hub's socket belongs to the user with id %d", uid)
	}
	return nil
}

// suspended returns a function that reports whether the process at the other end of a unix socket is stopped (SIGSTOP,
// Ctrl-Z): it keeps its sockets and locks but answers nobody. It returns false if this process cannot see it.
func suspended(conn *net.UnixConn) func() bool {
	_, pid, err := peer(conn)
	if err != nil || pid <= 0 {
		return func() bool { return false }
	}
	return func() bool { return stopped(pid) }
}
