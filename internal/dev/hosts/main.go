// Command hosts runs the LLM hosts that are installed on this machine. Each runs against a scripted model, with
// callgate between it and a server. The command prints what happened to tools, denials, approvals, elicitation, changed
// lists and cancellation. The table in docs/testdata/hosts.md is its output:
//
//	go run ./internal/dev/hosts -update docs/testdata/hosts.md
//
// "hosts tools" tries the hosts' built-in tools; docs/testdata/built-in.md is its output.
//
// Hosts are found on the PATH. Each run has its own folder as home; nothing leaves this machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	testserver "callgate/internal/testserver/features"
)

// patience bounds one run, beyond the wait for a person.
const patience = 4 * time.Minute

func main() {
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 2 && args[0] == "features":
		err = testserver.Server(args[1]).Run(context.Background(), &mcp.StdioTransport{})
	case len(args) > 3 && args[0] == "tee" && args[1] == "-legacy":
		err = tee(args[2], true, args[3:])
	case len(args) > 2 && args[0] == "tee":
		err = tee(args[1], false, args[2:])
	case len(args) > 0 && args[0] == "tools":
		err = tryTools(args[1:])
	default:
		err = try(args)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, "hosts:", err)
		os.Exit(1)
	}
}

// trial is one host over one transport.
type trial struct {
	host   host
	http   bool
	legacy bool
}

func try(args []string) error {
	flags := flag.NewFlagSet("hosts", flag.ExitOnError)
	program := flags.String("callgate", "bin/callgate", "`program`")
	only := flags.String("host", "", "`programs` of the hosts to run, separated by commas; default: all that are installed")
	over := flags.String("over", "stdio,http", "transports")
	speaks := flags.String("server", testserver.Legacy, "`revision` that the server speaks: "+testserver.Legacy+" or "+testserver.Modern)
	wait := flags.Duration("wait", 90*time.Second, "how long a person takes to approve")
	jobs := flags.Int("jobs", 4, "hosts at the same time")
	results := flags.String("results", "bin/hosts-runs", "`folder` for what crossed, one for each run")
	page := flags.String("update", "", "`page` that gets the table")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if *speaks != testserver.Legacy && *speaks != testserver.Modern {
		return fmt.Errorf("the server does not speak %q", *speaks)
	}
	for _, path := range []*string{program, results} {
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	trials, versions, err := plan(*only, *over)
	if err != nil {
		return err
	}
	rows, err := each(trials, *jobs, func(t trial) (row, error) {
		r, err := t.run(ctx, *results, run{program: *program, self: self, http: t.http, legacy: t.legacy, server: *speaks, wait: *wait})
		r.host, r.version, r.transport = t.host.name, versions[t.host.program], t.transport()
		fmt.Fprintf(os.Stderr, "%s %s over %s is done\n", r.host, r.era, r.transport)
		return r, err
	})
	fmt.Fprint(os.Stdout, table(rows))
	if err != nil || *page == "" {
		return err
	}
	return update(*page, table(rows))
}

// each runs all trials, up to jobs at a time. It returns their rows in order, and all errors.
func each[R any](trials []trial, jobs int, try func(trial) (R, error)) ([]R, error) {
	rows, failed := make([]R, len(trials)), make([]error, len(trials))
	var working sync.WaitGroup
	busy := make(chan struct{}, jobs)
	for i, t := range trials {
		working.Go(func() {
			busy <- struct{}{}
			defer func() { <-busy }()
			rows[i], failed[i] = try(t)
		})
	}
	working.Wait()
	return rows, errors.Join(failed...)
}

var number = regexp.MustCompile(`\d+\.\d+\.\d+`)

// plan returns a trial for every wanted host that is installed and every wanted transport, and another one in the older
// era if the host has two. versions is by program.
func plan(only, over string) (trials []trial, versions map[string]string, err error) {
	transports := strings.Split(over, ",")
	if i := slices.IndexFunc(transports, func(t string) bool { return t != "stdio" && t != "http" }); i >= 0 {
		return nil, nil, fmt.Errorf("hosts come over stdio and http, not over %q", transports[i])
	}
	versions = map[string]string{}
	for _, h := range hosts {
		if only != "" && !slices.Contains(strings.Split(only, ","), h.program) {
			continue
		}
		out, err := exec.Command(h.program, "--version").Output()
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s is left out: %v\n", h.name, err)
			continue
		}
		versions[h.program] = number.FindString(string(out))
		eras := []bool{false}
		if h.eras {
			eras = append(eras, true)
		}
		for _, legacy := range eras {
			for _, transport := range transports {
				trials = append(trials, trial{h, transport == "http", legacy})
			}
		}
	}
	if len(trials) == 0 {
		return nil, nil, errors.New("no host is installed that this knows: put claude, codex, … on the PATH")
	}
	return trials, versions, nil
}

func (t trial) transport() string {
	if t.http {
		return "HTTP"
	}
	return "stdio"
}

// run runs both scripts, each in its own folder.
func (t trial) run(ctx context.Context, results string, r run) (row, error) {
	folder := fmt.Sprintf("%s-%s", t.host.program, strings.ToLower(t.transport()))
	if t.legacy {
		folder += "-legacy"
	}
	once := func(name string, script []step, limit time.Duration, watch string) (*evidence, error) {
		r := r
		r.dir, r.limit, r.watch = filepath.Join(results, folder, name), limit, watch
		if err := os.RemoveAll(r.dir); err != nil {
			return nil, err
		}
		if err := os.MkdirAll(r.dir, 0o700); err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeoutCause(ctx, patience+r.wait, fmt.Errorf("%s over %s does not come to an end, see %s", t.host.name, t.transport(), r.dir))
		defer cancel()
		return r.do(ctx, t.host, script)
	}
	first, err := once("features", features, 0, "")
	if err != nil {
		return row{}, err
	}
	second, err := once("cancels", cancels, callLimit, "interrupted")
	if err != nil {
		return row{}, err
	}
	return find(first, second), nil
}
