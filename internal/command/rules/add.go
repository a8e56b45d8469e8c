package rules

import (
	"fmt"

	"github.com/spf13/cobra"

	"callgate/internal/config"
	"callgate/internal/rulebook"
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
			c, b, done, err := openFor(cmd, s)
			if err != nil {
				return err
			}
			defer done()
			if err := config.Misspelled(c, args[0]); err != nil {
				return err
			}
			return b.Add(args[0], args[1], action, first)
		},
	}
	cmd.Flags().BoolVar(&first, "first", false, "put it before the tool's other rules, which then win")
	return cmd
}

func newRulesRemoveCommand(s *config.Settings) *cobra.Command {
	return &cobra.Command{
		Use:   "remove TOOL [PATTERN]",
		Short: "Remove a rule, or all rules of a tool",
		Long:  `Remove removes the rule with this tool and pattern, as "callgate rules list" shows them, or all rules of the tool.`,
		Example: `  callgate rules remove shell_exec 'git push *'
  callgate rules remove 'github_*'`,
		Args: config.ArgsBetween(1, 2),
		RunE: opened(s, func(cmd *cobra.Command, _ *config.Config, b *rulebook.Book, args []string) error {
			pattern := ""
			if len(args) == 2 {
				pattern = args[1]
				if pattern == "" {
					return fmt.Errorf("the pattern is empty: leave it out to remove all rules of %s", args[0])
				}
			}
			return b.Remove(args[0], pattern)
		}),
	}
}
