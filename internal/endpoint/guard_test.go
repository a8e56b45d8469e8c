package endpoint

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"callgate/proxy"
)

// A host that is not admitted cannot hold a connection with a body that never comes.
func TestRefusedRequestsHoldNoConnection(t *testing.T) {
	p, err := proxy.New(proxy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Listen(Options{Address: "127.0.0.1:0", Settings: Settings{Door: NewTokens(Token{Name: "mcp", Secret: func() (string, error) { return "secret", nil }})}, Rooms: One(p, nil), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		p.Close()
	})
	for name, head := range map[string]string{
		"401": "POST /mcp HTTP/1.1\r\nHost: " + s.listens.String() + "\r\n",
		"403": "POST /mcp HTTP/1.1\r\nHost: elsewhere\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", s.listens.String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if err := conn.SetDeadline(time.Now().Add(bodyPatience / 2)); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(conn, "%sContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{", head)
			answer, err := io.ReadAll(conn) // to its end, which the server must make
			if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 "+name+" ") {
				t.Errorf("%v: %.100s", err, answer)
			}
		})
	}
}

// Hosts behind a balancer ask for its name, at its port.
func TestHostNames(t *testing.T) {
	names := hostNames([]string{"tools.example.com", "gate.example.com:443", "[2001:db8::1]:8443"}, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 7778})
	for host, want := range map[string]bool{
		"10.0.0.1:7778": true, "localhost:7778": true, "localhost": false, "tools.example.com:7778": true, "tools.example.com": false,
		"gate.example.com": true, "gate.example.com:443": true, "gate.example.com:7778": false, "[2001:db8::1]:8443": true, "elsewhere:7778": false,
	} {
		if names[host] != want {
			t.Errorf("%s: %v", host, !want)
		}
	}
}
