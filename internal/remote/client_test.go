package remote

import (
	"testing"
	"time"
)

// TestCallgateClosesFirst: a request must not meet a server that is just closing the connection.
func TestCallgateClosesFirst(t *testing.T) {
	for address, closes := range map[string]time.Duration{"http://127.0.0.1:3000/mcp": 5 * time.Second, "https://mcp.example.com/": time.Minute} {
		if idle := newClient(address, 0).Transport.(*direct).plain.IdleConnTimeout; idle <= 0 || idle >= closes {
			t.Errorf("%s: a connection is kept for %s, the server closes it after %s", address, idle, closes)
		}
	}
}
