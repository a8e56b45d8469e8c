package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"callgate/internal/testserver/balancer"
)

// serveReplicas starts three callgates as one gate, each with an embedded NATS, behind a balancer without affinity.
// Each has the server behind it. The caller MUST call end.
func serveReplicas(ctx context.Context, callgate string, server map[string]any) (address string, end func(), err error) {
	dir, err := os.MkdirTemp("", "callgate-conformance-")
	if err != nil {
		return "", nil, err
	}
	var ends []func()
	end = func() {
		var ending sync.WaitGroup // in parallel, so that none waits for others that have ended
		for _, stop := range ends {
			ending.Go(stop)
		}
		ending.Wait()
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, "conformance:", err)
		}
	}
	defer func() {
		if err != nil {
			end()
		}
	}()
	var at []*url.URL // set before the first request
	front := httptest.NewServer(balancer.New(func() []*url.URL { return at }))
	ends = append(ends, func() { front.CloseClientConnections(); front.Close() })
	address = strings.TrimPrefix(front.URL, "http://")
	key := filepath.Join(dir, "cluster.key")
	err = os.WriteFile(key, []byte(rand.Text()+rand.Text()), 0o600)
	var peers [3]string
	shared := []string{"serve", "--listen", "off", "--auth", "none", "--mcp-host", address, "--cluster", "embedded", "--cluster-key", key}
	for i := range peers {
		var failed error
		peers[i], failed = freeAddress()
		err = errors.Join(err, failed)
		shared = append(shared, "--cluster-peer", peers[i])
	}
	for i, peer := range peers {
		if err != nil {
			return "", nil, err
		}
		name := fmt.Sprintf("gate-%d", i)
		own := filepath.Join(dir, name)
		hosts, failed := freeAddress()
		common, err := configure(own, server)
		if err = errors.Join(err, failed); err != nil {
			return "", nil, err
		}
		stop, err := start(ctx, callgate, append(append(shared[:len(shared):len(shared)], common...), "--mcp-listen", hosts, "--cluster-name", name, "--cluster-listen", peer)...)
		if err != nil {
			return "", nil, err
		}
		ends, at = append(ends, stop), append(at, &url.URL{Scheme: "http", Host: hosts})
	}
	for _, one := range at {
		if err := listening(ctx, one.Host); err != nil {
			return "", nil, err
		}
	}
	return address, end, nil
}
