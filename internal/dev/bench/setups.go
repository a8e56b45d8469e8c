package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"callgate/internal/dev/bench/load"
)

// caller is a connected host.
type caller interface {
	// calls makes n calls with width of them in flight. It returns the latency of each, and the time of all.
	calls(n, width int, text string) (load.Latencies, time.Duration, error)
}

// setup is one place for proxies between a host and a server. Not every proxy fits everywhere.
type setup struct {
	title  string
	direct string // the candidate that is the server alone, against which the others are measured
	over   transport
	those  []candidate
}

type transport string

const (
	overHTTP  transport = "Streamable HTTP"
	overSSE   transport = "HTTP+SSE"
	overStdio transport = "stdio"
)

// candidate is one proxy, or none, in a setup.
type candidate struct {
	name    string
	peer    peer                         // zero for a candidate that is not a peer
	command func(site) ([]string, error) // over HTTP, it serves on the site's port
	path    string                       // of its URL, over HTTP
	tool    string                       // its name for the echo tool
}

// site describes where a candidate runs.
type site struct {
	program string // the candidate's program
	port    string // the port that it serves on
	dir     string // a folder for its files
	echo    string // the program of the server over stdio
	url     string // the address of the server over HTTP
}

func (s site) write(name, text string) (string, error) {
	path := filepath.Join(s.dir, name)
	return path, os.WriteFile(path, []byte(text), 0o600)
}

// plain returns the command function of a candidate that needs no file.
func plain(command func(s site) []string) func(site) ([]string, error) {
	return func(s site) ([]string, error) { return command(s), nil }
}

// tbxarkServes configures tbxark for one type of transport.
func tbxarkServes(kind string) func(site) ([]string, error) {
	return func(s site) ([]string, error) {
		path, err := s.write("config.json", fmt.Sprintf(`{"mcpProxy":{"baseURL":"http://127.0.0.1:%[1]s","addr":"127.0.0.1:%[1]s","name":"bench","version":"1","type":%q,`+
			`"options":{"panicIfInvalid":true,"logEnabled":false}},"mcpServers":{"bench":{"command":%q,"args":[]}}}`, s.port, kind, s.echo))
		return []string{s.program, "--config", path}, err
	}
}

func vmcpServes(s site) ([]string, error) {
	path, err := s.write("vmcp.yaml", fmt.Sprintf("name: bench\ngroupRef: bench\nincomingAuth: {type: anonymous}\noutgoingAuth: {source: inline, default: {type: unauthenticated}}\n"+
		"backends:\n  - {name: bench, url: %q, transport: streamable-http}\naggregation: {conflictResolution: prefix, conflictResolutionConfig: {prefixFormat: \"{workload}_\"}}\n", s.url))
	return []string{s.program, "serve", "-c", path, "--port", s.port}, err
}

// callgateServes runs callgate serve with rules that allow everything and the audit trail on, as everywhere here.
func callgateServes(server func(s site) string) func(site) ([]string, error) {
	return func(s site) ([]string, error) {
		config, data, err := s.callgate(server(s))
		return []string{s.program, "serve", "--config", config, "--data-dir", data, "--listen", "off", "--mcp-listen", "127.0.0.1:" + s.port, "--auth", "none", "--log-level", "error"}, err
	}
}

func callgateRuns(server func(s site) string) func(site) ([]string, error) {
	return func(s site) ([]string, error) {
		config, data, err := s.callgate(server(s))
		return []string{s.program, "run", "--config", config, "--data-dir", data, "--listen", "off"}, err
	}
}

func (s site) callgate(server string) (config, data string, err error) {
	data = filepath.Join(s.dir, "data")
	if err := freshData(data); err != nil {
		return "", "", err
	}
	config, err = s.write("callgate.yaml", "servers:\n  - {name: bench, "+server+"}\n")
	return config, data, err
}

