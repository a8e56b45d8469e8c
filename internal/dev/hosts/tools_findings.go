package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callgate/audit"
	"callgate/gate"
	"callgate/internal/hosthooks"
)

// toolRow holds the findings about one host's own tools.
type toolRow struct {
	host, version string
	cells         map[string]string // by tool; "" if the host does not have it
	unjudged      []string          // what ran without a decision
	canary        string
	refused       int // how many of the cases
	cases         int
	undone        []string // files that differ after connect and disconnect
	left          []string // files that differ after disconnect although the host did not write them meanwhile
	rewrote       []string // files that the host wrote meanwhile
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

func holds(path, text string) bool {
	whole, err := os.ReadFile(path)
	return err == nil && strings.Contains(string(whole), text)
}

// wasTold reports whether a result that the model got contains the text.
func (r *toolRun) wasTold(text string) bool {
	return slices.ContainsFunc(r.shown, func(t turn) bool {
		return slices.ContainsFunc(t.Results, func(s string) bool { return strings.Contains(s, text) })
	})
}

func (r *toolRun) fetched(path string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.visited, path)
}

// served reports whether the server got a call with the text.
func (r *toolRun) served(text string) bool {
	all, err := recorded(r.behind())
	id, _ := callOf(all, text)
	return err == nil && id != ""
}

// decision is the part of a record that the findings need. audit.Read leaves out the arguments.
type decision struct {
	Time           time.Time
	Event          audit.Event
	Tool, Decision string
	Arguments      json.RawMessage
}

