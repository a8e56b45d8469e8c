// Command conformance runs the official conformance suites against a reference server, directly and through callgate.
// It fails if a check that passes directly does not pass through callgate. It also plays the client of the scenarios
// about authorization, with callgate's own sign-in. docs/conformance.md has the tables that it prints.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"time"
)

// suite is one run of a suite.
type suite struct {
	name     string
	pkg      string // the suite's folder in node_modules
	args     []string
	sessions bool // the server has to keep sessions

	scenarios []string // each is run alone, instead of args; nil for none
	tasks     bool     // the server is the one with the tasks extension
}

var suites = []suite{
	{name: "0.1.16, suite all", pkg: "conformance-0.1.16", args: []string{"--suite", "all"}, sessions: true},
	{name: "0.2.0-alpha.12, 2025-11-25", pkg: "conformance-0.2.0-alpha.12", args: []string{"--requirements", "2025-11-25"}, sessions: true},
	{name: "0.2.0-alpha.12, 2026-07-28", pkg: "conformance-0.2.0-alpha.12", args: []string{"--requirements", "2026-07-28"}},
	{name: "0.2.0-alpha.12, tasks", pkg: "conformance-0.2.0-alpha.12", tasks: true, scenarios: []string{
		"tasks-lifecycle", "tasks-capability-negotiation", "tasks-wire-fields", "tasks-request-headers", "tasks-mrtr-input",
		"tasks-request-state-removal", "tasks-dispatch-and-envelope", "tasks-required-task-error", "tasks-mrtr-composition",
	}},
}

// limit bounds one run of a suite: one version of it has no limits.
const limit = 4 * time.Minute

func main() {
	npm := flag.String("npm", "testdata/conformance/node_modules", "`folder` with the suites and Node.js")
	callgate := flag.String("callgate", "bin/callgate", "`program`")
	server := flag.String("server", "bin/everything-server", "the reference server, a `program`")
	tasksServer := flag.String("tasks-server", "bin/extension-server", "the server with the extension for tasks, a `program`")
	baseline := flag.String("baseline", "testdata/conformance/baseline.json", "`file` with the checks that the reference server itself fails, and what callgate's sign-in does not offer")
	results := flag.String("results", "bin/conformance", "`folder` for what the suites say")
	update := flag.Bool("update", false, "write the baseline anew")
	client := flag.String("client", "bin/everything-client", "the reference client, a `program`")
	only := flag.String("only", "", "run `servers`, clients or signin alone, and leave the baseline")
	asGuest := flag.Bool("signin", false, "play a scenario about authorization, for the server at the URL that is the argument")
	asBetween := flag.Bool("between", false, "play another scenario for a client, likewise")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var failure error
	switch {
	case *asGuest:
		failure = signIn(ctx, abs(*callgate), flag.Arg(0))
	case *asBetween:
		failure = between(ctx, abs(*callgate), abs(*client), flag.Arg(0))
	}
	if failure != nil {
		fmt.Fprintln(os.Stderr, "conformance:", failure)
		os.Exit(1)
	}
	if *asGuest || *asBetween {
		return
	}
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(2)
	}
	r := runner{
		out: os.Stdout, npm: abs(*npm), callgate: abs(*callgate), server: abs(*server), tasksServer: abs(*tasksServer), results: abs(*results),
		client: abs(*client), self: self,
	}
	lost, failing, err := r.parts(ctx, *only)
	if err == nil && *update && *only == "" {
		err = writeBaseline(*baseline, failing)
	}
	var news []string
	if err == nil {
		news, err = notIn(*baseline, failing)
	}
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(2)
	case lost > 0 || len(news) > 0:
		for _, check := range news {
			fmt.Fprintln(os.Stderr, "a check fails that is not in the baseline:", check)
		}
		fmt.Fprintf(os.Stderr, "%d checks pass directly and not through callgate\n", lost)
		os.Exit(1)
	}
}

func abs(path string) string {
	whole, err := filepath.Abs(path)
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(2)
	}
	return whole
}

// parts runs the named part, or all for "". lost counts the checks that pass directly but not through callgate. failing
// lists those that fail without callgate, or that callgate's sign-in fails.
func (r *runner) parts(ctx context.Context, only string) (lost int, failing map[string][]string, err error) {
	failing = map[string][]string{}
	for _, part := range []struct {
		name string
		run  func(context.Context) (int, map[string][]string, error)
	}{{"servers", r.all}, {"clients", r.between}, {"signin", r.auth}} {
		if only != "" && only != part.name {
			continue
		}
		n, found, err := part.run(ctx)
		if err != nil {
			return lost, nil, err
		}
		lost += n
		maps.Copy(failing, found)
	}
	return lost, failing, nil
}

// all runs every suite directly and through callgate, some of them concurrently, and prints a row for each. failing
// lists the checks that the server itself fails.
func (r *runner) all(ctx context.Context) (lost int, failing map[string][]string, err error) {
	rows := 1 + len(ways) // for each suite: directly, and each way
	found := make([]checks, len(suites)*rows)
	err = sideBySide(len(found), func(i int) (err error) {
		s := suites[i/rows]
		if i%rows == 0 {
			if found[i], err = r.direct(ctx, s); err != nil {
				return fmt.Errorf("%s, directly: %w", s.name, err)
			}
			return nil
		}
		w := ways[i%rows-1]
		if found[i], err = r.through(ctx, s, w); err != nil {
			return fmt.Errorf("%s, %s: %w", s.name, w.name, err)
		}
		return nil
	})
	if err != nil {
		return 0, nil, err
	}
	failing = map[string][]string{}
	fmt.Fprintln(r.out, "| suite | way | checks | passed | failed | of those that pass directly |")
	fmt.Fprintln(r.out, "|---|---|---|---|---|---|")
	for i, s := range suites {
		direct := found[i*rows]
		r.row(s.name, "direct", direct, direct)
		failing[s.name] = direct.names(false)
		for j, w := range ways {
			through := found[i*rows+1+j]
			r.row(s.name, w.name, through, direct)
			for _, check := range direct.names(true) {
				if !through[check] {
					lost++
					fmt.Fprintln(os.Stderr, "LOST", s.name, w.name, check)
				}
			}
		}
	}
	return lost, failing, nil
}

func (r *runner) row(name, way string, c, direct checks) {
	kept := 0
	for _, check := range direct.names(true) {
		if c[check] {
			kept++
		}
	}
	passed := len(c.names(true))
	fmt.Fprintf(r.out, "| %s | %s | %d | %d | %d | %d of %d |\n", name, way, len(c), passed, len(c)-passed, kept, len(direct.names(true)))
}

// writeBaseline writes the checks that fail without callgate, by suite. notIn returns those that the file lacks.
func writeBaseline(path string, failing map[string][]string) error {
	text, err := json.MarshalIndent(failing, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

func notIn(path string, failing map[string][]string) (news []string, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var known map[string][]string
	if err := json.Unmarshal(text, &known); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for suite, all := range failing {
		for _, check := range all {
			if !slices.Contains(known[suite], check) {
				news = append(news, suite+": "+check)
			}
		}
	}
	slices.Sort(news)
	return news, nil
}
