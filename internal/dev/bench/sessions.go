package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"callgate/internal/dev/bench/load"
)

// crowding measures the cost of idle sessions of hosts over HTTP.
type crowding struct {
	title  string
	server func(s site) string // its keys in the configuration
	shared bool                // they share one conversation with the server
	spread bool                // over three replicas
	share  int                 // one in so many of the sessions in the options

	plain, listening float64 // KiB of a session; of one with a GET that listens
	rate             float64 // calls a second of the busy ones meanwhile
	p50, p99         float64 // µs of a single call meanwhile
	far50, far99     float64 // µs of a single call that comes to another replica than its session's
	told             float64 // ms from a change of the tools until the last listening session knows; 0: not measured
}

// many returns the number of sessions. A server process for each takes memory too.
func (c *crowding) many(o options) int {
	if c.share > 1 {
		return min(max(1, o.sessions/c.share), 100)
	}
	return max(1, o.sessions)
}

// busySessions is how many make calls while the others are idle.
const busySessions = 64

// benchSessions measures the memory that callgate serve takes for each idle session, as the system counts it.
func benchSessions(o options, dir string, out, progress io.Writer) error {
	return benchCrowds(o, dir, out, progress, []*crowding{
		{title: "a server that they share, over HTTP", shared: true, share: 1, server: func(s site) string { return byURL(s) + ", shared: true" }},
		{title: "each its own conversation with a server over HTTP, which has a stream of its own", share: 1, server: byURL},
		{title: "each its own server process", share: 10, server: byCommand},
	})
}

// benchReplicas measures the same with three replicas, and counts their memory together.
func benchReplicas(o options, dir string, out, progress io.Writer) error {
	spread := &crowding{title: "a server that they share, over HTTP, at three replicas", shared: true, spread: true, share: 1, server: func(s site) string { return byURL(s) + ", shared: true" }}
	if err := benchCrowds(o, dir, out, progress, []*crowding{spread}); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "A call that comes to another replica takes %.0f µs at p50 and %.0f at p99.\n", spread.far50, spread.far99)
	return err
}

func benchCrowds(o options, dir string, out, progress io.Writer, kinds []*crowding) error {
	for i, c := range kinds {
		fmt.Fprintln(progress, "idle sessions:", c.title)
		for _, listens := range []bool{false, true} {
			if err := c.measure(o, filepath.Join(dir, fmt.Sprintf("sessions-%d-%v", i, listens)), listens); err != nil {
				return fmt.Errorf("sessions: %w", err)
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nIdle sessions of hosts over Streamable HTTP, each after a tools/call; memory of the callgate process alone.\n\n"+
		"| | sessions | KiB each | KiB each, with a GET that listens | calls a second of %d, the others idle | a call alone, p50, µs | p99 |\n|---|---:|---:|---:|---:|---:|---:|\n", busySessions)
	for _, c := range kinds {
		fmt.Fprintf(&b, "| %s | %d | %.1f | %.1f | %.0f | %.0f | %.0f |\n", c.title, c.many(o), c.plain, c.listening, c.rate, c.p50, c.p99)
	}
	fmt.Fprintf(&b, "\nWhen the tools of the shared server change, the last session knows after %.0f ms.\n", kinds[0].told)
	_, err := io.WriteString(out, b.String())
	return err
}

// hostCrowd is the hosts that connect to one gate.
type hostCrowd struct {
	addresses []string // used in turn
	client    *http.Client
	ways      []*wayHTTP
	streams   []net.Conn
}

func newCrowd(addresses ...string) *hostCrowd {
	return &hostCrowd{addresses: addresses, client: &http.Client{Timeout: startLimit, Transport: &http.Transport{MaxIdleConnsPerHost: busySessions}}}
}

// measure connects the sessions to a new callgate.
func (c *crowding) measure(o options, dir string, listens bool) (err error) {
	found, err := programs(o.bin, "callgate", "echo")
	if err != nil {
		return err
	}
	callgate, echo := found[0], found[1]
	url, endServer, err := startHTTP(echo, "-http")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, endServer()) }()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	at := site{program: callgate, dir: dir, echo: echo, url: url}
	start := c.startOne
	if c.spread {
		start = c.startThree
	}
	pids, addresses, end, err := start(at)
	defer func() { err = errors.Join(err, end()) }()
	if err != nil {
		return err
	}
	h := newCrowd(addresses...)
	defer h.close()
	if err := h.wait(); err != nil {
		return err
	}
	many := c.many(o)
	if err := h.join(max(2, many/20), listens); err != nil { // one-time costs are paid by then
		return err
	}
	before, told := settled(pids, o.settle)
	if err := h.join(many, listens); err != nil {
		return err
	}
	after, _ := settled(pids, o.settle)
	each := mib(after-before, told) * 1024 / float64(many)
	if listens {
		c.listening = each
		if c.shared {
			c.told, err = h.change()
		}
		return err
	}
	c.plain = each
	if c.rate, err = h.busy(o); err != nil {
		return err
	}
	latencies, _, err := h.ways[len(h.ways)/2].calls(o.calls, 1, smallText)
	c.p50, c.p99 = micros(latencies.Quantile(.5)), micros(latencies.Quantile(.99))
	if err != nil || !c.spread {
		return err
	}
	far := *h.ways[len(h.ways)/2]
	far.url = h.ways[len(h.ways)/2+1].url
	latencies, _, err = far.calls(o.calls, 1, smallText)
	c.far50, c.far99 = micros(latencies.Quantile(.5)), micros(latencies.Quantile(.99))
	return err
}

