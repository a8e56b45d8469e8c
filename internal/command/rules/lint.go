package rules

import (
	"slices"

	"github.com/spf13/cobra"

	"callgate/gate/tools"
	"callgate/internal/command/exit"
	"callgate/internal/config"
	"callgate/internal/inventory"
	"callgate/internal/output"
	"callgate/internal/rulebook"
	"callgate/permissions/lint"
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
		Args: config.NoArgs,
		RunE: opened(s, func(cmd *cobra.Command, c *config.Config, b *rulebook.Book, _ []string) error {
			policy, err := rulebook.ReadPolicy(rulesFile)
			if policy == nil && err == nil {
				policy, err = b.Store.Policy()
			}
			if err != nil {
				return err
			}
			if flows {
				return lintFlow(cmd, c, asJSON)
			}
			servers, err := c.ServerNames()
			if err != nil {
				return err
			}
			options := lint.Options{Kinds: tools.Kinds(), Servers: servers}
			if live {
				if options.Tools, err = inventory.LintTools(cmd.Context(), c); err != nil {
					return err
				}
			}
			problems, err := lint.Rules(policy.File, options)
			if err != nil {
				return err
			}
			if asJSON {
				if problems == nil {
					problems = []lint.Problem{}
				}
				err = output.JSON(cmd.OutOrStdout(), map[string]any{"problems": problems})
			} else {
				err = output.Problems(cmd.OutOrStdout(), problems)
			}
			if err != nil {
				return err
			}
			if strict && slices.ContainsFunc(problems, func(p lint.Problem) bool { return p.Severity == lint.Warning }) {
				return exit.Code(1)
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&strict, "strict", false, "exit with 1 if there are warnings")
	cmd.Flags().BoolVar(&live, "live", false, "also start the configured servers and check their tools")
	cmd.Flags().BoolVar(&flows, "flow", false, "start the configured servers and show where untrusted text and private data can leave")
	cmd.Flags().StringVar(&rulesFile, "file", "", "check this rules `file` instead of the worker's")
	return cmd
}

func lintFlow(cmd *cobra.Command, c *config.Config, asJSON bool) error {
	found, err := inventory.Leaks(cmd.Context(), c)
	if err != nil {
		return err
	}
	if asJSON {
		return output.JSON(cmd.OutOrStdout(), found)
	}
	return found.Print(cmd.OutOrStdout())
}