func byCommand(s site) string { return fmt.Sprintf("command: %q", s.echo) }
func byURL(s site) string     { return fmt.Sprintf("url: %q", s.url) }

// Names of candidates that are not peers.
const (
	own    = "callgate"
	direct = "direct"
)

var (
	directStdio = candidate{name: direct, tool: "echo", command: plain(func(s site) []string { return []string{s.echo} })}
	directHTTP  = candidate{name: direct, tool: "echo"} // the server already runs
)

var setups = []setup{
	{"Streamable HTTP, in front of a server over stdio", "the server over stdio", overHTTP, []candidate{
		directStdio,
		{name: own, path: "/mcp", tool: "bench_echo", command: callgateServes(byCommand)},
		{peer: tbxark, path: "/bench/mcp", tool: "echo", command: tbxarkServes("streamable-http")},
		{peer: npmProxy, path: "/mcp", tool: "echo", command: plain(func(s site) []string {
			return []string{s.program, "--host", "127.0.0.1", "--port", s.port, "--", s.echo}
		})},
		{peer: supergateway, path: "/mcp", tool: "echo", command: plain(func(s site) []string {
			return []string{s.program, "--stdio", s.echo, "--outputTransport", "streamableHttp", "--stateful", "--port", s.port, "--logLevel", "none"}
		})},
	}},
	{"HTTP+SSE, in front of a server over stdio", "the server over stdio", overSSE, []candidate{
		directStdio,
		{name: own, path: "/sse", tool: "bench_echo", command: callgateServes(byCommand)},
		{peer: tbxark, path: "/bench/sse", tool: "echo", command: tbxarkServes("sse")},
		{peer: npmProxy, path: "/sse", tool: "echo", command: plain(func(s site) []string {
			return []string{s.program, "--host", "127.0.0.1", "--port", s.port, "--", s.echo}
		})},
		{peer: supergateway, path: "/sse", tool: "echo", command: plain(func(s site) []string {
			return []string{s.program, "--stdio", s.echo, "--port", s.port, "--logLevel", "none"}
		})},
	}},
	{"Streamable HTTP, in front of a server over Streamable HTTP", "the server over Streamable HTTP", overHTTP, []candidate{
		directHTTP,
		{name: own, path: "/mcp", tool: "bench_echo", command: callgateServes(byURL)},
		{peer: vmcp, path: "/mcp", tool: "bench_echo", command: vmcpServes},
	}},
	{"stdio, in front of a server over Streamable HTTP", "the server over Streamable HTTP", overStdio, []candidate{
		directHTTP,
		{name: own, command: callgateRuns(byURL)},
		{peer: supergateway, command: plain(func(s site) []string {
			return []string{s.program, "--streamableHttp", s.url, "--logLevel", "none"}
		})},
		{peer: mcpRemote, command: plain(func(s site) []string {
			return []string{s.program, s.url, "--allow-http", "--transport", "http-only"}
		})},
	}},
}

// standing is a candidate that runs and is measured.
type standing struct {
	candidate
	caller
	end func() error

	small, large load.Latencies
	rates        map[int]*rate // by calls in flight
	tooLarge     error         // why the peer does not take the large text; nil if it does
}

// benchPeers measures callgate and the peers that are installed in o.peers, one setup after another, and prints a table
// for each.
func benchPeers(o options, dir string, out, progress io.Writer) error {
	fmt.Fprintf(out, "\nBeside other proxies: %d rounds of %d calls.\n", o.rounds, o.calls)
	if err := os.Setenv("MCP_REMOTE_CONFIG_DIR", dir); err != nil { // else it leaves files in the user's home
		return err
	}
	for i, s := range setups {
		fmt.Fprintln(progress, "over", s.title)
		if err := s.bench(o, filepath.Join(dir, fmt.Sprintf("setup-%d", i)), out); err != nil {
			return fmt.Errorf("over %s: %w", s.title, err)
		}
	}
	return nil
}

