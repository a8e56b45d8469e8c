package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// runner knows where everything is.
type runner struct {
	out                            io.Writer // of the table
	npm, callgate, server, results string
	tasksServer                    string
}

// checks are those of one run, by scenario and id, with whether they passed.
type checks map[string]bool

// names lists those that passed, or those that did not, sorted.
func (c checks) names(passed bool) (all []string) {
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if c[name] == passed {
			all = append(all, name)
		}
	}
	return all
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

// serve starts the server over HTTP.
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

// program is the server that the suite is run against.
func (r *runner) program(s suite) string {
	if s.tasks {
		return r.tasksServer
	}
	return r.server
}

// through runs the suite against callgate with the server behind it, which it reaches by stdio or http.
func (r *runner) through(ctx context.Context, s suite, way string) (checks, error) {
	server := fmt.Sprintf("{name: conformance, command: %q}", r.program(s))
	if way == "http" {
		address, end, err := r.serve(ctx, s)
		if err != nil {
			return nil, err
		}
		defer end()
		server = fmt.Sprintf("{name: conformance, url: %q}", "http://"+address+"/")
	}
	data, err := os.MkdirTemp("", "callgate-conformance-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(data)
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	rules := filepath.Join(data, "workers", "default", "permissions.jsonc")
	config := filepath.Join(data, "callgate.yaml")
	if err := errors.Join(
		os.MkdirAll(filepath.Dir(rules), 0o700),
		os.WriteFile(rules, []byte(`{ "*": "allow" }`), 0o600),
		os.WriteFile(config, fmt.Appendf(nil, "servers:\n  - %s\n", server), 0o600),
	); err != nil {
		return nil, err
	}
	end, err := start(ctx, r.callgate, "serve", "--config", config, "--data-dir", data, "--listen", "off",
		"--mcp-listen", address, "--auth", "none", "--log-level", "error")
	if err != nil {
		return nil, err
	}
	defer end()
	if err := listening(ctx, address); err != nil {
		return nil, err
	}
	return r.suite(ctx, s, way, "http://"+address+"/mcp/conformance")
}

// suite runs the suite against a URL and reads what it found.
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
		if err := cmd.Run(); err != nil && (!errors.As(err, &exit) || ctx.Err() != nil) { // 1 says that checks failed, which the files say too
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

// start starts a program and returns what ends it and waits.
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

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// listening waits until somebody listens.
func listening(ctx context.Context, address string) error {
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return fmt.Errorf("nobody listens at %s: %w", address, err)
		}
	}
}
