package remote

import (
	"net"
	"time"
)

// quiet reports whether the connection is open and the server has sent nothing, so that it can carry a request.
func quiet(conn net.Conn) bool {
	if conn.SetReadDeadline(time.Now().Add(time.Millisecond)) != nil {
		return false
	}
	var b [1]byte
	n, err := conn.Read(b[:])
	timeout, ok := err.(net.Error)
	return n == 0 && ok && timeout.Timeout() && conn.SetReadDeadline(time.Time{}) == nil
}