// startOne starts a callgate. The caller MUST call end, even after an error.
func (c *crowding) startOne(s site, more ...string) (pids []int, addresses []string, end func() error, err error) {
	end = func() error { return nil }
	if s.port, err = freePort(); err != nil {
		return nil, nil, end, err
	}
	command, err := callgateServes(c.server)(s)
	if err != nil {
		return nil, nil, end, err
	}
	pid, stop, err := startServer(append(append(command, "--max-sessions", fmt.Sprint(maxSessions)), more...), s.dir)
	if err != nil {
		return nil, nil, end, err
	}
	return []int{pid}, []string{"127.0.0.1:" + s.port}, stop, nil
}

// startThree starts three callgates as one gate. The caller MUST call end, even after an error.
func (c *crowding) startThree(s site, more ...string) (pids []int, addresses []string, end func() error, err error) {
	var ends []func() error
	end = func() error { // in parallel: two remaining ones wait for no third
		var all sync.WaitGroup
		failures := make([]error, len(ends))
		for i, one := range ends {
			all.Go(func() { failures[i] = one() })
		}
		all.Wait()
		return errors.Join(failures...)
	}
	key := filepath.Join(s.dir, "key")
	if err := os.WriteFile(key, []byte(strings.Repeat("k", 48)), 0o600); err != nil {
		return nil, nil, end, err
	}
	more = append(more, "--cluster", "embedded", "--cluster-key", key)
	var peers []string
	for range 3 {
		port, err := freePort()
		if err != nil {
			return nil, nil, end, err
		}
		peers = append(peers, "127.0.0.1:"+port)
		more = append(more, "--cluster-peer", "127.0.0.1:"+port)
	}
	dir := s.dir
	for i, peer := range peers {
		s.dir = filepath.Join(dir, fmt.Sprint(i))
		if err := os.MkdirAll(s.dir, 0o700); err != nil {
			return nil, nil, end, err
		}
		pid, address, stop, err := c.startOne(s, append(more, "--cluster-name", fmt.Sprintf("gate-%d", i), "--cluster-listen", peer)...)
		if err != nil {
			return nil, nil, end, err
		}
		pids, addresses, ends = append(pids, pid...), append(addresses, address...), append(ends, stop)
	}
	return pids, addresses, end, nil
}

// settled returns the memory of processes once unneeded goroutines have ended.
func settled(pids []int, after time.Duration) (bytes int64, told bool) {
	time.Sleep(after)
	told = true
	for _, pid := range pids {
		m, ok := load.MemoryOf(pid)
		bytes, told = bytes+m.Now, told && ok
	}
	return bytes, told
}

// wait waits until somebody listens at every address.
func (h *hostCrowd) wait() error {
	deadline := time.Now().Add(startLimit)
	for _, address := range h.addresses {
		for {
			conn, err := net.Dial("tcp", address)
			if err == nil {
				conn.Close()
				break
			}
			if time.Now().After(deadline) {
				return err
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	return nil
}

// join connects hosts, each of which calls a tool once.
func (h *hostCrowd) join(many int, listens bool) error {
	for range many {
		address := h.addresses[len(h.ways)%len(h.addresses)]
		w := &wayHTTP{url: "http://" + address + "/mcp", tool: "bench_echo", client: h.client}
		if err := w.connect(); err != nil {
			return err
		}
		h.ways = append(h.ways, w)
		if listens {
			if err := h.listen(address, w.session); err != nil {
				return err
			}
		}
	}
	return nil
}

// listen opens the stream of a session, with as little memory on this side as possible.
func (h *hostCrowd) listen(address, session string) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	h.streams = append(h.streams, conn)
	if _, err := fmt.Fprintf(conn, "GET /mcp HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nMcp-Session-Id: %s\r\n\r\n", address, session); err != nil {
		return err
	}
	line, err := bufio.NewReaderSize(conn, 64).ReadString('\n')
	if err == nil && !strings.Contains(line, " 200 ") {
		err = fmt.Errorf("the stream: %s", line)
	}
	return err
}

// change makes the server change its tools, and waits until all streams report it.
func (h *hostCrowd) change() (millis float64, err error) {
	for _, w := range h.ways {
		if _, err := w.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); err != nil { // else it is not told of a change
			return 0, err
		}
	}
	var all sync.WaitGroup
	failures := make([]error, len(h.streams))
	for i, conn := range h.streams {
		all.Go(func() { failures[i] = awaitChange(conn) })
	}
	began := time.Now()
	if _, _, err := h.ways[0].calls(1, 1, "another tool"); err != nil {
		return 0, err
	}
	all.Wait()
	return float64(time.Since(began)) / float64(time.Millisecond), errors.Join(failures...)
}

func awaitChange(conn net.Conn) error {
	if err := conn.SetReadDeadline(time.Now().Add(startLimit)); err != nil {
		return err
	}
	lines := bufio.NewReaderSize(conn, 512)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return fmt.Errorf("a session was not told of a change: %w", err)
		}
		if strings.Contains(line, "notifications/tools/list_changed") {
			return nil
		}
	}
}

// busy makes some of the hosts call, all at the same time.
func (h *hostCrowd) busy(o options) (perSecond float64, err error) {
	var all sync.WaitGroup
	some := h.ways[:min(busySessions, len(h.ways))]
	each := max(1, o.calls/len(some))
	failures := make([]error, len(some))
	began := time.Now()
	for i, w := range some {
		all.Go(func() { _, _, failures[i] = w.calls(each, 1, smallText) })
	}
	all.Wait()
	return rate{each * len(some), time.Since(began)}.perSecond(), errors.Join(failures...)
}

func (h *hostCrowd) close() {
	for _, conn := range h.streams {
		conn.Close()
	}
	h.client.CloseIdleConnections()
}
