package config

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callgate/internal/cluster"
	"callgate/internal/outbound"
	"callgate/internal/spawn"
)

// clusterConfig says how this callgate shares rules, approvals and sessions with others.
type clusterConfig struct {
	URL    string
	Name   string
	Listen string
	Peers  []string
	Key    string

	KeyVariable string   // environment variable with the secret, instead of a file
	KeyCommand  []string // command with arguments that prints the secret

	Creds   string
	CA      string
	Cert    string
	CertKey string
	Lease   time.Duration

	TrailAge   time.Duration // how long the audit trail's stream keeps records; 0 keeps all
	TrailBytes int64         // most bytes that it keeps; 0 means no limit

	Indexes bool // share search indexes among replicas
}

// clusterSettings are the settings of callgate serve and of the commands about a cluster.
var clusterSettings = []setting{
	{"cluster.url", "cluster", "share rules, approvals and sessions over NATS: embedded, or the `URL` of yours, as nats://host:4222", ""},
	{"cluster.name", "cluster-name", "unique `name` of this replica (default: the machine's name)", ""},
	{"cluster.listen", "cluster-listen", "embedded: `address` for the other replicas", "127.0.0.1:7779"},
	{"cluster.peers", "cluster-peer", "embedded: `address` of each replica, including this one; repeatable", []string{}},
	{"cluster.key", "cluster-key", "`file` with the secret that all replicas share", ""},
	{"cluster.creds", "cluster-creds", "`file` with the JWT and seed, or the NKey seed, for your NATS", ""},
	{"cluster.ca", "cluster-ca", "`file` with the CA certificate for your NATS", ""},
	{"cluster.cert", "cluster-cert", "`file` with the client certificate for your NATS", ""},
	{"cluster.certKey", "cluster-cert-key", "`file` with the client certificate's key", ""},
	{"cluster.lease", "cluster-lease", "how long a replica may go on without hearing from the cluster", cluster.DefaultLease},
	{"cluster.trailAge", "cluster-trail-age", "how long the cluster keeps records of the audit trail that the replica itself has; 0s keeps all", cluster.DefaultTrailAge},
	{"cluster.trailBytes", "cluster-trail-bytes", "how many bytes of records that a replica also has the cluster keeps, whatever their age; 0 is no limit", 0},
	{"cluster.indexes", "cluster-indexes", "share search indexes, so that a new replica need not build them", false},
}

// On reports whether this callgate joins a cluster.
func (c *clusterConfig) On() bool { return c.URL != "" }

// validate checks every value. The error begins with the key.
func (c *clusterConfig) validate() error {
	if c.URL == "" {
		return nil
	}
	if c.Name == "" {
		name, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("cluster.name: %w", err)
		}
		c.Name = name
	}
	switch {
	case !plainName.MatchString(c.Name):
		return fmt.Errorf("cluster.name: %q is not a name: use letters, digits, dots, - and _, at most 64", c.Name)
	case c.Lease < time.Second || c.Lease > 10*time.Minute:
		return fmt.Errorf("cluster.lease: %s: use 1s to 10m", c.Lease)
	case c.TrailAge < 0 || c.TrailAge > 0 && c.TrailAge < time.Hour:
		return fmt.Errorf("cluster.trailAge: %s: use 1h or more, or 0s to keep all", c.TrailAge)
	case c.TrailBytes < 0 || c.TrailBytes > 0 && c.TrailBytes < cluster.MinTrailBytes:
		return fmt.Errorf("cluster.trailBytes: %d: use %d or more, or 0 for no limit", c.TrailBytes, cluster.MinTrailBytes)
	case (c.Cert == "") != (c.CertKey == ""):
		return errors.New("cluster.cert: a certificate needs its key: give cluster.cert and cluster.certKey")
	}
	if err := c.validateKey(); err != nil {
		return err
	}
	if c.URL == cluster.Embedded {
		return c.validateEmbedded()
	}
	return c.validateURLs()
}

func (c *clusterConfig) validateURLs() error {
	if len(c.Peers) > 0 {
		return errors.New("cluster.peers: they are for cluster.url embedded; your NATS knows its own")
	}
	for one := range strings.SplitSeq(c.URL, ",") {
		u, err := url.Parse(one)
		if err != nil || u.Host == "" || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme) {
			return fmt.Errorf("cluster.url: %q: use embedded, or URLs such as nats://host:4222 or tls://host:4222, separated by commas", one)
		}
		if u.User != nil {
			return errors.New("cluster.url: a credential does not belong in a URL: use cluster.creds")
		}
	}
	return nil
}

func (c *clusterConfig) validateKey() error {
	given := 0
	for _, one := range []bool{c.Key != "", c.KeyVariable != "", len(c.KeyCommand) > 0} {
		if one {
			given++
		}
	}
	switch given {
	case 0:
		return errors.New("cluster.key: every replica needs the same secret in a file (or in keyVariable, or from keyCommand); make one with: openssl rand -base64 48 > cluster.key")
	case 1:
		return nil
	}
	return errors.New("cluster.key: give one of key, keyVariable and keyCommand")
}

