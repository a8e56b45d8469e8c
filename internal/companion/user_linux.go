package companion

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
		peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err != nil {
			return fmt.Errorf("whose process is at the hub's socket: %w", err)
		}
		return mine(int(peer.Uid), os.Geteuid())
	})
}
