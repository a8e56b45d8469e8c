package loopback

import "net/netip"

// reserved lists the ranges without public hosts that netip does not know.
var reserved = func() (prefixes []netip.Prefix) {
	for _, text := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "240.0.0.0/4", "::/96", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16", "fec0::/10",
	} {
		prefixes = append(prefixes, netip.MustParsePrefix(text))
	}
	return prefixes
}()

// embedding lists the ranges whose addresses stand for an IPv4 address, and its offset in them.
var embedding = []struct {
	prefix netip.Prefix
	at     int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12},
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12},
	{netip.MustParsePrefix("2002::/16"), 2},
}

// Public reports whether an address is on the public internet, or stands for one that is.
func Public(a netip.Addr) bool {
	a = a.WithZone("").Unmap()
	for _, e := range embedding {
		if e.prefix.Contains(a) {
			raw := a.As16()
			return Public(netip.AddrFrom4([4]byte(raw[e.at : e.at+4])))
		}
	}
	for _, prefix := range reserved {
		if prefix.Contains(a) {
			return false
		}
	}
	return a.IsGlobalUnicast() && !a.IsPrivate() && !a.IsLoopback() && !a.IsLinkLocalUnicast()
}
