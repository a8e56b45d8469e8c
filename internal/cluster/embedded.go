//go:build !nonats

package cluster

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"callgate/internal/durable"
)

// server is a NATS server within this process.
type server struct{ nats *natsserver.Server }

// mostEmbedded bounds a cluster of embedded servers: NATS keeps its own agreement among all of them, and more make it
// slower and no safer.
const mostEmbedded = 5

// startServer starts a NATS server. With peers it forms one cluster with theirs.
func startServer(o Options) (*server, error) {
	if len(o.Peers) > mostEmbedded {
		return nil, fmt.Errorf("cluster.peers: embedded serves at most %d replicas: use a NATS of your own", mostEmbedded)
	}
	identity, err := o.Key.identity()
	if err != nil {
		return nil, err
	}
	// Who connects, as a replica or a command, shows and wants the certificate that only the cluster's key makes, on loopback too.
	options := &natsserver.Options{
		ServerName: o.Name, Host: "127.0.0.1", Port: natsserver.RANDOM_PORT, TLSConfig: identity, TLSTimeout: 5,
		JetStream: true, StoreDir: filepath.Join(o.DataDir, "cluster"), NoSigs: true, NoLog: true, MaxPayload: 8 << 20,
		SyncAlways: true, JetStreamMaxMemory: 64 << 20, JetStreamMaxStore: 8 << 30, WriteDeadline: 10 * time.Second,
		DisableJetStreamBanner: true,
	}
	if len(o.Peers) > 0 {
		host, text, err := net.SplitHostPort(o.Listen)
		if err != nil {
			return nil, fmt.Errorf("cluster.listen: %w", err)
		}
		port, err := strconv.Atoi(text)
		if err != nil || port <= 0 {
			return nil, fmt.Errorf("cluster.listen: %q: name the port that the other replicas connect to", o.Listen)
		}
		options.Cluster = natsserver.ClusterOpts{Name: "callgate", Host: host, Port: port, Advertise: o.advertise, TLSConfig: identity.Clone(), TLSTimeout: 5, PingInterval: 2 * time.Second, MaxPingsOut: 2}
		for _, peer := range o.Peers {
			options.Routes = append(options.Routes, &url.URL{Scheme: "nats-route", Host: peer})
		}
	}
	s, err := natsserver.NewServer(options)
	if err != nil {
		return nil, fmt.Errorf("the embedded NATS does not start: %w", err)
	}
	s.SetLoggerV2(natsLog{o.Logger}, false, false, false)
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		s.Shutdown()
		return nil, errors.New("the embedded NATS does not start: it is not ready after 10 s")
	}
	running := &server{s}
	if err := durable.Replace(addressFile(o.DataDir), []byte(running.address()), 0o600); err != nil {
		running.close()
		return nil, err
	}
	return running, nil
}

func (s *server) close() {
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
}

// address is where commands of this machine reach the server.
func (s *server) address() string {
	if a, ok := s.nats.Addr().(*net.TCPAddr); ok {
		return a.String()
	}
	return ""
}
