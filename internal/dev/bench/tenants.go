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
)

// What one tenant's flood costs another, and what a tenant costs that does nothing.

// The flood: calls that one tenant has in flight, and its questions that wait.
const (
	floodCalls     = 64
	floodQuestions = 10_000
	quietTenants   = 1000
)

// tenantRules have a question for each call whose text begins with ask.
const tenantRules = `{ "*": "allow", "bench_echo": { "*": "allow", "text=ask *": "ask" } }`

// benchTenants prints the latency of a small call of one tenant while another does nothing and while it floods, and
// beside it a call of the flooding tenant itself.
func benchTenants(o options, dir string, out, progress io.Writer) (err error) {
	h, pid, end, err := serveTenants(o, filepath.Join(dir, "tenants"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	defer h.close()
	small, own := h.tenant("small"), h.tenant("flood")
	if err := errors.Join(small.connect(), own.connect()); err != nil {
		return err
	}
	measure := func(w *wayHTTP, n int) (p50, p99 float64, err error) {
		l, _, err := w.calls(n, 1, smallText)
		if err != nil {
			return 0, 0, err
		}
		return micros(l.Quantile(.5)), micros(l.Quantile(.99)), nil
	}
	fmt.Fprintln(progress, "tenants: idle")
	if _, _, err = measure(small, o.calls); err != nil { // warm
		return err
	}
	idle50, idle99, err := measure(small, o.calls)
	if err != nil {
		return err
	}
	fmt.Fprintf(progress, "tenants: %d questions\n", floodQuestions)
	if err := h.questions(floodQuestions); err != nil {
		return err
	}
	asked50, asked99, err := measure(small, o.calls)
	if err != nil {
		return err
	}
	fmt.Fprintln(progress, "tenants: flood")
	stop, count, err := h.flood()
	if err != nil {
		return err
	}
	busy50, busy99, err := measure(small, o.calls)
	flooded50, flooded99, ownErr := measure(own, max(50, o.calls/10))
	if err = errors.Join(err, ownErr, stop()); err != nil {
		return err
	}
	fmt.Fprintf(progress, "tenants: %d idle\n", quietTenants)
	each, err := h.quiet(pid, o)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "\nA small call of a tenant, µs, while another tenant floods with %d calls in flight and %d questions (%d calls meanwhile).\n\n"+
		"| | p50 | p99 |\n|---|---:|---:|\n| the other does nothing | %.0f | %.0f |\n| its questions wait | %.0f | %.0f |\n| it floods | %.0f | %.0f |\n| ratio to doing nothing | %.1f | %.1f |\n| a call of the one that floods | %.0f | %.0f |\n\n"+
		"%d tenants that do nothing take %.0f KiB each.\n",
		floodCalls, floodQuestions, count(), idle50, idle99, asked50, asked99, busy50, busy99, busy50/idle50, busy99/idle99, flooded50, flooded99, quietTenants, each)
	return err
}

// serveTenants starts callgate with tenants that paths name.
func serveTenants(o options, dir string) (h *hostCrowd, pid int, end func() error, err error) {
	callgate, err := program(o.bin, "callgate")
	if err != nil {
		return nil, 0, nil, err
	}
	echo, err := program(o.bin, "echo")
	if err != nil {
		return nil, 0, nil, err
	}
	url, endServer, err := startHTTP(echo, "-http")
	if err != nil {
		return nil, 0, nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, 0, nil, errors.Join(err, endServer())
	}
	at := site{program: callgate, dir: dir, echo: echo, url: url}
	if at.port, err = freePort(); err != nil {
		return nil, 0, nil, errors.Join(err, endServer())
	}
	rules := filepath.Join(dir, "rules.jsonc")
	if err := os.WriteFile(rules, []byte(tenantRules), 0o600); err != nil {
		return nil, 0, nil, errors.Join(err, endServer())
	}
	text := fmt.Sprintf("servers:\n  - {name: bench, %s}\nmaxPending: %d\ntimeout: 1h\nhandOver: 20ms\ntenants: {any: true, most: 2000, rules: %q, limits: {pending: %d}}\n", byURL(at), 2*floodQuestions, rules, 2*floodQuestions)
	config, err := at.write("callgate.yaml", text)
	if err != nil {
		return nil, 0, nil, errors.Join(err, endServer())
	}
	pid, endGate, err := startServer([]string{
		callgate, "serve", "--config", config, "--data-dir", filepath.Join(dir, "data"), "--listen", "off", "--mcp-listen", "127.0.0.1:" + at.port, "--auth", "none", "--log-level", "error",
	}, dir)
	if err != nil {
		return nil, 0, nil, errors.Join(err, endServer())
	}
	h = newCrowd("127.0.0.1:" + at.port)
	return h, pid, func() error { return errors.Join(endGate(), endServer()) }, h.wait()
}

// tenant is a host of one.
func (h *hostCrowd) tenant(name string) *wayHTTP {
	return &wayHTTP{url: "http://" + h.addresses[0] + "/t/" + name + "/mcp", tool: "bench_echo", client: h.client}
}

// questions has the flooding tenant ask so many. Each call is handed over soon, and its question goes on waiting.
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

// flood calls without a pause until stop.
func (h *hostCrowd) flood() (stop func() error, count func() int64, err error) {
	var all sync.WaitGroup
	var ended atomic.Bool
	var done atomic.Int64
	failures := make([]error, floodCalls)
	for i := range floodCalls {
		w := h.tenant("flood")
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

// quiet opens many tenants by a session and a call of each, and returns the KiB of one.
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
