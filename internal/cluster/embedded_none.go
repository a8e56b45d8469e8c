//go:build nonats

package cluster

import (
	"errors"

	"github.com/nats-io/nats.go"
)

// server stands in for the embedded server, which this build leaves out.
type server struct{ nats.InProcessConnProvider }

func startServer(Options) (*server, error) {
	return nil, errors.New("this callgate was built without an embedded NATS (tag nonats): give the URL of one")
}

func (*server) close()          {}
func (*server) address() string { return "" }
