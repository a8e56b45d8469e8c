// Bench measures what callgate costs. It runs an echo server directly, behind the cheapest relay that can be written
// (floor) and behind callgate. It drives them from one process and in turns, so that other load on the machine affects
// all of them alike. It prints a Markdown table and compares the figures with the targets; a missed target is not a
// failure.
//
//	bench [-bin DIR] [-rounds N] [-calls N] [-starts N] [-inflight N] [-large KIB] [-only approvals|counts|growth|http|parts|peers|replicas|sessions|stdio|tenants|trail] [-peers DIR] [-install] [-sessions N] [-most N] [-records N] [-plots DIR]
//
// Then it does the same over HTTP, with Go's reverse proxy as the cheapest relay, and next to other MCP proxies over
// every transport. Finally it measures approvals: how long a question takes to a client's screen, and an answer back to
// the call, while many wait and many watch.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

// options are the sizes of a run.
type options struct {
	bin      string        // folder that holds callgate, echo and floor
	rounds   int           // each gives one set of figures; the table shows the best and the median
	calls    int           // sequential calls per round and target with the small text
	starts   int           // cold and warm starts per round and target
	inflight int           // calls open at the same time
	large    int           // length of the large text in KiB
	only     string        // "" for everything, or one part
	peers    string        // folder of the other proxies
	install  bool          // install missing proxies
	sessions int           // idle ones
	most     int           // at most so many rules, grants, tools and sessions while growth is measured
	records  int           // records in the trail
	plots    string        // folder for pictures; "" draws none
	settle   time.Duration // how long sessions are idle before their memory is read
	crowd    crowd
}

func main() {
	var o options
	flag.StringVar(&o.bin, "bin", "bin", "folder that holds callgate, echo and floor")
	flag.IntVar(&o.rounds, "rounds", 5, "measure `N` times and show the best and the median")
	flag.IntVar(&o.calls, "calls", 2000, "sequential calls per round")
	flag.IntVar(&o.starts, "starts", 3, "cold and warm starts per round")
	flag.IntVar(&o.inflight, "inflight", 16, "calls open at the same time")
	flag.IntVar(&o.large, "large", 100, "length of the large text in `KIB`, 512 at most")
	flag.StringVar(&o.only, "only", "", "measure nothing but `approvals`, counts, growth, http, parts, peers, replicas, sessions, stdio, tenants or trail")
	flag.StringVar(&o.peers, "peers", peersFolder(), "`folder` of the other proxies")
	flag.IntVar(&o.sessions, "sessions", 1000, "idle sessions of hosts over HTTP")
	flag.IntVar(&o.most, "most", 40_000, "rules, grants, tools and sessions at most while growth is measured")
	flag.IntVar(&o.records, "records", 1_000_000, "records of the trail that is read")
	flag.StringVar(&o.plots, "plots", "", "`folder` to draw pictures into")
	flag.DurationVar(&o.settle, "settle", 12*time.Second, "how long sessions are idle before their memory is read")
	flag.BoolVar(&o.install, "install", false, "install the other proxies that are not there, from npm and as Go modules")
	flag.IntVar(&o.crowd.pending, "pending", 500, "approvals that wait while others are measured")
	flag.IntVar(&o.crowd.clients, "clients", 50, "clients that follow everything")
	flag.IntVar(&o.crowd.calls, "allowed", 1000/eventsOfCall, "allowed calls a second meanwhile")
	flag.IntVar(&o.crowd.asks, "asks", 20, "questions a second that are answered at once")
	flag.DurationVar(&o.crowd.lasts, "lasts", 10*time.Second, "how long approvals are measured")
	flag.Parse()
	if err := run(o, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// check returns an error if a size is out of range.
func (o options) check() error {
	if c := o.crowd; c.pending < 0 || c.clients < 1 || c.calls < 0 || c.asks < 1 || c.lasts <= 0 {
		return fmt.Errorf("an option is out of range: %+v", c)
	}
	if o.rounds < 1 || o.calls < blocks || o.starts < 1 || o.inflight < 1 || o.large < 1 || o.large > 512 {
		return fmt.Errorf("an option is out of range: %+v", o)
	}
	most := 9500 // for one callgate
	if o.only == "replicas" {
		most *= 3
	}
	if o.sessions < 0 || o.sessions > most || o.most < 10 || o.records < 1 || o.settle < 0 {
		return fmt.Errorf("an option is out of range: %+v", o)
	}
	return nil
}

// part measures one thing.
type part func(o options, dir string, out, progress io.Writer) error

// partNamed returns the part for -only; nil for stdio and for everything.
func partNamed(name string) part {
	return map[string]part{
		"approvals": runApprovals, "counts": benchCounts, "http": runHTTP, "peers": benchPeers, "growth": benchGrowth,
		"parts": benchParts, "trail": benchTrail, "sessions": benchSessions, "replicas": benchReplicas, "tenants": benchTenants,
	}[name]
}

// run measures all targets. It writes the report to out, and its progress to progress.
func run(o options, out, progress io.Writer) error {
	if err := o.check(); err != nil {
		return err
	}
	if o.install {
		install(o.peers, progress)
	}
	dir, err := os.MkdirTemp("", "callgate-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	targets, err := findTargets(o.bin, dir)
	if err != nil {
		return err
	}
	if one := partNamed(o.only); one != nil {
		return one(o, dir, out, progress)
	}
	for i := range o.rounds {
		fmt.Fprintf(progress, "round %d of %d\n", i+1, o.rounds)
		if err := measure(targets, i, o); err != nil {
			return err
		}
	}
	if err := report(out, targets, o); err != nil || len(targets) == 2 || o.only == "stdio" {
		return err
	}
	for _, one := range []part{runHTTP, benchPeers, benchSessions, runApprovals, benchParts, benchGrowth, benchTrail} {
		if err := one(o, dir, out, progress); err != nil {
			return err
		}
	}
	return nil
}

// runHTTP measures the same over HTTP.
func runHTTP(o options, dir string, out, progress io.Writer) error {
	fmt.Fprintln(progress, "over HTTP")
	if err := benchHTTP(o, dir, out); err != nil {
		return fmt.Errorf("http: %w", err)
	}
	return nil
}

// runApprovals measures approvals by a person.
func runApprovals(o options, dir string, out, progress io.Writer) error {
	found, err := programs(o.bin, "callgate", "echo")
	if err != nil {
		return err
	}
	callgate, echo := found[0], found[1]
	fmt.Fprintln(progress, "approvals")
	a, err := measureApprovals(callgate, echo, dir, o.crowd)
	if err != nil {
		return fmt.Errorf("approvals: %w", err)
	}
	return a.report(out, o.crowd)
}
