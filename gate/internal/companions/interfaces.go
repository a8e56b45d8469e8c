package companions

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// Where other machines may come in, this machine is reached by the addresses of its interfaces too.

// interfaces are those addresses as they were last read.
var interfaces struct {
	sync.Mutex
	read      time.Time
	addresses []netip.Addr
}

// InterfacesFor is how long they are believed to be the same.
const InterfacesFor = 10 * time.Second

// OwnAddresses lists the addresses of this machine. Where they cannot be read, none is known beside those that
// every machine has.
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