func (c *clusterConfig) validateEmbedded() error {
	if c.Creds != "" || c.CA != "" || c.Cert != "" {
		return errors.New("cluster.creds: it is for a NATS of your own; embedded replicas know each other by cluster.key")
	}
	if len(c.Peers) == 0 {
		return nil
	}
	for _, peer := range append([]string{c.Listen}, c.Peers...) {
		if _, port, err := net.SplitHostPort(peer); err != nil || port == "" || port == "0" {
			return fmt.Errorf("cluster.peers: %q: use host:port", peer)
		}
	}
	if !slices.ContainsFunc(c.Peers, c.own) {
		c.Peers = append([]string{c.Listen}, c.Peers...)
	}
	if len(c.Peers) == 1 {
		c.Peers = nil
	}
	return nil
}

// own reports whether a peer is this replica.
func (c *clusterConfig) own(peer string) bool {
	host, _, err := net.SplitHostPort(peer)
	return err == nil && (peer == c.Listen || host == c.Name || strings.HasPrefix(host, c.Name+"."))
}

// Options returns the options with which this replica is opened.
func (c *clusterConfig) Options(files Files, version string, log *slog.Logger) (cluster.Options, error) {
	o := cluster.Options{
		URL: c.URL, Name: c.Name, Worker: files.Worker, DataDir: files.DataDir, Listen: c.Listen, Peers: c.Peers,
		Lease: c.Lease, TrailAge: c.TrailAge, TrailBytes: c.TrailBytes, Version: version, Logger: log,
	}
	if (strings.Contains(c.URL, "nats://") || strings.Contains(c.URL, "ws://")) && c.CA == "" {
		log.Warn("cluster.url: the connection to NATS has no TLS: what callgate sends is sealed, but somebody in between can delay it", "url", c.URL)
	}
	if !c.On() {
		return o, errors.New("no cluster is configured: set cluster.url, or use --cluster")
	}
	var err error
	if o.Key, err = c.readKey(log); err != nil {
		return o, err
	}
	if c.Creds != "" {
		if o.Creds, err = filepath.Abs(ExpandHome(c.Creds)); err != nil {
			return o, err
		}
	}
	o.TLS, err = c.tls()
	return o, err
}

// Limits on a command that prints the key.
const (
	keyWithin  = 30 * time.Second
	maxKeyText = 64 << 10
)

// readKey reads the cluster's key from its file, from its variable, or from the output of its command. The command runs
// without a shell and with callgate's own environment. Its output goes nowhere else.
func (c *clusterConfig) readKey(log *slog.Logger) (key cluster.Key, err error) {
	switch {
	case c.KeyVariable != "":
		text := os.Getenv(c.KeyVariable)
		if text == "" {
			return key, fmt.Errorf("cluster.keyVariable: the variable %s is not set", c.KeyVariable)
		}
		return cluster.ParseKey(text)
	case len(c.KeyCommand) == 0:
		return cluster.ReadKey(ExpandHome(c.Key))
	}
	path, err := exec.LookPath(ExpandHome(c.KeyCommand[0]))
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return key, fmt.Errorf("cluster.keyCommand: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), keyWithin)
	defer cancel()
	ran, err := spawn.Run(ctx, spawn.Command{Path: path, Args: c.KeyCommand[1:], Env: os.Environ(), Output: maxKeyText, Logger: log})
	switch {
	case ctx.Err() != nil:
		return key, fmt.Errorf("cluster.keyCommand: %s printed no key within %s", path, keyWithin)
	case err != nil:
		return key, fmt.Errorf("cluster.keyCommand: %s: %w", path, err)
	case ran.Code != 0:
		return key, fmt.Errorf("cluster.keyCommand: %s ended with code %d; run it to see why", path, ran.Code)
	case ran.Cut:
		return key, fmt.Errorf("cluster.keyCommand: %s printed more than %d bytes", path, maxKeyText)
	}
	return cluster.ParseKey(string(ran.Stdout))
}

// tls returns the TLS configuration for an external NATS. If it is nil, the URL decides.
func (c *clusterConfig) tls() (*tls.Config, error) {
	if c.CA == "" && c.Cert == "" {
		return nil, nil
	}
	made := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CA != "" {
		var err error
		if made.RootCAs, err = outbound.Roots(ExpandHome(c.CA)); err != nil {
			return nil, fmt.Errorf("cluster.ca: %w", err)
		}
	}
	if c.Cert != "" {
		pair, err := tls.LoadX509KeyPair(ExpandHome(c.Cert), ExpandHome(c.CertKey))
		if err != nil {
			return nil, fmt.Errorf("cluster.cert: %w", err)
		}
		made.Certificates = []tls.Certificate{pair}
	}
	return made, nil
}
