package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/internal/dev/bench/load"
)

// The way over HTTP: a server that answers a POST with JSON, reached directly, behind Go's reverse proxy, and behind
// callgate serve. Each is a separate process.

// wayHTTP is one way to reach the server over HTTP.
type wayHTTP struct {
	name    string
	url     string
	tool    string
	session string
	client  *http.Client
	small   load.Latencies
	large   load.Latencies
	rates   map[int]*rate // by calls in flight
}

// widths lists the numbers of calls in flight.
var widths = []int{1, 16, 64}

// benchHTTP measures all ways in turns and prints the table.
func benchHTTP(o options, dir string, out io.Writer) (err error) {
	found, err := programs(o.bin, "callgate", "echo", "floor")
	if err != nil {
		return err
	}
	callgate, echo, floor := found[0], found[1], found[2]
	server, endServer, err := startHTTP(echo, "-http")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, endServer()) }()
	reverse, endReverse, err := startHTTP(floor, "-http", server)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, endReverse()) }()
	address, end, err := serveHTTP(callgate, filepath.Join(dir, "http"), server)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()

	ways := []*wayHTTP{
		{name: "direct", url: server, tool: "echo"},
		{name: "reverse proxy", url: reverse, tool: "echo"},
		{name: "callgate serve", url: "http://" + address + "/mcp", tool: "bench_echo"},
	}
	for _, w := range ways {
		w.client = &http.Client{Timeout: startLimit, Transport: &http.Transport{MaxIdleConnsPerHost: 2 * slices.Max(widths)}}
		w.rates = map[int]*rate{}
		for _, n := range widths {
			w.rates[n] = &rate{}
		}
		if err := w.connect(); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	large := strings.Repeat("0123456789abcdef", o.large<<10/16)
	for block := range o.rounds * blocks {
		for i := range ways { // each block starts with another
			if err := ways[(block+i)%len(ways)].block(o, large); err != nil {
				return fmt.Errorf("%s: %w", ways[i].name, err)
			}
		}
	}
	return reportHTTP(out, ways, o)
}

// startLimit bounds every request.
const startLimit = 30 * time.Second

// startHTTP starts a program that prints its address on its first line. The caller MUST call end.
func startHTTP(program string, args ...string) (url string, end func() error, err error) {
	_, url, end, err = launchHTTP(program, args...)
	return url, end, err
}

// launchHTTP is startHTTP that also returns the process id.
func launchHTTP(program string, args ...string) (pid int, url string, end func() error, err error) {
	cmd := exec.Command(program, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return 0, "", nil, err
	}
	end = func() error {
		var killed *exec.ExitError
		err := errors.Join(cmd.Process.Kill(), cmd.Wait())
		if errors.As(err, &killed) {
			return nil
		}
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return 0, "", nil, errors.Join(fmt.Errorf("%s says no address: %w", program, err), end())
	}
	return cmd.Process.Pid, strings.TrimSpace(line), end, nil
}

// serveHTTP starts callgate serve in front of the server, with rules that allow everything and the audit trail on.
func serveHTTP(callgate, data, server string) (address string, end func() error, err error) {
	if err := freshData(data); err != nil {
		return "", nil, err
	}
	config := filepath.Join(data, "callgate.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "servers:\n  - {name: bench, url: %q}\n", server), 0o600); err != nil {
		return "", nil, err
	}
	port, err := freePort()
	if err != nil {
		return "", nil, err
	}
	address = "127.0.0.1:" + port
	_, end, err = startServer([]string{callgate, "serve", "--config", config, "--data-dir", data, "--listen", "off", "--mcp-listen", address, "--auth", "none", "--log-level", "error"}, data)
	if err != nil {
		return "", nil, err
	}
	if err := newCrowd(address).wait(); err != nil {
		return "", nil, errors.Join(err, end())
	}
	return address, end, nil
}

