package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"callgate/internal/dev/bench/load"
)

// What one tenant's flood costs another, and what an idle tenant costs.

// The flood: the calls that one tenant has in flight, and its waiting questions.
const (
	floodCalls     = 64
	floodQuestions = 10_000
	quietTenants   = 1000
)

// tenantRules ask about each call whose text starts with "ask".
const tenantRules = `{ "*": "allow", "bench_echo": { "*": "allow", "text=ask *": "ask" } }`

// neighbour is what another tenant does meanwhile.
type neighbour struct {
	name   string
	crowd  *hostCrowd     // where it floods; nil for nowhere
	tool   string         // the tool that it calls
	small  load.Latencies // of the measured tenant
	calls  int64          // of the flooding tenant
	lasted time.Duration
}

// benchTenants prints the latency of one tenant's small call while another tenant is idle and while it floods, the same
// server or another one. Next to it stands a call of the flooding tenant itself. A separate callgate shows the cost of
// a flood that shares only the machine, or only the server. Everything that is compared is measured in turns.
func benchTenants(o options, dir string, out, progress io.Writer) (err error) {
	echo, err := program(o.bin, "echo")
	if err != nil {
		return err
	}
	var urls [3]string // one for the measured tenant; two for the flooding one
	for i := range urls {
		url, end, failed := startHTTP(echo, "-http")
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, end()) }()
		urls[i] = url
	}
	h, pid, end, err := serveTenants(o, filepath.Join(dir, "tenants"), urls[0], urls[1])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	defer h.close()
	elsewhere, _, endOther, err := serveTenants(o, filepath.Join(dir, "elsewhere"), urls[0], urls[2])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, endOther()) }()
	defer elsewhere.close()
	small, own := h.tenant("small"), h.tenant("flood")
	if err := errors.Join(small.connect(), own.connect()); err != nil {
		return err
	}
	if _, _, err := small.calls(o.calls, 1, smallText); err != nil { // warm up
		return err
	}
	fmt.Fprintf(progress, "tenants: %d questions\n", floodQuestions)
	if err := h.questions(floodQuestions); err != nil {
		return err
	}
	const same, other = "bench_echo", "other_echo"
	all := []*neighbour{
		{name: "does nothing"},
		{name: "floods another server through another callgate", crowd: elsewhere, tool: other},
		{name: "floods the same server through another callgate", crowd: elsewhere, tool: same},
		{name: "floods another server", crowd: h, tool: other},
		{name: "floods the same server", crowd: h, tool: same},
	}
	for round := range o.rounds {
		for i := range all {
			one := all[(round+i)%len(all)]
			fmt.Fprintf(progress, "tenants: round %d, another %s\n", round+1, one.name)
			if err := one.measure(small, max(1, o.calls/o.rounds)); err != nil {
				return err
			}
		}
	}
	stop, _, err := h.flood(same)
	if err != nil {
		return err
	}
	flooding, _, err := own.calls(max(50, o.calls/10), 1, smallText)
	if err = errors.Join(err, stop()); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nA small call of a tenant, µs, while another tenant, which has %d questions that wait, floods with %d calls in flight.\n\n"+
		"| the other tenant | p50 | p99 | ratio of p50 | of p99 | its calls a second |\n|---|---:|---:|---:|---:|---:|\n", floodQuestions, floodCalls)
	idle50, idle99 := micros(all[0].small.Quantile(.5)), micros(all[0].small.Quantile(.99))
	for _, one := range all {
		p50, p99 := micros(one.small.Quantile(.5)), micros(one.small.Quantile(.99))
		fmt.Fprintf(out, "| %s | %.0f | %.0f | %.1f | %.1f | %.0f |\n", one.name, p50, p99, p50/idle50, p99/idle99, float64(one.calls)/one.lasted.Seconds())
	}
	fmt.Fprintf(out, "| a call of its own | %.0f | %.0f | | | |\n", micros(flooding.Quantile(.5)), micros(flooding.Quantile(.99)))
	fmt.Fprintf(progress, "tenants: %d idle\n", quietTenants)
	each, err := h.quiet(pid, o)
	if err == nil {
		_, err = fmt.Fprintf(out, "\n%d tenants that do nothing take %.0f KiB each.\n", quietTenants, each)
	}
	return err
}

