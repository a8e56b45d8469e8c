package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callgate/audit"
	"callgate/gate/tools"
	"callgate/permissions"
)

// simulation compares what two rules files say of the calls on record.
type simulation struct {
	Decisions   int               `json:"decisions"` // on record and looked at
	Replayed    int               `json:"replayed"`  // whole calls, judged as the live gate would
	BySubject   int               `json:"bySubject"` // of which only the recorded subjects could be judged
	Differences []*difference     `json:"differences"`
	Skipped     map[string]int    `json:"skipped"` // reason → how many could not be replayed
	known       map[string]replay // equal calls are judged once

	checker *checker
	worker  sides            // what the two files say
	agents  map[string]sides // and under each agent profile
}

// sides are the rules in force and the changed ones.
type sides struct{ before, after *permissions.Policy }

// difference is a call, made one or more times, that the changed rules judge differently.
type difference struct {
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

// replay is what both files say of one call. skip is why they cannot be asked.
type replay struct {
	skip              string
	before, after     permissions.Action
	beforeBy, afterBy string
	bySubject         bool
	reported          *difference
}

func newRulesSimulateCommand(s *settings) *cobra.Command {
	var changed, since string
	var limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "simulate --file CHANGED",
		Short: "Show which calls on record a changed rules file would judge differently",
		Long: `Simulate judges the calls in the audit trail twice, by the worker's file as it is now and by CHANGED, and
lists where the answers differ, with what was decided at the time. Nothing runs and nothing changes.

Both answers are of today: the configured mode and autonomy, the files and links that are there now. A call whose
arguments are not whole on record, because a secret was taken out or they were too long, or whose server is
not configured, is judged by the subjects that were recorded: by rules and grants alone. What cannot be
judged either way is counted with the reason.`,
		Example: `  cp ~/.local/share/callgate/workers/default/permissions.jsonc new.jsonc
  callgate rules simulate --file new.jsonc --since 168h`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if changed == "" {
				return errors.New("simulate needs --file, the changed rules")
			}
			if limit < 0 {
				return fmt.Errorf("--limit %d: use 0 for all, or a positive number", limit)
			}
			c, err := s.load()
			if err != nil {
				return err
			}
			filter := audit.Filter{}
			if filter.Since, err = parseSince(since, time.Now()); err != nil {
				return err
			}
			after, err := filePolicy(changed)
			if err != nil {
				return err
			}
			checker, err := newChecker(c)
			if err != nil {
				return err
			}
			before, err := checker.store.Policy()
			if err != nil {
				return err
			}
			sim, err := newSimulation(checker, before, after)
			if err != nil {
				return err
			}
			damaged := sim.run(filter, limit)
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), sim)
			} else {
				err = sim.print(cmd.OutOrStdout())
			}
			return errors.Join(err, damaged)
		},
	}
	cmd.Flags().StringVar(&changed, "file", "", "the changed rules `file`")
	cmd.Flags().StringVar(&since, "since", "", "only calls since then: 90m, 2026-11-20 or 2026-11-20T10:00:00Z")
	cmd.Flags().IntVar(&limit, "limit", 1000, "how many of the newest decisions; 0 is all")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// newSimulation compares two files under the agent profiles that there are now.
func newSimulation(ch *checker, before, after *permissions.Policy) (*simulation, error) {
	sim := &simulation{
		Differences: []*difference{}, Skipped: map[string]int{}, known: map[string]replay{},
		checker: ch, worker: sides{before, after}, agents: map[string]sides{},
	}
	profiles, err := ch.config.agents()
	if err != nil {
		return nil, err
	}
	for _, a := range profiles {
		var under sides
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

// run replays the newest decisions of the worker. The error names records that could not be read.
func (sim *simulation) run(filter audit.Filter, limit int) error {
	var damaged []error
	for r, err := range audit.Read(audit.Dir(sim.checker.config.DataDir), filter) {
		if err != nil {
			damaged = append(damaged, err)
			continue
		}
		if r.Event != audit.Decision || r.Worker != "" && r.Worker != sim.checker.config.Worker {
			continue
		}
		sim.add(&r)
		if sim.Decisions == limit {
			break
		}
	}
	slices.SortStableFunc(sim.Differences, func(a, b *difference) int {
		return cmp.Or(cmp.Compare(rank(b), rank(a)), cmp.Compare(b.Count, a.Count))
	})
	return errors.Join(damaged...)
}

// rank puts what would run and did not first, then what would be denied, then what would ask.
func rank(d *difference) int {
	return slices.Index([]string{"ask", "deny", "allow"}, d.After)
}

func (sim *simulation) add(r *audit.Record) {
	sim.Decisions++
	key := strings.Join([]string{r.Agent, r.Server, r.Tool, r.Digest}, "\x00")
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
			done.reported = &difference{
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

// print shows the simulation to a person.
func (sim *simulation) print(w io.Writer) error {
	var b strings.Builder
	calls := 0
	for _, d := range sim.Differences {
		calls += d.Count
	}
	fmt.Fprintf(&b, "%s on record, %d replayed", count(sim.Decisions, "decision"), sim.Replayed)
	if sim.BySubject > 0 {
		fmt.Fprintf(&b, " (%d by their subjects alone)", sim.BySubject)
	}
	fmt.Fprintf(&b, ": %d would differ\n", calls)
	for _, d := range sim.Differences {
		fmt.Fprintf(&b, "\n%s -> %s  %s  x%d\n  %s\n", strings.ToUpper(d.Before), strings.ToUpper(d.After), tools.Visible(d.Tool), d.Count, tools.Visible(shorten(d.Call, maxAuditField)))
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
