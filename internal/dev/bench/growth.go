package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"callgate/internal/dev/bench/load"
)

// growth describes how the cost of an allowed call grows with the number of something.
type growth struct {
	of     string // what grows
	sizes  []int
	rules  func(n int) string // the permissions file
	tools  bool               // n is the number of the server's tools
	hosts  bool               // n is the number of sessions
	micros []float64          // callgate's processor time for a call, by size
}

// growths returns all kinds. A rules file can have at most 1 MiB. The rules and grants are for the called tool, so that
// any of them could match.
func growths() []*growth {
	list := func(n int, item string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, item, i)
		}
		return b.String()
	}
	return []*growth{
		{of: "rules", sizes: []int{10, 100, 1000, 10_000, 40_000}, rules: func(n int) string {
			return `{ "*": "allow", "bench_echo": { "*": "allow", ` + strings.TrimSuffix(list(n, `"text=w%d*": "deny", `), ", ") + ` } }`
		}},
		{of: "grants", sizes: []int{10, 100, 1000, 10_000}, rules: func(n int) string {
			return `{ "*": "allow", "$always": [ ` + strings.TrimSuffix(list(n, `{"tool": "bench_echo", "pattern": "text=word%d*", "risk": "WRITE"}, `), ", ") + ` ] }`
		}},
		{of: "tools", sizes: []int{10, 100, 1000, 10_000}, tools: true},
		{of: "sessions", sizes: []int{10, 100, 1000, 10_000}, hosts: true},
	}
}

// benchGrowth measures all kinds and prints a table. If a folder for plots is named, it also draws them.
func benchGrowth(o options, dir string, out, progress io.Writer) error {
	all := growths()
	for i, g := range all {
		for j, n := range g.sizes {
			if n > o.most {
				g.sizes = g.sizes[:j]
				break
			}
			fmt.Fprintf(progress, "%d %s\n", n, g.of)
			cost, err := g.measure(o, filepath.Join(dir, fmt.Sprintf("growth-%d-%d", i, j)), n)
			if err != nil {
				return fmt.Errorf("%d %s: %w", n, g.of, err)
			}
			g.micros = append(g.micros, cost)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nProcessor time of callgate for an allowed call over HTTP, in µs, with as many of:\n\n| | 10 | 100 | 1000 | 10 000 | 40 000 |\n|---|---:|---:|---:|---:|---:|\n")
	for _, g := range all {
		fmt.Fprintf(&b, "| %s |", g.of)
		for i := range 5 {
			if i < len(g.micros) {
				fmt.Fprintf(&b, " %.0f |", g.micros[i])
			} else {
				fmt.Fprint(&b, " |")
			}
		}
		b.WriteByte('\n')
	}
	if _, err := io.WriteString(out, b.String()); err != nil || o.plots == "" {
		return err
	}
	return plotGrowth(filepath.Join(o.plots, "performance-growth.svg"), all)
}

// measure returns the processor time of a call when there are n of them.
func (g *growth) measure(o options, dir string, n int) (micros float64, err error) {
	found, err := programs(o.bin, "callgate", "echo")
	if err != nil {
		return 0, err
	}
	callgate, echo := found[0], found[1]
	arguments := []string{"-http"}
	if g.tools {
		arguments = append(arguments, "-tools", fmt.Sprint(n))
	}
	url, endServer, err := startHTTP(echo, arguments...)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, endServer()) }()
	rules := allowAll
	if g.rules != nil {
		rules = g.rules(n)
	}
	if err := freshDataWith(dir, rules); err != nil {
		return 0, err
	}
	at := site{program: callgate, dir: dir, echo: echo, url: url}
	if at.port, err = freePort(); err != nil {
		return 0, err
	}
	config, err := at.write("callgate.yaml", fmt.Sprintf("servers:\n  - {name: bench, %s}\n", byURL(at)))
	if err != nil {
		return 0, err
	}
	pid, end, err := startServer([]string{callgate, "serve", "--config", config, "--data-dir", dir, "--listen", "off", "--mcp-listen", "127.0.0.1:" + at.port,
		"--auth", "none", "--log-level", "error", "--max-sessions", fmt.Sprint(maxSessions)}, dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, end()) }()
	h := newCrowd("127.0.0.1:" + at.port)
	defer h.close()
	if err := h.wait(); err != nil {
		return 0, err
	}
	hosts := 1
	if g.hosts {
		hosts = n
	}
	if err := h.join(hosts, false); err != nil {
		return 0, err
	}
	calls := func() error {
		_, _, err := h.ways[len(h.ways)-1].calls(o.calls, 1, smallText)
		return err
	}
	if err := calls(); err != nil {
		return 0, err
	}
	before, ok := load.CPUOf(pid)
	if err := calls(); err != nil || !ok {
		return 0, err
	}
	after, _ := load.CPUOf(pid)
	return float64(after-before) / float64(time.Microsecond) / float64(o.calls), nil
}

// maxSessions is how many sessions callgate admits here.
const maxSessions = 10_000