// measure adds calls of the measured tenant that are made meanwhile.
func (n *neighbour) measure(small *wayHTTP, calls int) error {
	stop, count := func() error { return nil }, func() int64 { return 0 }
	if n.crowd != nil {
		var err error
		if stop, count, err = n.crowd.flood(n.tool); err != nil {
			return err
		}
	}
	began, before := time.Now(), count()
	latencies, _, err := small.calls(calls, 1, smallText)
	n.small, n.calls, n.lasted = append(n.small, latencies...), n.calls+count()-before, n.lasted+time.Since(began)
	return errors.Join(err, stop())
}

// serveTenants starts callgate in front of two servers, with tenants that the path names.
func serveTenants(o options, dir, bench, other string) (h *hostCrowd, pid int, end func() error, err error) {
	callgate, err := program(o.bin, "callgate")
	if err != nil {
		return nil, 0, nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, 0, nil, err
	}
	at := site{program: callgate, dir: dir}
	if at.port, err = freePort(); err != nil {
		return nil, 0, nil, err
	}
	rules := filepath.Join(dir, "rules.jsonc")
	if err := os.WriteFile(rules, []byte(tenantRules), 0o600); err != nil {
		return nil, 0, nil, err
	}
	text := fmt.Sprintf("servers:\n  - {name: bench, url: %q}\n  - {name: other, url: %q}\nmaxPending: %d\ntimeout: 1h\nhandOver: 20ms\ntenants: {any: true, most: 2000, rules: %q, limits: {pending: %d}}\n", bench, other, 2*floodQuestions, rules, 2*floodQuestions)
	config, err := at.write("callgate.yaml", text)
	if err != nil {
		return nil, 0, nil, err
	}
	pid, endGate, err := startServer([]string{
		callgate, "serve", "--config", config, "--data-dir", filepath.Join(dir, "data"), "--listen", "off", "--mcp-listen", "127.0.0.1:" + at.port, "--auth", "none", "--log-level", "error",
	}, dir)
	if err != nil {
		return nil, 0, nil, err
	}
	h = newCrowd("127.0.0.1:" + at.port)
	if err := h.wait(); err != nil {
		return nil, 0, nil, errors.Join(err, endGate())
	}
	return h, pid, endGate, nil
}

// tenant returns a host of the named tenant.
func (h *hostCrowd) tenant(name string) *wayHTTP {
	return &wayHTTP{url: "http://" + h.addresses[0] + "/t/" + name + "/mcp", tool: "bench_echo", client: h.client}
}

// questions makes the flooding tenant ask n questions. Each call is handed over soon, and its question keeps waiting.
func (h *hostCrowd) questions(n int) error {
	var all sync.WaitGroup
	failures := make([]error, floodCalls)
	for worker := range floodCalls {
		w := h.tenant("flood")
		if err := w.connect(); err != nil {
			return err
		}
		all.Go(func() {
			for i := worker; i < n && failures[worker] == nil; i += floodCalls {
				answer, err := w.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"bench_echo","arguments":{"text":"ask %d"}}}`, i+1, i))
				if err == nil && !bytes.Contains(answer, []byte("pending")) {
					err = fmt.Errorf("no question: %.300s", answer)
				}
				failures[worker] = err
			}
		})
	}
	all.Wait()
	return errors.Join(failures...)
}

// flood calls a tool without pause until stop.
func (h *hostCrowd) flood(tool string) (stop func() error, count func() int64, err error) {
	var all sync.WaitGroup
	var ended atomic.Bool
	var done atomic.Int64
	failures := make([]error, floodCalls)
	for i := range floodCalls {
		w := h.tenant("flood")
		w.tool = tool
		if err := w.connect(); err != nil {
			ended.Store(true)
			all.Wait()
			return nil, nil, err
		}
		all.Go(func() {
			for !ended.Load() && failures[i] == nil {
				_, _, failures[i] = w.calls(10, 1, smallText)
				done.Add(10)
			}
		})
	}
	return func() error { ended.Store(true); all.Wait(); return errors.Join(failures...) }, done.Load, nil
}

// quiet opens many tenants with one session and one call each, and returns the KiB that one takes.
func (h *hostCrowd) quiet(pid int, o options) (float64, error) {
	before, told := settled([]int{pid}, o.settle)
	for i := range quietTenants {
		if err := h.tenant(fmt.Sprintf("quiet-%d-x", i)).connect(); err != nil {
			return 0, fmt.Errorf("tenant %d: %w", i, err)
		}
	}
	after, _ := settled([]int{pid}, o.settle)
	return mib(after-before, told) * 1024 / quietTenants, nil
}
