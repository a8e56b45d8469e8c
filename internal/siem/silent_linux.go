package siem

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// control makes a connection end if the receiver's machine acknowledges nothing for the time silent. Otherwise it stays
// open for a quarter of an hour after the network starts to drop everything.
func control(_, _ string, c syscall.RawConn) error {
	var err error
	failed := c.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(silent.Milliseconds()))
	})
	return errors.Join(failed, err)
}
