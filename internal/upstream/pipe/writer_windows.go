package pipe

import "syscall"

// tryWriter returns a function that writes nothing. Writes to an anonymous pipe can block, so everything goes through
// the pump.
func tryWriter(syscall.RawConn) func(p []byte) (int, error) {
	return func([]byte) (int, error) { return 0, nil }
}
