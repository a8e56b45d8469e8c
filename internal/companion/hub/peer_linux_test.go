package hub

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
)

func TestOwnPeer(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:0", "[::1]:0"} {
		listener, err := net.Listen("tcp", listen)
		if err != nil {
			t.Logf("%s: %v", listen, err) // a machine without IPv6
			continue
		}
		defer listener.Close()
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		client, server := netip.MustParseAddrPort(conn.LocalAddr().String()), netip.MustParseAddrPort(conn.RemoteAddr().String())
		if err := OwnPeer(client, server); err != nil {
			t.Errorf("own connection: %v", err)
		}
		if err := OwnPeer(netip.AddrPortFrom(client.Addr(), 1), server); err == nil {
			t.Error("a connection that does not exist passes")
		}
	}
}

func TestSocketOwner(t *testing.T) {
	table := filepath.Join(t.TempDir(), "tcp")
	// Linux's format on a little-endian machine; TestOwnPeer covers others.
	if SocketAddress("0100007F:1E61") != netip.MustParseAddrPort("127.0.0.1:7777") {
		t.Skip("big-endian machine")
	}
	text := `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1E61 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1 0
   1: 0100007F:9C40 0100007F:1E61 01 00000000:00000000 00:00000000 00000000  1001        0 2 1 0
   2: 0000000000000000FFFF00000100007F:9C41 0000000000000000FFFF00000100007F:1E61 01 00000000:00000000 00:00000000 00000000  1002        0 3 1 0
   3: damaged
`
	if err := os.WriteFile(table, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	server := netip.MustParseAddrPort("127.0.0.1:7777")
	for _, tt := range []struct {
		client string
		uid    int
		found  bool
	}{
		{"127.0.0.1:40000", 1001, true},
		{"127.0.0.1:40001", 1002, true}, // IPv4 over an IPv6 socket
		{"127.0.0.1:40002", 0, false},
		{"127.0.0.1:7777", 0, false}, // the listener is not a peer
	} {
		uid, found, err := SocketOwner(table, netip.MustParseAddrPort(tt.client), server)
		if uid != tt.uid || found != tt.found || err != nil {
			t.Errorf("%s: %d %v %v", tt.client, uid, found, err)
		}
	}
	if _, _, err := SocketOwner(filepath.Join(t.TempDir(), "tcp"), server, server); err == nil {
		t.Error("a table that is not there finds nothing and says nothing")
	}
}
