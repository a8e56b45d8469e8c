package siem

import (
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestSilentSyslog checks that a connection to a silent peer has ended before its records would count as arrived.
func TestSilentSyslog(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := &syslog{address: l.Addr().String()}
	if err := s.dial(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer s.close()
	raw, err := s.conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var within int
	if failed := raw.Control(func(fd uintptr) { within, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT) }); failed != nil || err != nil {
		t.Fatal(failed, err)
	}
	if d := time.Duration(within) * time.Millisecond; d <= 0 || d >= arrives {
		t.Errorf("it stands for %s, and what was sent counts as arrived after %s", d, arrives)
	}
}
