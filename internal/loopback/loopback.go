// Package loopback tells which addresses are on this machine or in its network.
package loopback

import (
	"net/netip"
	"net/url"
	"strings"
)

// Host reports whether a host, without port, is this machine by its spelling alone. It looks up no name, because what a
// name means can change.
func Host(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

// Confidential reports whether nobody on the way can read what is sent to u: u is https, or http that does not leave
// this machine.
func Confidential(u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "http" && Host(u.Hostname())
}