// connect starts a session, if the way has sessions, and waits for the tool.
func (w *wayHTTP) connect() error {
	if _, err := w.post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"load","version":"1"}}}`); err != nil {
		return err
	}
	if _, err := w.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); err != nil {
		return err
	}
	_, _, err := w.calls(1, 1, "ready")
	return err
}

func (w *wayHTTP) post(body string) ([]byte, error) {
	r, err := http.NewRequest(http.MethodPost, w.url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	if w.session != "" {
		r.Header.Set("Mcp-Session-Id", w.session)
	}
	response, err := w.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if id := response.Header.Get("Mcp-Session-Id"); w.session == "" && id != "" { // from initialize, before any call
		w.session = id
	}
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= 300 {
		err = fmt.Errorf("%s: %.200s", response.Status, answer)
	}
	return answer, err
}

// calls makes n calls with width of them in flight. It returns the latency of each, and the time of all.
func (w *wayHTTP) calls(n, width int, text string) (load.Latencies, time.Duration, error) {
	var all sync.WaitGroup
	latencies := make(load.Latencies, n)
	failures := make([]error, width)
	began := time.Now()
	for worker := range width {
		all.Go(func() {
			for i := worker; i < n && failures[worker] == nil; i += width {
				body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"text":%q}}}`, i+1, w.tool, text)
				sent := time.Now()
				answer, err := w.post(body)
				latencies[i] = time.Since(sent)
				if err == nil && !bytes.Contains(answer, []byte(text)) {
					err = fmt.Errorf("not the text that was sent: %.200s", answer)
				}
				failures[worker] = err
			}
		})
	}
	all.Wait()
	return latencies, time.Since(began), errors.Join(failures...)
}

// block adds one turn of calls.
func (w *wayHTTP) block(o options, large string) error {
	n := max(o.calls/blocks, slices.Max(widths))
	for _, width := range widths {
		latencies, took, err := w.calls(n, width, smallText)
		if err != nil {
			return err
		}
		w.rates[width].add(n, took)
		if width == 1 {
			w.small = append(w.small, latencies...)
		}
	}
	latencies, _, err := w.calls(max(1, n/fewer), 1, large)
	w.large = append(w.large, latencies...)
	return err
}

// reportHTTP prints the table.
func reportHTTP(out io.Writer, ways []*wayHTTP, o options) error {
	var b strings.Builder
	line := func(title string, cell func(w *wayHTTP) string) {
		fmt.Fprintf(&b, "| %s |", title)
		for _, w := range ways {
			fmt.Fprintf(&b, " %s |", cell(w))
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "\nOver HTTP: %d rounds of %d calls.\n\n", o.rounds, o.calls)
	line("", func(w *wayHTTP) string { return w.name })
	fmt.Fprint(&b, "|---|---:|---:|---:|\n")
	direct, floor := ways[0], ways[1]
	for _, size := range []struct {
		title string
		of    func(w *wayHTTP) load.Latencies
	}{
		{"call", func(w *wayHTTP) load.Latencies { return w.small }},
		{fmt.Sprintf("call with %d KiB", o.large), func(w *wayHTTP) load.Latencies { return w.large }},
	} {
		p50 := func(w *wayHTTP) float64 { return micros(size.of(w).Quantile(.5)) }
		line(size.title+", p50, µs", func(w *wayHTTP) string { return fmt.Sprintf("%.0f", p50(w)) })
		line("… added, reverse proxy = 1", func(w *wayHTTP) string { return fmt.Sprintf("%.2f", addedRatio(p50(w), p50(direct), p50(floor))) })
		line(size.title+", p99, µs", func(w *wayHTTP) string { return fmt.Sprintf("%.0f", micros(size.of(w).Quantile(.99))) })
	}
	for _, width := range widths {
		line(fmt.Sprintf("calls per second, %d in flight", width), func(w *wayHTTP) string { return fmt.Sprintf("%.0f", w.rates[width].perSecond()) })
		line("… reverse proxy = 1", func(w *wayHTTP) string {
			return fmt.Sprintf("%.2f", w.rates[width].perSecond()/floor.rates[width].perSecond())
		})
	}
	_, err := io.WriteString(out, b.String())
	return err
}
