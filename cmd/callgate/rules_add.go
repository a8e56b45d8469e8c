package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"callgate/gate/tools"
	"callgate/internal/config"
	"callgate/internal/visible"
	"callgate/permissions"
)

func newRulesAddCommand(s *config.Settings) *cobra.Command {
	var first bool
	cmd := &cobra.Command{
		Use:   "add TOOL PATTERN ACTION",
		Short: "Add a rule, and show which others it overrides",
		Long: `Add puts a rule after the other rules of its tool, or last if the tool has none. The last rule that matches wins. With
--first the rule comes before the tool's others, which then win. TOOL is a kind or a glob over tool names. PATTERN is
a glob over values or "arg=glob"; "*" is any value. ACTION is allow, ask, confirm or deny. Add refuses a rule that
could never decide anything.`,
		Example: `  callgate rules add shell_exec 'git push *' confirm
  callgate rules add 'github_*' '*' ask --first`,
		Args: config.ArgsExactly(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			action, err := permissions.ParseAction(args[2])
			if err != nil {
				return err
			}
			b, err := openRulebook(s, cmd.OutOrStdout())
			if err != nil {
				return err
			}
			if err := b.config.Misspelled(args[0]); err != nil {
				return err
			}
			return b.change(func() (string, error) { return b.add(args[0], args[1], action, first) })
		},
	}
	cmd.Flags().BoolVar(&first, "first", false, "put it before the tool's other rules, which then win")
	return cmd
}

func (b *ruleFile) add(tool, pattern string, action permissions.Action, first bool) (string, error) {
	placed, err := b.store.AddRule(tool, pattern, action, first)
	if err != nil {
		return "", err
	}
	summary := fmt.Sprintf("Added the rule %s.", &placed.Rule)
	lines := []string{"added " + placed.Rule.String()}
	for _, o := range []struct {
		what  string
		rules []permissions.Rule
	}{
		{"leaves nothing to decide to", placed.Shadows},
		{"wins, where both match, over", placed.Limits},
		{"loses, where both match, to", placed.Yields},
	} {
		for i := range o.rules {
			lines = append(lines, fmt.Sprintf("  %s %s", o.what, &o.rules[i]))
		}
	}
	doubts, err := b.doubts(&placed.Rule)
	if err != nil {
		return summary, err
	}
	for _, line := range append(lines, doubts...) {
		if err := b.say("%s", line); err != nil {
			return summary, err
		}
	}
	return summary, nil
}

// doubts are what lint says of one rule of the file as it is now.
func (b *ruleFile) doubts(r *permissions.Rule) (lines []string, err error) {
	policy, err := b.store.Policy()
	if err != nil {
		return nil, err
	}
	problems, err := permissions.Lint(policy.File, permissions.LintOptions{Kinds: tools.Kinds()})
	if err != nil {
		return nil, err
	}
	for _, p := range problems {
		if p.Rule == r.String() {
			lines = append(lines, fmt.Sprintf("  %s: %s %s", p.Severity, p.Why, p.Cure))
		}
	}
	return lines, nil
}

func newRulesRemoveCommand(s *config.Settings) *cobra.Command {
	return &cobra.Command{
		Use:   "remove TOOL [PATTERN]",
		Short: "Remove a rule, or all rules of a tool",
		Long:  `Remove removes the rule with this tool and pattern, as "callgate rules list" shows them, or all rules of the tool.`,
		Example: `  callgate rules remove shell_exec 'git push *'
  callgate rules remove 'github_*'`,
		Args: config.ArgsBetween(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := openRulebook(s, cmd.OutOrStdout())
			if err != nil {
				return err
			}
			pattern := ""
			if len(args) == 2 {
				pattern = args[1]
				if pattern == "" {
					return fmt.Errorf("the pattern is empty: leave it out to remove all rules of %s", args[0])
				}
			}
			return b.change(func() (string, error) { return b.remove(args[0], pattern) })
		},
	}
}

func (b *ruleFile) remove(tool, pattern string) (string, error) {
	removed, err := b.store.RemoveRules(tool, pattern)
	if err != nil {
		return "", err
	}
	summary := fmt.Sprintf("Removed %s: %s.", visible.Count(len(removed), "rule"), oneLine(removed))
	for i := range removed {
		if err := b.say("removed %s", &removed[i]); err != nil {
			return summary, err
		}
	}
	return summary, nil
}
