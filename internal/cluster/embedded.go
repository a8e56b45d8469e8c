//go:build !nonats

package cluster

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"callgate/internal/durable"
)

// server is a NATS server in this process.
type server struct {
	options *natsserver.Options
	log     *slog.Logger
	nats    atomic.Pointer[natsserver.Server] // the one that runs now

	end   chan struct{} // closed to stop watch
	ended chan struct{}
}

// mostEmbedded bounds a cluster of embedded servers. NATS reaches agreement among all of them, and more servers make it
// slower but no safer.
const mostEmbedded = 5

// startServer starts a NATS server. With peers, it joins their servers in one cluster.
func startServer(o Options) (*server, error) {
	if len(o.Peers) > mostEmbedded {
		return nil, fmt.Errorf("cluster.peers: embedded serves at most %d replicas: use a NATS of your own", mostEmbedded)
	}
	identity, err := o.Key.identity()
	if err != nil {
		return nil, err
	}
	if err := alreadyNamed(o, identity); err != nil {
		return nil, err
	}
	// Every replica and command that connects MUST show the certificate that only the cluster's key makes, even on
	// loopback. The server shows it too.
	options := &natsserver.Options{
		ServerName: o.Name, Host: "127.0.0.1", Port: natsserver.RANDOM_PORT, TLSConfig: identity, TLSTimeout: 5,
		JetStream: true, StoreDir: filepath.Join(o.DataDir, "cluster"), NoSigs: true, NoLog: true, MaxPayload: 8 << 20,
		SyncAlways: true, JetStreamMaxMemory: 64 << 20, JetStreamMaxStore: 1 << 50, // only the disk bounds it
		WriteDeadline: 10 * time.Second, DisableJetStreamBanner: true,
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
	s := &server{options: options, log: o.Logger, end: make(chan struct{}), ended: make(chan struct{})}
	if err := s.begin(); err != nil {
		return nil, err
	}
	go s.watch()
	if err := durable.Replace(addressFile(o.DataDir), []byte(s.address()), 0o600); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// namesWithin bounds how long the other replicas are asked for their names.
const namesWithin = 2 * time.Second

// alreadyNamed returns an error if a live replica has this one's name. NATS would take one for the other, and for its
// copy of the data.
func alreadyNamed(o Options, identity *tls.Config) error {
	found := make(chan error, len(o.Peers))
	asked := 0
	for _, peer := range o.Peers {
		if peer == o.Listen {
			continue
		}
		asked++
		go func() {
			if name, err := nameOf(peer, identity); err == nil && name == o.Name {
				found <- fmt.Errorf("%w: %s, at %s", errNamed, name, peer)
				return
			}
			found <- nil
		}()
	}
	var named error
	for range asked {
		if err := <-found; err != nil {
			named = err
		}
	}
	return named
}

// nameOf asks the embedded server at an address for its replica's name, which NATS sends first.
func nameOf(peer string, identity *tls.Config) (string, error) {
	dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: namesWithin}, Config: identity.Clone()}
	ctx, cancel := context.WithTimeout(context.Background(), namesWithin)
	defer cancel()
	conn, err := dialer.DialContext(ctx, "tcp", peer)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetReadDeadline(time.Now().Add(namesWithin)); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(io.LimitReader(conn, 64<<10)).ReadBytes('\n')
	if err != nil {
		return "", err
	}
	var info struct {
		Name string `json:"server_name"`
	}
	err = json.Unmarshal(bytes.TrimPrefix(line, []byte("INFO ")), &info)
	return info.Name, err
}

// begin starts NATS. After the first time, it uses the same address again.
func (s *server) begin() error {
	one, err := natsserver.NewServer(s.options.Clone())
	if err != nil {
		return fmt.Errorf("the embedded NATS does not start: %w", err)
	}
	one.SetLoggerV2(newNatsLog(s.log), false, false, false)
	one.Start()
	if !one.ReadyForConnections(10 * time.Second) {
		one.Shutdown()
		return errors.New("the embedded NATS does not start: it is not ready after 10 s")
	}
	s.nats.Store(one)
	if a, ok := one.Addr().(*net.TCPAddr); ok {
		s.options.Port = a.Port
	}
	return nil
}

// watch restarts NATS after it has given up its storage, once the disk has room. NATS gives it up for good when the
// disk is full.
func (s *server) watch() {
	defer close(s.ended)
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-s.end:
			return
		}
		if s.nats.Load().JetStreamEnabled() || !s.room() {
			continue
		}
		s.log.Warn("cluster: the embedded NATS gave up its storage, as it does when a disk is full; it starts again")
		s.shutdown()
		if err := s.begin(); err != nil {
			s.log.Error("cluster: trying again", "error", err)
		}
	}
}

// room reports whether the disk has room.
func (s *server) room() bool {
	probe := filepath.Join(s.options.StoreDir, "probe")
	err := os.WriteFile(probe, make([]byte, 1<<20), 0o600)
	return errors.Join(err, os.Remove(probe)) == nil
}

// InProcessConn implements nats.InProcessConnProvider.
func (s *server) InProcessConn() (net.Conn, error) { return s.nats.Load().InProcessConn() }

func (s *server) shutdown() {
	one := s.nats.Load()
	one.Shutdown()
	one.WaitForShutdown()
}

func (s *server) close() {
	close(s.end)
	<-s.ended
	s.shutdown()
}

// address returns where commands on this machine reach the server.
func (s *server) address() string {
	if a, ok := s.nats.Load().Addr().(*net.TCPAddr); ok {
		return a.String()
	}
	return ""
}
