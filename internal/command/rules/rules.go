// Package rules implements `callgate rules`: flags and printing around internal/rulebook.
package rules

import (
	"io"

	"github.com/adrg/xdg"
	"github.com/spf13/cobra"

	"callgate/internal/app"
	"callgate/internal/config"
	"callgate/internal/rulebook"
	"callgate/permissions/store"
)

func NewCommand(s *config.Settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "List, change and test rules and grants",
		Long: `Rules works on the worker's permissions.jsonc. Every change is checked first, keeps comments and order, is on record,
and applies to the next call, also in running callgates.`,
		Example: `  callgate rules list
  callgate rules add shell_exec 'git push *' confirm
  callgate rules test
  callgate rules simulate --file new.jsonc --since 168h`,
		Args: config.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newRulesListCommand(s), newRulesRevokeCommand(s), newRulesAddCommand(s), newRulesRemoveCommand(s),
		newRulesEditCommand(s), newRulesTestCommand(s), newRulesSimulateCommand(s), newRulesSuggestCommand(s), newRulesLintCommand(s), newRulesDefaultsCommand(s),
		newRulesExportCommand(s), newRulesImportCommand(s), newRulesPushCommand(s), newRulesPullCommand(s), newRulesDiffCommand(s),
	)
	return cmd
}

// Open opens the worker's rules file; what a command does with it goes to out.
func Open(s *config.Settings, out io.Writer) (*config.Config, *rulebook.Book, error) {
	c, err := s.Load()
	if err != nil {
		return nil, nil, err
	}
	rules := store.Open(c.Files().Permissions(), store.Options{Home: xdg.Home})
	record := func(apply func() (string, error)) error { return app.Change(c, apply) }
	return c, &rulebook.Book{Store: rules, Out: out, Record: record}, nil
}
