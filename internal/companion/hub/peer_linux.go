package hub

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// OwnPeer returns an error unless the socket at client, connected to server, belongs to this user or root. root can
// read the credentials anyway, and its relays connect a browser from outside a virtual machine. Both ends of a loopback
// connection are in one network namespace, so the kernel's table always lists it.
func OwnPeer(client, server netip.AddrPort) error {
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		uid, found, err := SocketOwner(table, client, server)
		switch {
		case err != nil:
			return err
		case found && (uid == os.Geteuid() || uid == 0):
			return nil
		case found:
			return fmt.Errorf("the connection from %s belongs to the user with id %d", client, uid)
		}
	}
	return fmt.Errorf("nobody owns the connection from %s", client)
}

// SocketOwner looks up the owner of a connected socket in one of the kernel's tables.
func SocketOwner(table string, local, remote netip.AddrPort) (uid int, found bool, err error) {
	f, err := os.Open(table)
	if os.IsNotExist(err) && strings.HasSuffix(table, "6") { // a kernel without IPv6
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		// sl local_address rem_address st tx:rx tr:when retrnsmt uid …
		fields := strings.Fields(lines.Text())
		if len(fields) < 8 || SocketAddress(fields[1]) != local || SocketAddress(fields[2]) != remote {
			continue
		}
		uid, err := strconv.Atoi(fields[7])
		return uid, err == nil, err
	}
	return 0, false, lines.Err()
}

// SocketAddress parses text such as "0100007F:1E61": an address in words of the machine's byte order, and a port. It
// returns the zero value for anything else, such as the table's heading.
func SocketAddress(text string) netip.AddrPort {
	address, port, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(address)
	if err != nil || len(raw)%4 != 0 {
		return netip.AddrPort{}
	}
	for word := range slices.Chunk(raw, 4) {
		binary.NativeEndian.PutUint32(word, binary.BigEndian.Uint32(word))
	}
	ip, ok := netip.AddrFromSlice(raw)
	number, err := strconv.ParseUint(port, 16, 16)
	if !ok || err != nil {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(ip.Unmap(), uint16(number))
}