func (s setup) bench(o options, dir string, out io.Writer) (err error) {
	echo, err := program(o.bin, "echo")
	if err != nil {
		return err
	}
	server, endServer, err := startHTTP(echo, "-http")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, endServer()) }()
	var all []*standing
	var absent []string
	defer func() {
		for _, c := range all {
			err = errors.Join(err, c.end())
		}
	}()
	for i, c := range s.those {
		at := site{dir: filepath.Join(dir, fmt.Sprint(i)), echo: echo, url: server + "/mcp"}
		if c.peer != (peer{}) {
			c.name = c.peer.name + " " + c.peer.version
			at.program, err = c.peer.program(o.peers)
		} else if c.name == own {
			at.program, err = program(o.bin, "callgate")
		}
		switch {
		case c.peer != (peer{}) && errors.Is(err, fs.ErrNotExist):
			absent = append(absent, c.name)
			continue
		case err != nil:
			return err
		}
		running, err := s.stand(c, at)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		all = append(all, running)
	}
	large := strings.Repeat("0123456789abcdef", o.large<<10/16)
	for block := range o.rounds*blocks + 1 {
		for i := range all { // each block starts with another
			c := all[(block+i)%len(all)]
			if err := c.block(o, large, block > 0); err != nil { // the first block warms up caches, heaps and compilers
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	return s.report(out, all, absent, o)
}

// stand starts a candidate and connects to it.
func (s setup) stand(c candidate, at site) (*standing, error) {
	running := &standing{candidate: c, end: func() error { return nil }, rates: map[int]*rate{}}
	for _, n := range widths {
		running.rates[n] = &rate{}
	}
	if err := os.MkdirAll(at.dir, 0o700); err != nil {
		return nil, err
	}
	over, address := s.over, at.url
	switch {
	case c.command == nil: // the server itself
		over = overHTTP
	case c.name == direct:
		over = overStdio
	case over != overStdio:
		var err error
		if at.port, err = freePort(); err != nil {
			return nil, err
		}
		address = "http://127.0.0.1:" + at.port + c.path
	}
	var command []string
	if c.command != nil {
		var err error
		if command, err = c.command(at); err != nil {
			return nil, err
		}
	}
	if over == overStdio {
		client, err := load.Start(command)
		if err != nil {
			return nil, err
		}
		running.caller, running.end = stdioCaller{client}, client.Close
		return running, nil
	}
	end := func() error { return nil }
	if command != nil {
		var err error
		if _, end, err = startServer(command, at.dir); err != nil {
			return nil, err
		}
	}
	var connect func() error
	disconnect := func() {}
	if over == overSSE {
		way := &waySSE{url: address, tool: c.tool}
		running.caller, connect, disconnect = way, way.connect, way.close
	} else {
		way := &wayHTTP{name: c.name, url: address, tool: c.tool, client: &http.Client{Timeout: startLimit, Transport: &http.Transport{MaxIdleConnsPerHost: 2 * slices.Max(widths)}}}
		running.caller, connect = way, way.connect
	}
	running.end = func() error { disconnect(); return end() }
	for deadline := time.Now().Add(startLimit); ; time.Sleep(50 * time.Millisecond) {
		err := connect()
		if err == nil {
			return running, nil
		}
		if time.Now().After(deadline) {
			return nil, errors.Join(err, running.end())
		}
	}
}

// freePort returns a port below the range that systems use for outgoing connections and for port 0, so that nobody
// takes it before its server has started.
func freePort() (string, error) {
	for {
		port := strconv.Itoa(20000 + rand.IntN(12000))
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			return "", err
		}
		return port, l.Close()
	}
}

// startServer starts a proxy that serves over HTTP. Its output goes to a file in dir, which is also its home. end
// returns an error if the proxy ended on its own.
func startServer(command []string, dir string) (pid int, end func() error, err error) {
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return 0, nil, err
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), "HOME="+dir)
	if err := cmd.Start(); err != nil {
		return 0, nil, errors.Join(err, log.Close())
	}
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(cmd.Wait(), log.Close()) }()
	return cmd.Process.Pid, sync.OnceValue(func() error {
		select {
		case err := <-ended:
			said, _ := os.ReadFile(log.Name()) // without it, the error alone
			return fmt.Errorf("%s ended too early: %w\n%s", command[0], err, said)
		default:
		}
		if cmd.Process.Signal(syscall.SIGTERM) != nil { // the system does not know the signal, or the process has ended
			_ = cmd.Process.Kill()
		}
		limit := time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() }) // it may have ended already
		defer limit.Stop()
		var exit *exec.ExitError
		if err := <-ended; !errors.As(err, &exit) {
			return err
		}
		return nil
	}), nil
}

