package hub

import (
	"testing"

	"callgate/internal/companion/client"
)

// A door for other machines may have the same port as the one for this machine. Each is announced while it is open.
func TestDoorsOfOnePortAreAnnouncedApart(t *testing.T) {
	dir := t.TempDir()
	here := client.Announcement{Address: "127.0.0.1:7777"}
	if err := write(dir, announcementOf(here)); err != nil {
		t.Fatal(err)
	}
	if err := announceRemote(dir, "192.0.2.1:7777"); err != nil {
		t.Fatal(err)
	}
	if found, err := client.Companions(dir); err != nil || len(found) != 1 || found[0].Address != here.Address {
		t.Errorf("clients of this machine find %+v, %v", found, err)
	}
	if ports := client.Ports(dir); len(ports) != 2 || ports[0] != "7777" || ports[1] != "7777" {
		t.Errorf("protected are the ports %s", ports)
	}
	if err := withdraw(dir, here); err != nil {
		t.Fatal(err)
	}
	if ports := client.Ports(dir); len(ports) != 1 {
		t.Errorf("with the door for other machines open, protected are the ports %s", ports)
	}
}
