package rulebook

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"callgate/audit"
	"callgate/gate/tools"
	"callgate/internal/visible"
	"callgate/permissions"
)

// Simulation compares the verdicts of two rules files on recorded calls.
type Simulation struct {
	Decisions   int               `json:"decisions"` // recorded decisions that were looked at
	Replayed    int               `json:"replayed"`  // how many of them were judged
	BySubject   int               `json:"bySubject"` // how many of the judged ones by their recorded subjects only
	Differences []*Difference     `json:"differences"`
	Skipped     map[string]int    `json:"skipped"` // reason → how many could not be replayed
	known       map[string]replay // equal calls are judged once

	checker *Checker
	worker  sides            // the two files as the worker's policies
	agents  map[string]sides // the two files under each agent profile
}

// sides holds the current rules and the changed ones.
type sides struct{ before, after *permissions.Policy }

// Difference is a call, made one or more times, that the changed rules judge differently.
type Difference struct {
	Tool      string         `json:"tool"`
	Call      string         `json:"call"` // what the call did, as it was recorded
	Before    string         `json:"before"`
	After     string         `json:"after"`
	BeforeBy  string         `json:"beforeBy"`
	AfterBy   string         `json:"afterBy"`
	Count     int            `json:"count"`
	Recorded  map[string]int `json:"recorded"` // decision at the time → how often
	LastCall  string         `json:"lastCall"`
	BySubject bool           `json:"bySubject,omitzero"`
}

// replay is what both files say about one call. skip is the reason if the call cannot be judged.
type replay struct {
	skip              string
	before, after     permissions.Action
	beforeBy, afterBy string
	bySubject         bool
	reported          *Difference
}

// Simulate prepares a comparison of two files under the current agent profiles.
func Simulate(ch *Checker, before, after *permissions.Policy) (*Simulation, error) {
	sim := &Simulation{
		Differences: []*Difference{}, Skipped: map[string]int{}, known: map[string]replay{},
		checker: ch, worker: sides{before, after}, agents: map[string]sides{},
	}
	for _, a := range ch.Profiles {
		var under sides
		var err error
		if under.before, err = before.With(a.Rules, nil); err != nil {
			return nil, err
		}
		if under.after, err = after.With(a.Rules, nil); err != nil {
			return nil, err
		}
		sim.agents[a.Name] = under
	}
	return sim, nil
}

// Run replays the newest decisions of the worker, at most limit (0 means all). The error names records that could not
// be read.
func (sim *Simulation) Run(filter audit.Filter, limit int) error {
	var damaged []error
	for r, err := range audit.Read(audit.Dir(sim.checker.DataDir), filter) {
		if err != nil {
			damaged = append(damaged, err)
			continue
		}
		if r.Event != audit.Decision || r.Worker != "" && r.Worker != sim.checker.Worker {
			continue
		}
		sim.add(&r)
		if sim.Decisions == limit {
			break
		}
	}
	slices.SortStableFunc(sim.Differences, func(a, b *Difference) int {
		return cmp.Or(cmp.Compare(rank(b), rank(a)), cmp.Compare(b.Count, a.Count))
	})
	return errors.Join(damaged...)
}

// rank sorts differences: calls that would now run first, then those that would be denied, then those that would ask.
func rank(d *Difference) int {
	return slices.Index([]string{"ask", "deny", "allow"}, d.After)
}

func (sim *Simulation) add(r *audit.Record) {
	sim.Decisions++
	key := strings.Join([]string{r.Agent, r.Project, r.Server, r.Tool, r.Digest}, "\x00")
	done, ok := sim.known[key]
	if !ok {
		done = sim.replay(r)
	}
	switch {
	case done.skip != "":
		sim.Skipped[done.skip]++
	case done.bySubject:
		sim.BySubject++
		sim.Replayed++
	default:
		sim.Replayed++
	}
	if done.skip == "" && done.before != done.after {
		if done.reported == nil {
			done.reported = &Difference{
				Tool: r.Tool, Call: cmp.Or(r.Summary, r.Tool), Before: done.before.String(), After: done.after.String(),
				BeforeBy: done.beforeBy, AfterBy: done.afterBy, Recorded: map[string]int{}, LastCall: r.CallID, BySubject: done.bySubject,
			}
			sim.Differences = append(sim.Differences, done.reported)
		}
		done.reported.Count++
		done.reported.Recorded[r.Decision]++
	}
	if r.Digest != "" {
		sim.known[key] = done
	}
}

// Print shows the simulation to a person.
func (sim *Simulation) Print(w io.Writer) error {
	var b strings.Builder
	calls := 0
	for _, d := range sim.Differences {
		calls += d.Count
	}
	fmt.Fprintf(&b, "%s on record, %d replayed", visible.Count(sim.Decisions, "decision"), sim.Replayed)
	if sim.BySubject > 0 {
		fmt.Fprintf(&b, " (%d by their subjects alone)", sim.BySubject)
	}
	fmt.Fprintf(&b, ": %d would differ\n", calls)
	for _, d := range sim.Differences {
		fmt.Fprintf(&b, "\n%s -> %s  %s  x%d\n  %s\n", strings.ToUpper(d.Before), strings.ToUpper(d.After), tools.Visible(d.Tool), d.Count, tools.Visible(visible.Shorten(d.Call, maxField)))
		var recorded []string
		for _, decision := range slices.Sorted(maps.Keys(d.Recorded)) {
			recorded = append(recorded, fmt.Sprintf("%d %s", d.Recorded[decision], decision))
		}
		fmt.Fprintf(&b, "  now      %s\n  changed  %s\n  then     %s, last %s\n", tools.Visible(d.BeforeBy), tools.Visible(d.AfterBy), tools.Visible(strings.Join(recorded, ", ")), tools.Visible(d.LastCall))
		if d.BySubject {
			fmt.Fprintf(&b, "  judged by the recorded subjects alone\n")
		}
	}
	if len(sim.Skipped) > 0 {
		fmt.Fprintf(&b, "\nNot replayed\n")
	}
	for _, reason := range slices.Sorted(maps.Keys(sim.Skipped)) {
		fmt.Fprintf(&b, "  %5d  %s\n", sim.Skipped[reason], reason)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
