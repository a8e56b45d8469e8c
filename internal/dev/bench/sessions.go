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

// crowding is what sessions of hosts over HTTP cost that do nothing.
type crowding struct {
	title  string
	server func(s site) string // its keys in the configuration
	shared bool                // they have one conversation with the server
	share  int                 // how many of the sessions of the options there are: one in so many

	plain, listening float64 // KiB of a session; of one with a GET that listens
	rate             float64 // calls a second of those that are busy meanwhile
	p50, p99         float64 // µs of a call that comes alone meanwhile
	told             float64 // ms from a change of the server's tools until the last one that listens knows; 0: not measured
}

// many is how many sessions there are. A server process for each takes memory, too.
func (c *crowding) many(o options) int {
	if c.share > 1 {
		return min(max(1, o.sessions/c.share), 100)
	}
	return max(1, o.sessions)
}

// busySessions call while the others do nothing.
const busySessions = 64

// benchSessions measures the memory that callgate serve takes for each idle session, as the system counts it.
func benchSessions(o options, dir string, out, progress io.Writer) error {
	kinds := []*crowding{
		{title: "a server that they share, over HTTP", shared: true, share: 1, server: func(s site) string { return byURL(s) + ", shared: true" }},
		{title: "each its own conversation with a server over HTTP, which has a stream of its own", share: 1, server: byURL},
		{title: "each its own server process", share: 10, server: byCommand},
	}
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

// hostCrowd is what connects to one callgate.
type hostCrowd struct {
	address string
	client  *http.Client
	ways    []*wayHTTP
	streams []net.Conn
}

func newCrowd(port string) *hostCrowd {
	return &hostCrowd{address: "127.0.0.1:" + port, client: &http.Client{Timeout: startLimit, Transport: &http.Transport{MaxIdleConnsPerHost: busySessions}}}
}

// measure connects the sessions to a callgate of their own.
func (c *crowding) measure(o options, dir string, listens bool) (err error) {
	callgate, err := program(o.bin, "callgate")
	if err != nil {
		return err
	}
	echo, err := program(o.bin, "echo")
	if err != nil {
		return err
	}
	url, endServer, err := startHTTP(echo, "-http")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, endServer()) }()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	at := site{program: callgate, dir: dir, echo: echo, url: url}
	if at.port, err = freePort(); err != nil {
		return err
	}
	command, err := callgateServes(c.server)(at)
	if err != nil {
		return err
	}
	pid, end, err := startServer(append(command, "--max-sessions", fmt.Sprint(maxSessions)), dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	h := newCrowd(at.port)
	defer h.close()
	if err := h.wait(); err != nil {
		return err
	}
	many := c.many(o)
	if err := h.join(max(2, many/20), listens); err != nil { // what is there once for all is there then
		return err
	}
	before, told := settled(pid, o.settle)
	if err := h.join(many, listens); err != nil {
		return err
	}
	after, _ := settled(pid, o.settle)
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
	return err
}

// settled is the memory of a process once goroutines that nobody needs have ended.
func settled(pid int, after time.Duration) (bytes int64, told bool) {
	time.Sleep(after)
	m, ok := load.MemoryOf(pid)
	return m.Now, ok
}

// wait waits until somebody is there.
func (h *hostCrowd) wait() error {
	for deadline := time.Now().Add(startLimit); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", h.address)
		if err == nil {
			return conn.Close()
		}
		if time.Now().After(deadline) {
			return err
		}
	}
}

// join connects hosts, each of which calls a tool once.
func (h *hostCrowd) join(many int, listens bool) error {
	for range many {
		w := &wayHTTP{url: "http://" + h.address + "/mcp", tool: "bench_echo", client: h.client}
		if err := w.connect(); err != nil {
			return err
		}
		h.ways = append(h.ways, w)
		if listens {
			if err := h.listen(w.session); err != nil {
				return err
			}
		}
	}
	return nil
}

// listen opens the stream of a session, with as little on this side as can be.
func (h *hostCrowd) listen(session string) error {
	conn, err := net.Dial("tcp", h.address)
	if err != nil {
		return err
	}
	h.streams = append(h.streams, conn)
	if _, err := fmt.Fprintf(conn, "GET /mcp HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nMcp-Session-Id: %s\r\n\r\n", h.address, session); err != nil {
		return err
	}
	line, err := bufio.NewReaderSize(conn, 64).ReadString('\n')
	if err == nil && !strings.Contains(line, " 200 ") {
		err = fmt.Errorf("the stream: %s", line)
	}
	return err
}

// change has the server change its tools, and waits until all streams say so.
func (h *hostCrowd) change() (millis float64, err error) {
	for _, w := range h.ways {
		if _, err := w.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); err != nil { // who has no list is told of no change
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

// busy lets some of the hosts call, all at the same time.
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
