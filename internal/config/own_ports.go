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
// credentials: ports where approvals are given, and ports where tools are called. It is called for every call.
func (c *Config) OwnPorts() func() []string {
	own := ownPorts(c.DataDir)
	if c.base == "" {
		return own
	}
	front := ownPorts(c.base) // the front's folder has the ports of all tenants
	return func() []string { return slices.Concat(own(), front()) }
}

func ownPorts(dataDir string) func() []string {
	approvals := notes{dir: companionclient.PortsDir(dataDir), read: func() []string { return companionclient.Ports(dataDir) }}
	tools := notes{dir: endpoint.PortsDir(dataDir), read: func() []string { return endpoint.Ports(dataDir) }}
	return func() []string { return slices.Concat(approvals.list(), tools.list()) }
}

// notes caches what a folder says. It reads the folder again when it has changed.
type notes struct {
	dir  string
	read func() []string

	mu      sync.Mutex
	changed time.Time // modification time at the last reading; zero if it has to be read again
	known   []string
}

// settled is how old a folder's change must be before a reading is kept. File systems have coarse times, and two
// changes can have the same.
const settled = 2 * time.Second

func (n *notes) list() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	info, err := os.Stat(n.dir)
	if errors.Is(err, fs.ErrNotExist) { // nobody has noted a port yet
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
