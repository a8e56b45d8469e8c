package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"callgate/internal/output"

	"github.com/spf13/cobra"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/config"
	"callgate/internal/rulebook"
	"callgate/permissions"
	"callgate/proxy"
)

func newRulesLintCommand(s *config.Settings) *cobra.Command {
	var asJSON, strict, live, flows bool
	var rulesFile string
	cmd := &cobra.Command{
		Use:   "lint",
		Short: "Find rules that do not do what they seem to do",
		Long: `Lint finds rules that never match or never decide, denies that a later rule lifts, patterns that cover more or less
than they seem to, and rules that let interpreters run any code. Each finding says why, and what to do.

--live also starts the configured servers and checks their tools: rules for tools that no server has, and allows that
have no effect because the kind is a guess.

--flow starts them and shows which tools bring untrusted text and private data into a session, and where data can
then leave without a question.

--strict exits with 1 if there are warnings.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := openRulebook(s, cmd.OutOrStdout())
			if err != nil {
				return err
			}
			policy, err := filePolicy(rulesFile)
			if policy == nil && err == nil {
				policy, err = b.store.Policy()
			}
			if err != nil {
				return err
			}
			if flows {
				return lintFlow(cmd.Context(), b, asJSON)
			}
			options := permissions.LintOptions{Kinds: tools.Kinds()}
			if live {
				if options.Tools, err = liveTools(cmd.Context(), b.config); err != nil {
					return err
				}
			}
			problems, err := permissions.Lint(policy.File, options)
			if err != nil {
				return err
			}
			if asJSON {
				if problems == nil {
					problems = []permissions.Problem{}
				}
				err = output.JSON(b.out, map[string]any{"problems": problems})
			} else {
				err = output.Problems(b.out, problems)
			}
			if err != nil {
				return err
			}
			if strict && slices.ContainsFunc(problems, func(p permissions.Problem) bool { return p.Severity == permissions.Warning }) {
				return exitCode(1)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&strict, "strict", false, "exit with 1 if there are warnings")
	cmd.Flags().BoolVar(&live, "live", false, "also start the configured servers and check their tools")
	cmd.Flags().BoolVar(&flows, "flow", false, "start the configured servers and show where untrusted text and private data can leave")
	cmd.Flags().StringVar(&rulesFile, "file", "", "check this rules `file` instead of the worker's")
	return cmd
}

// liveWait is how long a server may take to start.
const liveWait = time.Minute

// liveTools lists the tools of all servers. Each of them has to answer: a rule for a server that is down would
// look like one for no tool at all.
func liveTools(ctx context.Context, c *config.Config) ([]permissions.LintTool, error) {
	servers, err := c.ProxyServers()
	if err != nil {
		return nil, err
	}
	checker, err := newChecker(c)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, liveWait)
	defer cancel()
	rows, _, failures := listTools(ctx, c, checker, servers)
	var down []error
	for _, name := range slices.Sorted(maps.Keys(failures)) {
		down = append(down, fmt.Errorf("server %s: %s", name, failures[name]))
	}
	if len(down) > 0 {
		return nil, errors.Join(down...)
	}
	var list []permissions.LintTool
	for _, r := range rows {
		list = append(list, permissions.LintTool{Name: r.Tool, Kind: r.Kind, Bound: r.Bound})
	}
	for _, name := range tools.Own() { // rules for them are in every new file
		list = append(list, permissions.LintTool{Name: proxy.OwnName + "_" + name})
	}
	return list, nil
}

// lintFlow says which tools are the three parts of an exfiltration with these servers and rules.
func lintFlow(ctx context.Context, b *ruleFile, asJSON bool) error {
	servers, err := b.config.ProxyServers()
	if err != nil {
		return err
	}
	checker, err := newChecker(b.config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, liveWait)
	defer cancel()
	rows, _, failures := listTools(ctx, b.config, checker, servers)
	for name, why := range failures {
		return fmt.Errorf("server %s: %s", name, why)
	}
	list := make([]rulebook.LabeledTool, 0, len(rows))
	for _, r := range rows {
		runs := r.Verdict == permissions.Allow.String() || r.Verdict == "by risk" && b.config.AutonomyLevel == gate.FullAuto
		list = append(list, rulebook.LabeledTool{Name: r.Tool, Kind: r.Kind, Labels: r.Labels, Runs: runs})
	}
	found := rulebook.FindLeaks(list, !b.config.NoFlow && !b.config.GateOff)
	if asJSON {
		return output.JSON(b.out, found)
	}
	return found.Print(b.out)
}
