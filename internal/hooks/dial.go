package hooks

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"callgate/internal/loopback"
)

// errPrivate is why an address is refused.
var errPrivate = errors.New("the address belongs to a private network: allowPrivate: true permits that")

// dialer returns a dialer that connects to the public internet only, unless private addresses are permitted. It checks
// every connection, after name resolution: a name may resolve to another address the next time.
func (w *webhook) dialer() *net.Dialer {
	return &net.Dialer{
		Timeout: webhookTimeout,
		Control: func(_, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			switch {
			case err != nil:
				return fmt.Errorf("%s is not an address: %w", address, err)
			case w.address.Scheme == "http" && !at.Addr().Unmap().IsLoopback():
				return fmt.Errorf("%s is not this machine, and plain http goes no further", at)
			case !w.private && !loopback.Public(at.Addr()):
				return fmt.Errorf("%s: %w", at, errPrivate)
			}
			return nil
		},
	}
}
