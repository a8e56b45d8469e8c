//go:build nonats

package cluster

import (
	"errors"
	"net"
)

// server is what this build leaves out.
type server struct{}

func startServer(Options) (*server, error) {
	return nil, errors.New("this callgate was built without an embedded NATS (tag nonats): give the URL of one")
}

func (*server) InProcessConn() (net.Conn, error) { return nil, errors.New("there is no embedded NATS") }
func (*server) close()                           {}
func (*server) address() string                  { return "" }
