//go:build linux || darwin

package hub

import (
	"errors"
	"fmt"
	"net"
)

// controlled hands the connection's descriptor to look.
func controlled(conn *net.UnixConn, look func(fd int) error) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var seen error
	err = raw.Control(func(fd uintptr) { seen = look(int(fd)) })
	return errors.Join(err, seen)
}

func mine(uid, own int) error {
	if uid != own {
		return fmt.Errorf("the process at the other end of the hub's socket belongs to the user with id %d", uid)
	}
	return nil
}