// trail calls show for each decision since then.
func (r *toolRun) trail(since time.Time, show func(decision)) error {
	files, err := filepath.Glob(filepath.Join(audit.Dir(r.data()), "*.jsonl"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for line := range bytes.Lines(text) {
			var d decision
			if json.Unmarshal(line, &d) == nil && d.Event == audit.Decision && d.Time.After(since) {
				show(d)
			}
		}
	}
	return nil
}

// decided returns the decisions on calls whose arguments contain the mark and whose tool name ends in tool.
func (r *toolRun) decided(mark, tool string) (how []string, err error) {
	err = r.trail(time.Time{}, func(d decision) {
		if strings.Contains(string(d.Arguments), mark) && strings.HasSuffix(d.Tool, tool) {
			how = append(how, d.Decision)
		}
	})
	return how, err
}

var allows = []string{gate.DecidedAutoApproved, gate.DecidedApproved, gate.DecidedTrusted}

// find fills the row with the findings about the deeds.
func (row *toolRow) find(r *toolRun, deeds []deed) error {
	row.cells = map[string]string{}
	for _, d := range deeds {
		tool := ""
		if len(d.steps) > 1 { // the earlier steps have the mark too
			tool = d.steps[len(d.steps)-1].tool
		}
		decisions, err := r.decided(d.mark, tool)
		if err != nil {
			return err
		}
		ran := d.ran()
		if ran && !slices.ContainsFunc(decisions, func(how string) bool { return slices.Contains(allows, how) }) {
			row.unjudged = append(row.unjudged, d.what+" "+d.word)
		}
		said := amiss(d.word, decisions, ran)
		switch was := row.cells[d.what]; {
		case was == "" && said == "":
			row.cells[d.what] = ok
		case said != "" && (was == "" || was == ok):
			row.cells[d.what] = said
		case said != "":
			row.cells[d.what] += "; " + said
		}
	}
	proof, err := hosthooks.ReadProof(r.data())
	if err != nil {
		return err
	}
	state := proof[r.host.id]
	for _, lapse := range []*hosthooks.Lapse{state.Disobeyed, state.Uncovered} {
		if lapse != nil {
			row.unjudged = append(row.unjudged, lapse.What)
		}
	}
	row.canary, err = r.canary(state.Obeyed.IsZero())
	return err
}

// decisionOf maps each word to callgate's decision on a deed with it.
var decisionOf = map[string]string{wordAllowed: gate.DecidedAutoApproved, wordAsked: gate.DecidedApproved, wordDenied: gate.DecidedDenied}

// amiss returns what went differently from the word; "" for nothing.
func amiss(word string, decisions []string, ran bool) string {
	switch {
	case len(decisions) == 0:
		return word + ": nobody asked callgate"
	case !slices.Contains(decisions, decisionOf[word]):
		return fmt.Sprintf("%s: %s", word, strings.ReplaceAll(decisions[0], "_", " "))
	case ran && word == wordDenied:
		return "**denied and ran**"
	case !ran && word != wordDenied:
		return word + ": did not run"
	}
	return ""
}

// canary returns what proved that the host obeys its hooks.
func (r *toolRun) canary(unproven bool) (string, error) {
	canaries, err := r.decided("callgate-canary-", "")
	switch {
	case err != nil:
		return "", err
	case r.kit.shell == nil:
		return "no hooks", nil
	case unproven:
		return "**not proven**", nil
	case slices.Contains(canaries, gate.DecidedDenied):
		return ok, nil
	default:
		return "by the denied calls", nil
	}
}

// rounds returns the scripts of the sessions: one, or one for each denial that ends a turn.
func (r *toolRun) rounds(deeds []deed) (list [][]step) {
	var now []step
	for _, d := range deeds {
		now = append(now, d.steps...)
		if r.kit.ends && d.word == wordDenied {
			list, now = append(list, now), nil
		}
	}
	if len(now) > 0 {
		list = append(list, now)
	}
	return list
}

// differences returns the names of the files that differ.
func differences(a, b map[string]string) (names []string) {
	for name := range both(a, b) {
		if text, there := b[name]; text != a[name] || !there {
			names = append(names, name)
		} else if _, there := a[name]; !there {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func both(a, b map[string]string) map[string]bool {
	all := map[string]bool{}
	for name := range a {
		all[name] = true
	}
	for name := range b {
		all[name] = true
	}
	return all
}

// leftovers returns the files that differ from before connect. What the host wrote while it was connected is its own
// affair, unless it contains callgate's program.
func leftovers(before, connected, used, after map[string]string, program string) (left, rewrote []string) {
	wrote := differences(connected, used)
	for _, name := range differences(before, after) {
		_, was := before[name]
		_, made := connected[name]
		switch {
		case !slices.Contains(wrote, name), (was || made) && strings.Contains(after[name], program):
			left = append(left, name)
		case was || made:
			rewrote = append(rewrote, name)
		}
	}
	return left, rewrote
}

// shellCase is a command of the shell corpus that its rules deny.
type shellCase struct {
	ID, Cmd, Expect string
	Allow           []string `json:"allow_rules"`
	Deny            []string `json:"deny_rules"`
}

// readCases reads count of the cases, evenly spread.
func readCases(path string, count int) (list []shellCase, err error) {
	if path == "" || count == 0 {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var c shellCase
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if c.Expect == "deny" {
			list = append(list, c)
		}
	}
	if err := in.Err(); err != nil || len(list) <= count {
		return list, err
	}
	sample := make([]shellCase, count)
	for i := range sample {
		sample[i] = list[i*len(list)/count]
	}
	return sample, nil
}

// rules returns the rules of the case.
func (c *shellCase) rules() ([]byte, error) {
	var lines []string
	for _, l := range []struct {
		action   string
		patterns []string
	}{{"allow", c.Allow}, {"deny", c.Deny}} {
		for _, p := range l.patterns {
			name, err := json.Marshal(p)
			if err != nil {
				return nil, err
			}
			lines = append(lines, fmt.Sprintf("%s: %q", name, l.action))
		}
	}
	return fmt.Appendf(nil, `{"*": "ask", "shell_exec": {%s}}`, strings.Join(lines, ", ")), nil
}

// rulesFile returns the worker's rules file.
func (r *toolRun) rulesFile() string {
	return filepath.Join(r.data(), "workers", "default", "permissions.jsonc")
}
