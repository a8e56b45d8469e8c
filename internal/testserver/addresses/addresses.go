// Package addresses finds addresses for servers that tests start later.
package addresses

import (
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"testing"
)

// Free returns n addresses of this machine on which nobody listens. On Linux nobody takes them before the test's server
// does: all of 127.0.0.0/8 is this machine, and connections go out from 127.0.0.1.
func Free(t testing.TB, n int) (addresses []string) {
	t.Helper()
	for range n {
		host := "127.0.0.1"
		if runtime.GOOS == "linux" {
			host = fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
		}
		l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		addresses = append(addresses, l.Addr().String())
	}
	return addresses
}
