//go:build unix

package pipe

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// tryWriter returns a function that writes to a non-blocking descriptor as much as it takes at once. Calls MUST NOT
// overlap.
func tryWriter(raw syscall.RawConn) func(p []byte) (int, error) {
	var (
		p   []byte
		n   int
		err error
	)
	once := func(fd uintptr) bool {
		for n < len(p) {
			var k int
			k, err = unix.Write(int(fd), p[n:])
			if err == unix.EINTR {
				continue
			}
			if err != nil {
				break
			}
			n += k
		}
		return true // do not wait in the poller
	}
	return func(b []byte) (int, error) {
		p, n, err = b, 0, nil
		closed := raw.Write(once)
		p = nil
		switch {
		case closed != nil:
			return n, closed
		case err == nil || err == unix.EAGAIN:
			return n, nil
		default:
			return n, os.NewSyscallError("write", err)
		}
	}
}
