package siem

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// control has a connection end when the receiver's machine acknowledges nothing for so long: otherwise it stands for a
// quarter of an hour after the network swallows what is sent.
func control(_, _ string, c syscall.RawConn) error {
	var err error
	failed := c.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(silent.Milliseconds()))
	})
	return errors.Join(failed, err)
}
