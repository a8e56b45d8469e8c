package cluster

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"

	"callgate/internal/durable"
)

// connect connects to NATS. A replica's connection keeps trying for as long as the replica lives.
func (c *Cluster) connect() (*nats.Conn, error) {
	options := []nats.Option{
		nats.Name("callgate " + c.o.Name), nats.MaxReconnects(-1), nats.ReconnectWait(250 * time.Millisecond), nats.ReconnectJitter(100*time.Millisecond, 100*time.Millisecond),
		nats.RetryOnFailedConnect(true), nats.PingInterval(max(c.o.Lease/5, time.Second)), nats.MaxPingsOutstanding(2), nats.Timeout(2 * time.Second),
		nats.ReconnectBufSize(-1), // what cannot be sent fails at once
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if c.ctx.Err() == nil {
				c.log.Warn("cluster: the connection to NATS is gone; trying again", "error", err)
			}
		}),
		nats.ReconnectHandler(func(n *nats.Conn) { c.log.Info("cluster: connected to NATS again", "url", n.ConnectedUrlRedacted()) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { c.log.Warn("cluster: NATS", "error", err) }),
	}
	url := c.o.URL
	if c.o.URL == Embedded && c.o.onlooker {
		address, err := os.ReadFile(addressFile(c.o.DataDir))
		if err != nil {
			return nil, fmt.Errorf("no replica with an embedded NATS runs in %s: %w", c.o.DataDir, err)
		}
		url = "nats://" + string(address)
		identity, err := c.o.Key.identity() // anybody may now use a port that a replica left behind
		if err != nil {
			return nil, err
		}
		options = append(options, nats.Secure(identity), nats.RetryOnFailedConnect(false))
	} else if c.server != nil {
		url = nats.DefaultURL // unused: the connection stays in this process
		options = append(options, nats.InProcessServer(c.server))
	} else {
		more, err := outsideOptions(c.o)
		if err != nil {
			return nil, err
		}
		options = append(options, more...)
	}
	return nats.Connect(url, options...)
}

// addressFile returns the file where a replica notes its embedded server's address, for commands on this machine.
func addressFile(dataDir string) string { return filepath.Join(dataDir, "cluster.address") }

// noteAddress lets commands for a tenant's worker find the embedded server too.
func (c *Cluster) noteAddress() error {
	if c.front.server == nil {
		return nil
	}
	text, err := os.ReadFile(addressFile(c.front.o.DataDir))
	if err != nil {
		return err
	}
	return durable.Replace(addressFile(c.o.DataDir), text, 0o600)
}

// outsideOptions returns the options with which callgate authenticates to an external NATS.
func outsideOptions(o Options) (options []nats.Option, err error) {
	if o.TLS != nil {
		options = append(options, nats.Secure(o.TLS))
	}
	if o.Creds == "" {
		return options, nil
	}
	text, err := os.ReadFile(o.Creds)
	if err != nil {
		return nil, fmt.Errorf("cluster.creds: %w", err)
	}
	if bytes.Contains(text, []byte("BEGIN NATS USER JWT")) {
		return append(options, nats.UserCredentials(o.Creds)), nil
	}
	key, err := nats.NkeyOptionFromSeed(o.Creds)
	if err != nil {
		return nil, fmt.Errorf("cluster.creds: %s has neither a JWT with its seed nor an NKey seed: %w", o.Creds, err)
	}
	return append(options, key), nil
}
