package client

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
)

// DefaultAddress is the companion's default address.
const DefaultAddress = "127.0.0.1:7777"

// Loopback returns an address with an IP. It refuses one that other machines can reach. "" means DefaultAddress.
func Loopback(address string) (string, error) {
	host, port, err := net.SplitHostPort(cmp.Or(address, DefaultAddress))
	if err != nil {
		return "", fmt.Errorf("companion address %q: use host:port, such as %s", address, DefaultAddress)
	}
	if host == "" || host == "localhost" {
		host = "127.0.0.1"
	}
	if ip, err := netip.ParseAddr(host); err != nil || !ip.IsLoopback() {
		return "", fmt.Errorf("companion address %s is not on loopback: other machines connect over TLS, at a second address (listenRemote, with tls.cert and tls.key); use 127.0.0.1 here", address)
	}
	return net.JoinHostPort(host, port), nil
}
