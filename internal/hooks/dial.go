package hooks

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
)

// errPrivate is why an address is not connected to.
var errPrivate = errors.New("the address belongs to a private network: allowPrivate: true permits that")

// dialer connects to addresses of the public internet, unless private ones are permitted. It is asked for every
// connection, behind name resolution: a name may mean another address the next time.
func (w *webhook) dialer() *net.Dialer {
	return &net.Dialer{
		Timeout: webhookTimeout,
		Control: func(_, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			switch {
			case err != nil:
				return fmt.Errorf("%s is no address: %w", address, err)
			case w.address.Scheme == "http" && !at.Addr().Unmap().IsLoopback():
				return fmt.Errorf("%s is not this machine, and plain http goes no further", at)
			case !w.private && !public(at.Addr()):
				return fmt.Errorf("%s: %w", at, errPrivate)
			}
			return nil
		},
	}
}

// reserved are the ranges that lead to no public host and that netip has no word for.
var reserved = func() (prefixes []netip.Prefix) {
	for _, text := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "240.0.0.0/4", "::/96", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16", "fec0::/10",
	} {
		prefixes = append(prefixes, netip.MustParsePrefix(text))
	}
	return prefixes
}()

// embedding are the ranges whose addresses stand for one of IPv4, and where in them it is.
var embedding = []struct {
	prefix netip.Prefix
	at     int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12},
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12},
	{netip.MustParsePrefix("2002::/16"), 2},
}

// public reports whether an address is one of the public internet.
func public(a netip.Addr) bool {
	a = a.WithZone("").Unmap()
	for _, e := range embedding {
		if e.prefix.Contains(a) {
			raw := a.As16()
			return public(netip.AddrFrom4([4]byte(raw[e.at : e.at+4])))
		}
	}
	for _, prefix := range reserved {
		if prefix.Contains(a) {
			return false
		}
	}
	return a.IsGlobalUnicast() && !a.IsPrivate() && !a.IsLoopback() && !a.IsLinkLocalUnicast()
}