// stdioCaller is a host over stdio.
type stdioCaller struct{ *load.Client }

func (c stdioCaller) calls(n, width int, text string) (load.Latencies, time.Duration, error) {
	if width > 1 {
		took, latencies, err := c.InFlight(n, width, text)
		return latencies, took, err
	}
	began := time.Now()
	latencies, err := c.Sequential(n, text)
	return latencies, time.Since(began), err
}

// block makes one turn of calls, and records it if counts is set.
func (c *standing) block(o options, large string, counts bool) error {
	n := max(o.calls/blocks, slices.Max(widths))
	for _, width := range widths {
		latencies, took, err := c.calls(n, width, smallText)
		if err != nil {
			return err
		}
		if !counts {
			continue
		}
		c.rates[width].add(n, took)
		if width == 1 {
			c.small = append(c.small, latencies...)
		}
	}
	if c.tooLarge != nil {
		return nil
	}
	latencies, _, err := c.calls(max(1, n/fewer), 1, large)
	switch {
	case err != nil && !counts && c.peer != (peer{}):
		c.tooLarge = err
		return nil
	case counts:
		c.large = append(c.large, latencies...)
	}
	return err
}

// report prints the table of the setup, and whether callgate adds at most half of what the fastest peer adds.
func (s setup) report(out io.Writer, all []*standing, absent []string, o options) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\nOver %s; direct is %s.\n\n| | call, p50, µs | … added | with %d KiB, p50, µs | … added |", s.title, s.direct, o.large)
	for _, n := range widths {
		fmt.Fprintf(&b, " a second, %d in flight |", n)
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", 4+len(widths)) + "\n")
	p50 := func(l load.Latencies) float64 { return micros(l.Quantile(.5)) }
	small, large := p50(all[0].small), p50(all[0].large)
	var fastest, callgate *standing
	for _, c := range all {
		fmt.Fprintf(&b, "| %s | %.0f | %.0f |", c.name, p50(c.small), p50(c.small)-small)
		if c.tooLarge != nil {
			b.WriteString(" refused | – |")
		} else {
			fmt.Fprintf(&b, " %.0f | %.0f |", p50(c.large), p50(c.large)-large)
		}
		for _, n := range widths {
			fmt.Fprintf(&b, " %.0f |", c.rates[n].perSecond())
		}
		b.WriteByte('\n')
		switch {
		case c.name == own:
			callgate = c
		case c.peer != (peer{}) && (fastest == nil || p50(c.small) < p50(fastest.small)):
			fastest = c
		}
	}
	b.WriteByte('\n')
	if fastest != nil {
		ratio := (p50(callgate.small) - small) / (p50(fastest.small) - small)
		verdict := "missed"
		if ratio <= half {
			verdict = "met"
		}
		fmt.Fprintf(&b, "- adds at most half of what the fastest of the others adds, %s: %s (%.2f)\n", fastest.name, verdict, ratio)
	}
	if len(absent) > 0 {
		fmt.Fprintf(&b, "- not installed, and not measured: %s; %s\n", strings.Join(absent, ", "), howToInstall)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// half is the share of the fastest peer's addition that callgate may add.
const half = .5

const howToInstall = "`make bench-peers` installs them"
