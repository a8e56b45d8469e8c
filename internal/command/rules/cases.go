package rules

import (
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"callgate/internal/app"
	"callgate/internal/command/exit"
	"callgate/internal/config"
	"callgate/internal/rulebook"
)

func newRulesTestCommand(s *config.Settings) *cobra.Command {
	var rulesFile, junit string
	cmd := &cobra.Command{
		Use:   "test [FILE]",
		Short: "Test the rules with your own cases",
		Long: `Test judges the calls in FILE exactly as the gate would, and compares. FILE defaults to permissions.test.jsonc beside
the rules:

  [
    { "name": "pushes wait for a person",
      "call": { "tool": "shell_exec", "arguments": "git push" }, "want": "ask" },
    { "call": { "tool": "read_file", "arguments": { "path": ".env" }, "cwd": "/src/app" }, "want": "deny" }
  ]

"want" is allow, deny or ask. A call can have "cwd", "autonomy" and "mode". The exit code is 1 if a case fails.
--junit also writes the results for CI systems.`,
		Example: `  callgate rules test
  callgate rules test --file ci/permissions.jsonc --junit results.xml ci/permissions.test.jsonc`,
		Args: config.ArgsBetween(0, 1),
		RunE: config.Loaded(s, func(cmd *cobra.Command, c *config.Config, args []string) error {
			path := filepath.Join(filepath.Dir(c.Files().Permissions()), "permissions.test.jsonc")
			if len(args) == 1 {
				path = args[0]
			}
			cases, err := rulebook.ReadCases(path)
			if err != nil {
				return err
			}
			policy, err := rulebook.ReadPolicy(rulesFile)
			if err != nil {
				return err
			}
			checker, done, err := app.OpenChecker(cmd.Context(), c, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			defer done()
			if policy == nil { // with unreadable rules, every case that wants a denial would pass
				if _, err := checker.Policy(); err != nil {
					return err
				}
			}
			checker.CacheDir = "" // so that a test has the same result on every machine
			results := rulebook.RunCases(checker, policy, cases)
			failed, err := rulebook.PrintResults(cmd.OutOrStdout(), results)
			if junit != "" {
				err = errors.Join(err, rulebook.WriteJUnit(junit, results))
			}
			if err == nil && failed > 0 {
				err = exit.Code(1)
			}
			return err
		}),
	}
	cmd.Flags().StringVar(&rulesFile, "file", "", "test this rules `file` instead of the worker's")
	cmd.Flags().StringVar(&junit, "junit", "", "also write the results to this `file` as JUnit XML")
	return cmd
}
