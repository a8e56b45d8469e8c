package companions

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// If other machines can reach the companion, this machine is also reached by the addresses of its interfaces.

// interfaces caches those addresses.
var interfaces struct {
	sync.Mutex
	read      time.Time
	addresses []netip.Addr
}

// InterfacesFor is how long the cache is used.
const InterfacesFor = 10 * time.Second

// OwnAddresses returns the addresses of this machine. If they cannot be read, only the loopback ones count.
func OwnAddresses() []netip.Addr {
	interfaces.Lock()
	defer interfaces.Unlock()
	if !interfaces.read.IsZero() && time.Since(interfaces.read) < InterfacesFor {
		return interfaces.addresses
	}
	all, _ := net.InterfaceAddrs()
	interfaces.read, interfaces.addresses = time.Now(), make([]netip.Addr, 0, len(all))
	for _, one := range all {
		if prefix, err := netip.ParsePrefix(one.String()); err == nil {
			interfaces.addresses = append(interfaces.addresses, prefix.Addr().WithZone("").Unmap())
		}
	}
	return interfaces.addresses
}
