package config

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	companionclient "callgate/internal/companion/client"
	"callgate/internal/endpoint"
)

// OwnPorts returns a function that lists the ports of every callgate that shares the data directory, and with it the
// credentials: where approvals are given, and where tools are called. It is asked at every call.
func (c *Config) OwnPorts() func() []string {
	own := ownPorts(c.DataDir)
	if c.base == "" {
		return own
	}
	front := ownPorts(c.base) // which has those of all tenants
	return func() []string { return slices.Concat(own(), front()) }
}

func ownPorts(dataDir string) func() []string {
	approvals := notes{dir: companionclient.PortsDir(dataDir), read: func() []string { return companionclient.Ports(dataDir) }}
	tools := notes{dir: endpoint.PortsDir(dataDir), read: func() []string { return endpoint.Ports(dataDir) }}
	return func() []string { return slices.Concat(approvals.list(), tools.list()) }
}

// notes is what a folder was found to say. It is read again when the folder has changed since.
type notes struct {
	dir  string
	read func() []string

	mu      sync.Mutex
	changed time.Time // as of the reading; zero when it has to be read again
	known   []string
}

// settled is how old a folder's change has to be before a reading is kept: file systems tell times coarsely, and two
// changes can have one.
const settled = 2 * time.Second

func (n *notes) list() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	info, err := os.Stat(n.dir)
	if errors.Is(err, fs.ErrNotExist) { // nobody has noted anything yet
		n.changed, n.known = time.Time{}, nil
		return nil
	}
	if err != nil {
		n.changed = time.Time{}
		return n.read()
	}
	if at := info.ModTime(); n.changed.IsZero() || !n.changed.Equal(at) {
		n.known, n.changed = n.read(), at
		if age := time.Since(at); age < settled {
			n.changed = time.Time{}
		}
	}
	return n.known
}
