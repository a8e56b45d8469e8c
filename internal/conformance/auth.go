package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// authSuite is one run of the scenarios that test how a client gets in: each at the revision that brought it, or all
// that a revision has at that.
type authSuite struct {
	name string
	pkg  string
	args []string
}

var authSuites = []authSuite{
	{"0.1.16, client auth", "conformance-0.1.16", nil},
	{"0.2.0-alpha.12, client auth", "conformance-0.2.0-alpha.12", nil},
	{"0.2.0-alpha.12, client auth at 2026-07-28", "conformance-0.2.0-alpha.12", []string{"--spec-version", "2026-07-28"}},
}

// atOnce is how many scenarios run side by side: most of their time they wait.
const atOnce = 3

// auth plays the client of every scenario that is about authorization, and prints a row for each suite. failing are
// the checks that callgate fails.
func (r *runner) auth(ctx context.Context) (failing map[string][]string, err error) {
	failing = map[string][]string{}
	fmt.Fprintln(r.out, "\n| suite | scenarios | passed | checks | passed |\n|---|---|---|---|---|")
	for _, s := range authSuites {
		scenarios, err := r.scenarios(ctx, s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		all, whole, err := r.play(ctx, s, scenarios)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		fmt.Fprintf(r.out, "| %s | %d | %d | %d | %d |\n", s.name, len(whole), len(whole.names(true)), len(all), len(all.names(true)))
		failing[s.name] = slices.Concat(all.names(false), whole.names(false))
		slices.Sort(failing[s.name])
	}
	return failing, nil
}

var authScenario = regexp.MustCompile(`auth/[\w-]+`)

// scenarios are those of the suite that are about authorization.
func (r *runner) scenarios(ctx context.Context, s authSuite) ([]string, error) {
	text, err := r.node(ctx, s.pkg, "list").Output()
	if err != nil {
		return nil, err
	}
	all := authScenario.FindAllString(string(text), -1)
	slices.Sort(all)
	if all = slices.Compact(all); len(all) == 0 {
		return nil, errors.New("the suite lists no scenario")
	}
	return all, nil
}

func (r *runner) node(ctx context.Context, pkg string, args ...string) *exec.Cmd {
	program := filepath.Join(r.npm, pkg, "dist", "index.js")
	return exec.CommandContext(ctx, filepath.Join(r.npm, "node", "bin", "node"), append([]string{program}, args...)...)
}

// play runs the scenarios that the suite has at its revision. all are their checks, whole says which passed in
// everything, the end of the client included.
func (r *runner) play(ctx context.Context, s authSuite, scenarios []string) (all, whole checks, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out := filepath.Join(r.results, folderName(s.name))
	if err := os.RemoveAll(out); err != nil {
		return nil, nil, err
	}
	all, whole = checks{}, checks{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for _, scenario := range scenarios {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			found, passed, failure := r.scenario(ctx, s, scenario, filepath.Join(out, folderName(scenario)))
			mu.Lock()
			defer mu.Unlock()
			if failure != nil {
				err = errors.Join(err, fmt.Errorf("%s: %w", scenario, failure))
				return
			}
			if found == nil {
				return
			}
			whole[scenario] = passed
			for check, ok := range found {
				all[scenario+":"+check] = ok
			}
		})
	}
	wg.Wait()
	return all, whole, err
}

// scenario runs one; found is nil when the suite does not have it at its revision.
func (r *runner) scenario(ctx context.Context, s authSuite, name, out string) (found checks, passed bool, err error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, false, err
	}
	said, err := os.Create(filepath.Join(out, "said.txt"))
	if err != nil {
		return nil, false, err
	}
	defer said.Close()
	self, err := os.Executable()
	if err != nil {
		return nil, false, err
	}
	// The suite gives the command to a shell, and its words must hold no blanks.
	cmd := r.node(ctx, s.pkg, append([]string{"client", "--command", self + " -client -callgate " + r.callgate, "--scenario", name, "-o", out}, s.args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = out, said, said
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && (!errors.As(err, &exit) || ctx.Err() != nil) {
		return nil, false, errors.Join(err, ctx.Err())
	}
	err = filepath.WalkDir(out, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != "checks.json" {
			return err
		}
		found = checks{}
		return found.add(path, true)
	})
	return found, cmd.ProcessState.Success(), err
}

// add puts the checks of a file into c. One id may be checked several times: each has to pass. strict lets no warning
// pass.
func (c checks) add(file string, strict bool) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var found []struct{ ID, Status string }
	if err := json.Unmarshal(text, &found); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for _, one := range found {
		if one.Status == "INFO" {
			continue
		}
		before, again := c[one.ID]
		c[one.ID] = one.Status != "FAILURE" && (!strict || one.Status == "SUCCESS") && (before || !again)
	}
	return nil
}

// folderName is text as the name of a folder.
func folderName(text string) string {
	return strings.Trim(regexp.MustCompile(`[^\w.-]+`).ReplaceAllString(text, "-"), "-")
}
