//go:build unix

package remote

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// quiet reports whether the connection is open and the server has sent nothing, so that it can carry a request.
func quiet(conn net.Conn) bool {
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return false
	}
	open := false
	var b [1]byte
	err = raw.Read(func(fd uintptr) bool {
		for {
			_, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
			if err == unix.EINTR {
				continue
			}
			open = err == unix.EAGAIN
			return true
		}
	})
	return err == nil && open
}
