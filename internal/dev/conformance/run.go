package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.yaml.in/yaml/v3"
)

// runner holds the paths of everything that is needed.
type runner struct {
	out                            io.Writer // for the table
	npm, callgate, server, results string
	tasksServer                    string
	client                         string // the reference client
	self                           string // this program
}

// checks holds the checks of one run, by scenario and id, with whether they passed.
type checks map[string]bool

// names returns the checks that passed, or those that did not, sorted.
func (c checks) names(passed bool) (all []string) {
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if c[name] == passed {
			all = append(all, name)
		}
	}
	return all
}

// atOnce is how many scenarios, or runs of suites, go on at the same time. Most of the time they wait.
const atOnce = 3

// sideBySide calls do for 0 to n-1, atOnce at a time, and joins the errors.
func sideBySide(n int, do func(i int) error) error {
	failures := make([]error, n)
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			failures[i] = do(i)
		})
	}
	all.Wait()
	return errors.Join(failures...)
}

// direct runs the suite against the server itself.
func (r *runner) direct(ctx context.Context, s suite) (checks, error) {
	address, end, err := r.serve(ctx, s)
	if err != nil {
		return nil, err
	}
	defer end()
	return r.suite(ctx, s, "direct", "http://"+address+"/")
}

// serve starts the server over HTTP. The caller MUST call end.
func (r *runner) serve(ctx context.Context, s suite) (address string, end func(), err error) {
	if address, err = freeAddress(); err != nil {
		return "", nil, err
	}
	args := []string{"-http", address}
	if !s.tasks {
		args = append(args, fmt.Sprintf("-stateless=%v", !s.sessions))
	}
	end, err = start(ctx, r.program(s), args...)
	if err != nil {
		return "", nil, err
	}
	return address, end, listening(ctx, address)
}

// program returns the server that the suite is run against.
func (r *runner) program(s suite) string {
	if s.tasks {
		return r.tasksServer
	}
	return r.server
}

// way is how callgate is placed between a suite and the server.
type way struct {
	name  string
	http  bool // callgate reaches the server over HTTP; else over stdio
	serve func(ctx context.Context, callgate string, server map[string]any) (address string, end func(), err error)
}

var ways = []way{
	{"callgate, server over stdio", false, serveCallgate},
	{"callgate, server over http", true, serveCallgate},
	{"three replicas, server over stdio", false, serveReplicas},
	{"three replicas, server over http", true, serveReplicas},
}

// through runs the suite against callgate with the server behind it.
func (r *runner) through(ctx context.Context, s suite, w way) (checks, error) {
	server := map[string]any{"name": "conformance", "command": r.program(s)}
	if w.http {
		address, end, err := r.serve(ctx, s)
		if err != nil {
			return nil, err
		}
		defer end()
		server = map[string]any{"name": "conformance", "url": "http://" + address + "/"}
	}
	address, end, err := w.serve(ctx, r.callgate, server)
	if err != nil {
		return nil, err
	}
	defer end()
	return r.suite(ctx, s, w.name, "http://"+address+"/mcp/conformance")
}

// serveCallgate starts callgate serve with only this server and rules that allow everything. The caller MUST call end.
func serveCallgate(ctx context.Context, callgate string, server map[string]any) (address string, end func(), err error) {
	dir, err := os.MkdirTemp("", "callgate-conformance-")
	if err != nil {
		return "", nil, err
	}
	common, err := configure(dir, server)
	if err == nil {
		address, err = freeAddress()
	}
	var stop func()
	if err == nil {
		stop, err = start(ctx, callgate, append([]string{"serve", "--listen", "off", "--mcp-listen", address, "--auth", "none"}, common...)...)
	}
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	end = func() {
		stop()
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, "conformance:", err)
		}
	}
	if err := listening(ctx, address); err != nil {
		end()
		return "", nil, err
	}
	return address, end, nil
}

// configure writes into dir the files that a user would write for the server, with rules that allow everything. common
// are the arguments for every callgate there.
func configure(dir string, server map[string]any) (common []string, err error) {
	text, err := yaml.Marshal(map[string]any{"servers": []any{server}})
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	rules := filepath.Join(data, "workers", "default")
	config := filepath.Join(dir, "callgate.yaml")
	return []string{"--config", config, "--data-dir", data, "--log-level", "error"}, errors.Join(
		os.MkdirAll(rules, 0o700),
		os.WriteFile(filepath.Join(rules, "permissions.jsonc"), []byte(`{ "*": "allow" }`), 0o600),
		os.WriteFile(config, text, 0o600),
	)
}

// suite runs the suite against a URL and returns its checks.
func (r *runner) suite(ctx context.Context, s suite, way, url string) (checks, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out := filepath.Join(r.results, folderName(s.name+"-"+way))
	if err := errors.Join(os.RemoveAll(out), os.MkdirAll(out, 0o755)); err != nil {
		return nil, err
	}
	said, err := os.Create(filepath.Join(out, "said.txt"))
	if err != nil {
		return nil, err
	}
	defer said.Close()
	runs := [][]string{s.args}
	if s.scenarios != nil {
		runs = nil
		for _, name := range s.scenarios {
			runs = append(runs, []string{"--scenario", name})
		}
	}
	for _, args := range runs {
		cmd := r.node(ctx, s.pkg, append([]string{"server", "--url", url, "-o", out}, args...)...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = out, said, said
		var exit *exec.ExitError
		if err := cmd.Run(); err != nil && (!errors.As(err, &exit) || ctx.Err() != nil) { // 1: checks failed
			return nil, errors.Join(err, ctx.Err())
		}
	}
	return read(out)
}

// read collects the checks of all scenarios.
func read(out string) (checks, error) {
	files, err := filepath.Glob(filepath.Join(out, "*", "checks.json"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no results: see %s", filepath.Join(out, "said.txt"))
	}
	stamp := regexp.MustCompile(`-20\d\d-\d\d-\d\dT.*$`)
	all := checks{}
	for _, file := range files {
		found := checks{}
		if err := found.add(file, false); err != nil {
			return nil, err
		}
		scenario := strings.TrimPrefix(stamp.ReplaceAllString(filepath.Base(filepath.Dir(file)), ""), "server-")
		for check, ok := range found {
			name := scenario + ":" + check
			before, again := all[name]
			all[name] = ok && (before || !again)
		}
	}
	return all, nil
}

// start starts a program. end ends it and waits.
func start(ctx context.Context, program string, args ...string) (end func(), err error) {
	cmd := exec.CommandContext(ctx, program, args...)
	if filepath.Base(program) == "callgate" {
		cmd.Stderr = os.Stderr
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 15 * time.Second
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			fmt.Fprintln(os.Stderr, "conformance:", program, err)
		}
		if err := cmd.Wait(); err != nil && filepath.Base(program) == "callgate" { // the server ends at the signal
			fmt.Fprintln(os.Stderr, "conformance: callgate ended with", err)
		}
	}, nil
}

// freeAddress returns an address on which nobody listens. Systems never assign its port on their own, so nobody takes
// it before the program listens.
func freeAddress() (string, error) {
	for {
		address := fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000))
		l, err := net.Listen("tcp", address)
		if err == nil {
			return address, l.Close()
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return "", err
		}
	}
}

// listening waits until somebody listens at address.
func listening(ctx context.Context, address string) error {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return fmt.Errorf("nobody listens at %s: %w", address, err)
		}
	}
}
