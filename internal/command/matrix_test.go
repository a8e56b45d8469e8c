package command

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"callgate/internal/testserver/features"
	"callgate/internal/testserver/waits"
)

var updatePages = flag.Bool("update", false, "write pages of docs from what was found")

// Bounds of the matrix. They are long because machines are slow.
const (
	matrixPair = 2 * patience
	matrixCell = patience
)

// conformance skips tests that take long, unless make conformance runs them.
func conformance(t *testing.T) {
	t.Helper()
	if os.Getenv("CALLGATE_CONFORMANCE") == "" {
		t.Skip("only make conformance runs this")
	}
}

// pair is a host and a server, as indices of ends.
type pair struct{ host, upstream int }

// TestMatrix tries every feature between every host and every server through callgate, and compares docs/matrix.md with
// the result. The hosts are clients of the official Go SDK, and the servers are internal/testserver/features on the
// same SDK. `go test ./internal/command -run Matrix -update` writes the page.
func TestMatrix(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Parallel()
	if elsewhere(t) {
		return
	}
	holdPage(t, "matrix.md", matrixPage(t, startGates(t).try(t, func(end, string) bool { return true })))
}

// TestMatrixOfThree tries the same with the hosts over HTTP, through three replicas behind a balancer.
func TestMatrixOfThree(t *testing.T) {
	conformance(t)
	t.Parallel()
	if elsewhere(t) {
		return
	}
	g := newGates(t)
	g.served = servedByThree(t, g.config())
	// A server's lists may differ by replica, and a host without a session hears of changes only where it listens.
	tried := func(host end, feature string) bool {
		return host.transport != overStdio && (host.era != features.Modern || feature != "list_changed")
	}
	for at, results := range g.try(t, tried) {
		for feature, err := range results {
			if err != nil {
				t.Errorf("host %s, server %s, %s: %v", ends[at.host], ends[at.upstream], feature, err)
			}
		}
	}
}

// servedByThree starts three replicas with that configuration, and rules that allow everything.
func servedByThree(t *testing.T, config string) *served {
	t.Helper()
	team := teamOf(t, 3, t.TempDir(), allowAll, config, "--cluster-lease", "1m") // no replica is lost here, and a busy machine is slow to hear
	team.startAll()
	first := team.members[0]
	for _, m := range team.members[1:] {
		waits.Until(t, "all replicas have the same credentials", func() bool { return team.token(m) == team.token(first) })
	}
	return &served{t: t, url: team.address, token: team.token(first)}
}

// try tries the wanted features between each host and every server.
func (g *gates) try(t *testing.T, wanted func(host end, feature string) bool) map[pair]map[string]error {
	found := map[pair]map[string]error{}
	var (
		mu   sync.Mutex
		wait sync.WaitGroup
		busy = make(chan struct{}, 6) // pairs at the same time
	)
	for h := range ends {
		if !wanted(ends[h], "") {
			continue
		}
		for u := range ends {
			transport, prefix := g.transport(pairName(h, u), h, u)
			apart, prefixApart := g.transport(tasksPrefix+pairName(h, u), h, u)
			wait.Go(func() {
				busy <- struct{}{}
				defer func() { <-busy }()
				whole, end := context.WithTimeout(t.Context(), matrixPair)
				defer end()
				host, err := connectHost(whole, ends[h].era, prefix, transport)
				results := map[string]error{}
				for _, f := range matrixFeatures {
					if !wanted(ends[h], f.name) {
						continue
					}
					if results[f.name] = err; err != nil {
						continue
					}
					ctx, cancel := context.WithTimeout(whole, matrixCell)
					if f.apart != nil {
						results[f.name] = f.apart(ctx, apart, prefixApart, ends[h], ends[u])
					} else {
						results[f.name] = f.try(ctx, host, ends[h], ends[u])
					}
					cancel()
				}
				if err == nil {
					_ = host.session.Close() // how it ends is tested elsewhere
				}
				mu.Lock()
				defer mu.Unlock()
				found[pair{h, u}] = results
			})
		}
	}
	wait.Wait()
	return found
}

// matrixPage returns docs/matrix.md for the result. A feature that does not work fails the test.
func matrixPage(t *testing.T, found map[pair]map[string]error) string {
	t.Helper()
	var table strings.Builder
	fmt.Fprint(&table, "\n| host |")
	for _, upstream := range ends {
		fmt.Fprintf(&table, " %s |", upstream)
	}
	fmt.Fprintf(&table, "\n|---|%s\n", strings.Repeat("---|", len(ends)))
	cells := 0
	for h, host := range ends {
		fmt.Fprintf(&table, "| %s |", host)
		for u, upstream := range ends {
			works := 0
			for _, f := range matrixFeatures {
				if err := found[pair{h, u}][f.name]; err != nil {
					t.Errorf("host %s, server %s, %s: %v", host, upstream, f.name, err)
				} else {
					works++
				}
			}
			cells += works
			fmt.Fprintf(&table, " %d |", works)
		}
		fmt.Fprintln(&table)
	}
	features := make([]string, len(matrixFeatures))
	for i, f := range matrixFeatures {
		features[i] = f.name
	}
	return fmt.Sprintf(matrixHead, len(features), strings.Join(features, ", "), cells) + table.String() + matrixFoot
}

const matrixHead = `# Every host with every server

callgate connects hosts and servers of any MCP revision and transport. ` + "`TestMatrix`" + ` tries %d features in each
combination: %s. A task is a call that its host does not wait for.

%d combinations work. Each cell says how many features work between a host (row) and a server (column):
`

const matrixFoot = `
Hosts and servers are built on the official Go SDK v1.8.0, and each server speaks one era. For tasks, hosts send raw
messages, servers of 2025-11-25 are on mcp-go v1.2.1, and the server of 2026-07-28 is the test server that passes the
conformance scenarios of the extension. In between run ` + "`callgate run` (stdio) and `callgate serve`" + ` (HTTP).
2026-07-28 has no HTTP+SSE.

A test writes this page and fails when a cell fails or the page differs:

` + "```sh\ngo test ./internal/command -run TestMatrix -update\n```\n"
