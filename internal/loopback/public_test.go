package loopback

import (
	"net/netip"
	"testing"
)

func TestPublic(t *testing.T) {
	for text, want := range map[string]bool{
		"8.8.8.8": true, "2606:4700::1111": true, "64:ff9b::808:808": true,
		"10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "127.0.0.1": false, "169.254.169.254": false, "100.64.0.1": false,
		"0.0.0.0": false, "255.255.255.255": false, "224.0.0.1": false, "198.18.0.1": false, "::": false, "::1": false, "fe80::1": false,
		"fc00::1": false, "fd00:ec2::254": false, "ff02::1": false, "::ffff:10.0.0.1": false, "64:ff9b::a00:1": false, "2002:7f00:1::": false,
		"2002:808:808::": true, "fe80::1%eth0": false, "2001:db8::1": false,
	} {
		if got := Public(netip.MustParseAddr(text)); got != want {
			t.Errorf("Public(%s) = %v", text, got)
		}
	}
}
