// Package rules implements `callgate rules`: flags and printing around internal/rulebook.
package rules

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"callgate/internal/app"
	"callgate/internal/config"
	"callgate/internal/rulebook"
)

func NewCommand(s *config.Settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "List, change and test rules and grants",
		Long: `Rules reads and changes the worker's permissions.jsonc. Each change is checked and recorded, keeps comments and
order, and applies to the next call, even in running callgates. In a cluster, these commands read and change the rules
of all replicas; one replica must be running.`,
		Example: `  callgate rules list
  callgate rules add shell_exec 'git push *' confirm
  callgate rules test
  callgate rules simulate --file new.jsonc --since 168h`,
		Args: config.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().AddFlagSet(s.Shared)
	cmd.AddCommand(
		newRulesListCommand(s), newRulesRevokeCommand(s), newRulesAddCommand(s), newRulesRemoveCommand(s),
		newRulesEditCommand(s), newRulesTestCommand(s), newRulesSimulateCommand(s), newRulesSuggestCommand(s), newRulesLintCommand(s), newRulesDefaultsCommand(s),
		newRulesExportCommand(s), newRulesImportCommand(s), newRulesPushCommand(s), newRulesPullCommand(s), newRulesDiffCommand(s),
	)
	return cmd
}

// opened returns the function of a command that needs the rules.
func opened(s *config.Settings, run func(*cobra.Command, *config.Config, *rulebook.Book, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, b, done, err := openFor(cmd, s)
		if err != nil {
			return err
		}
		defer done()
		return run(cmd, c, b, args)
	}
}

// openFor does what Open does, with the streams of a command.
func openFor(cmd *cobra.Command, s *config.Settings) (*config.Config, *rulebook.Book, func(), error) {
	return Open(cmd.Context(), s, cmd.OutOrStdout(), cmd.ErrOrStderr())
}

// Open opens the rules that apply to the worker: the file's or the cluster's. What commands print about the rules goes
// to out. The caller MUST call done.
func Open(ctx context.Context, s *config.Settings, out, warn io.Writer) (c *config.Config, b *rulebook.Book, done func(), err error) {
	if c, err = s.Load(); err != nil {
		return nil, nil, nil, err
	}
	rules, done, err := app.OpenRules(ctx, c, warn)
	if err != nil {
		return nil, nil, nil, err
	}
	record := func(apply func() (string, error)) error { return app.Change(c, apply) }
	return c, &rulebook.Book{Store: rules, Out: out, Record: record}, done, nil
}
