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

// clientSuite is one run of the scenarios that test a client: each at the revision that introduced it, or all scenarios
// of one revision.
type clientSuite struct {
	name string
	pkg  string
	args []string
}

var clientSuites = []clientSuite{
	{"0.1.16, client", "conformance-0.1.16", nil},
	{"0.2.0-alpha.12, client", "conformance-0.2.0-alpha.12", nil},
	{"0.2.0-alpha.12, client at 2026-07-28", "conformance-0.2.0-alpha.12", []string{"--spec-version", "2026-07-28"}},
}

// between runs the scenarios that are not about authorization with the reference client, directly and with callgate
// between it and the suite's server. It prints a row for each. failing lists the checks that the client itself fails.
func (r *runner) between(ctx context.Context) (lost int, failing map[string][]string, err error) {
	failing = map[string][]string{}
	fmt.Fprintln(r.out, "\n| suite | way | scenarios | passed | checks | passed | of those that pass directly |\n|---|---|---|---|---|---|---|")
	for _, s := range clientSuites {
		scenarios, err := r.scenarios(ctx, s, false)
		if err != nil {
			return lost, nil, fmt.Errorf("%s: %w", s.name, err)
		}
		direct, err := r.play(ctx, s, scenarios, r.client, "direct")
		if err != nil {
			return lost, nil, fmt.Errorf("%s, directly: %w", s.name, err)
		}
		through, err := r.play(ctx, s, scenarios, r.self+" -between -callgate "+r.callgate+" -client "+r.client, "callgate")
		if err != nil {
			return lost, nil, fmt.Errorf("%s, through callgate: %w", s.name, err)
		}
		failing[s.name] = direct.failing()
		passing := direct.passing()
		kept := 0
		for _, check := range passing {
			if through.passed(check) {
				kept++
				continue
			}
			lost++
			fmt.Fprintln(os.Stderr, "LOST", s.name, check)
		}
		fmt.Fprintf(r.out, "| %s | direct | %s | %d of %d |\n", s.name, direct, len(passing), len(passing))
		fmt.Fprintf(r.out, "| %s | callgate | %s | %d of %d |\n", s.name, through, kept, len(passing))
	}
	return lost, failing, nil
}

// auth plays the client of every scenario about authorization, and prints a row for each suite. failing lists the
// checks that callgate fails.
func (r *runner) auth(ctx context.Context) (lost int, failing map[string][]string, err error) {
	failing = map[string][]string{}
	fmt.Fprintln(r.out, "\n| suite | scenarios | passed | checks | passed |\n|---|---|---|---|---|")
	for _, s := range clientSuites {
		s.name = strings.Replace(s.name, "client", "client auth", 1)
		scenarios, err := r.scenarios(ctx, s, true)
		if err != nil {
			return 0, nil, fmt.Errorf("%s: %w", s.name, err)
		}
		p, err := r.play(ctx, s, scenarios, r.self+" -signin -callgate "+r.callgate, "")
		if err != nil {
			return 0, nil, fmt.Errorf("%s: %w", s.name, err)
		}
		fmt.Fprintf(r.out, "| %s | %s |\n", s.name, p)
		failing[s.name] = p.failing()
	}
	return 0, failing, nil
}

// played holds the results of scenarios: their checks, and by scenario whether all of it passed, including the client's
// exit.
type played struct{ all, whole checks }

// String returns the middle of a row.
func (p played) String() string {
	return fmt.Sprintf("%d | %d | %d | %d", len(p.whole), len(p.whole.names(true)), len(p.all), len(p.all.names(true)))
}

func (p played) failing() []string { return p.names(false) }
func (p played) passing() []string { return p.names(true) }

func (p played) names(passed bool) []string {
	names := slices.Concat(p.all.names(passed), p.whole.names(passed))
	slices.Sort(names)
	return names
}

func (p played) passed(check string) bool { return p.all[check] || p.whole[check] }

var clientScenario = regexp.MustCompile(`(?m)^\s+- (\S+)`)

// scenarios returns the suite's scenarios that test a client: those about authorization, or the others.
func (r *runner) scenarios(ctx context.Context, s clientSuite, auth bool) (all []string, err error) {
	text, err := r.node(ctx, s.pkg, "list").Output()
	if err != nil {
		return nil, err
	}
	_, part, _ := strings.Cut(string(text), "Client scenarios")
	part, _, _ = strings.Cut(part, "Authorization server scenarios")
	for _, m := range clientScenario.FindAllStringSubmatch(part, -1) {
		if strings.HasPrefix(m[1], "auth/") == auth {
			all = append(all, m[1])
		}
	}
	if len(all) == 0 {
		return nil, errors.New("the suite lists no scenario")
	}
	return all, nil
}

func (r *runner) node(ctx context.Context, pkg string, args ...string) *exec.Cmd {
	program := filepath.Join(r.npm, pkg, "dist", "index.js")
	return exec.CommandContext(ctx, filepath.Join(r.npm, "node", "bin", "node"), append([]string{program}, args...)...)
}

// play runs those scenarios that the suite has at its revision against command. The words of command MUST NOT contain
// blanks: the suite passes it to a shell.
func (r *runner) play(ctx context.Context, s clientSuite, scenarios []string, command, way string) (p played, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out := filepath.Join(r.results, folderName(s.name+" "+way))
	if err := os.RemoveAll(out); err != nil {
		return p, err
	}
	p = played{checks{}, checks{}}
	var mu sync.Mutex
	return p, sideBySide(len(scenarios), func(i int) error {
		scenario := scenarios[i]
		found, passed, err := r.scenario(ctx, s, scenario, command, filepath.Join(out, folderName(scenario)))
		if err != nil {
			return fmt.Errorf("%s: %w", scenario, err)
		}
		if found == nil {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		p.whole[scenario] = passed
		for check, ok := range found {
			p.all[scenario+":"+check] = ok
		}
		return nil
	})
}

// scenario runs one scenario. found is nil if the suite does not have it at its revision.
func (r *runner) scenario(ctx context.Context, s clientSuite, name, command, out string) (found checks, passed bool, err error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, false, err
	}
	said, err := os.Create(filepath.Join(out, "said.txt"))
	if err != nil {
		return nil, false, err
	}
	defer said.Close()
	cmd := r.node(ctx, s.pkg, append([]string{"client", "--command", command, "--scenario", name, "-o", out}, s.args...)...)
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

// add adds the checks of a file to c. If an id is checked several times, each check has to pass. With strict, warnings
// do not pass, and skipped checks do not count.
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
		if one.Status == "INFO" || strict && one.Status == "SKIPPED" {
			continue
		}
		before, again := c[one.ID]
		c[one.ID] = one.Status != "FAILURE" && (!strict || one.Status == "SUCCESS") && (before || !again)
	}
	return nil
}

// folderName returns text as a valid folder name.
func folderName(text string) string {
	return strings.Trim(regexp.MustCompile(`[^\w.-]+`).ReplaceAllString(text, "-"), "-")
}
