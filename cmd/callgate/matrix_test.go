package main

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

var updatePages = flag.Bool("update", false, "write pages of docs from what was found")

// Bounds of the matrix. They are long because machines are slow.
const (
	matrixPair = 2 * time.Minute
	matrixCell = 30 * time.Second
)

// pair is a host and a server, as indices of ends.
type pair struct{ host, upstream int }

// TestMatrix tries every feature between every host and every server through callgate, and holds docs/matrix.md
// against what it found. Hosts are clients of the official Go SDK, servers are internal/testserver/features on the
// same SDK; `go test ./cmd/callgate -run Matrix -update` writes the page.
func TestMatrix(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Parallel()
	g := startGates(t)
	found := map[pair]map[string]error{}
	var (
		mu   sync.Mutex
		wait sync.WaitGroup
		busy = make(chan struct{}, 6) // pairs at the same time
	)
	for h := range ends {
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
					_ = host.session.Close() // how it ends is tried elsewhere
				}
				mu.Lock()
				defer mu.Unlock()
				found[pair{h, u}] = results
			})
		}
	}
	wait.Wait()
	holdPage(t, "matrix.md", matrixPage(t, found))
}

// matrixPage is docs/matrix.md for what was found. A cell that does not work fails the test.
func matrixPage(t *testing.T, found map[pair]map[string]error) string {
	t.Helper()
	var tables strings.Builder
	cells := 0
	for h, host := range ends {
		fmt.Fprintf(&tables, "\n## Host: %s\n\n| |", host)
		for _, upstream := range ends {
			fmt.Fprintf(&tables, " %s |", upstream)
		}
		fmt.Fprintf(&tables, "\n|---|%s\n", strings.Repeat("---|", len(ends)))
		for _, f := range matrixFeatures {
			fmt.Fprintf(&tables, "| %s |", f.name)
			for u, upstream := range ends {
				cell := "ok"
				if err := found[pair{h, u}][f.name]; err != nil {
					t.Errorf("host %s, server %s, %s: %v", host, upstream, f.name, err)
					cell = "fails"
				} else {
					cells++
				}
				fmt.Fprintf(&tables, " %s |", cell)
			}
			fmt.Fprintln(&tables)
		}
	}
	return fmt.Sprintf(matrixHead, cells) + tables.String()
}

const matrixHead = `# Every host with every server

The eras of MCP and the transports that each has, on the host's side and on the server's, times what MCP can do. A
test writes this page from what it found, and fails when a cell fails or the page says something else:

` + "```sh\ngo test ./cmd/callgate -run TestMatrix          # holds the page against what works\ngo test ./cmd/callgate -run TestMatrix -update  # writes it\n```" + `

Hosts are clients of the official Go SDK v1.8.0. Servers are on the same SDK, and each speaks one era only. Tasks the SDK
does not have: hosts send messages as they are, servers of 2025-11-25 are on mcp-go v1.2.1, and those of 2026-07-28 are
the test server that passes the scenarios of the official conformance suite for the extension. Between the two is
` + "`callgate run` over stdio and `callgate serve`" + ` over HTTP. Columns are servers. 2026-07-28 does not have HTTP+SSE.

%d cells are ok.

**task** is a call that its host does not wait for, with the means of its revision.
`
