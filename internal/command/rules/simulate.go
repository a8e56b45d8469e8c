package rules

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"callgate/audit"
	"callgate/internal/app"
	"callgate/internal/config"
	"callgate/internal/output"
	"callgate/internal/rulebook"
)

func newRulesSimulateCommand(s *config.Settings) *cobra.Command {
	var changed, since string
	var limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "simulate --file CHANGED",
		Short: "Show which recorded calls a changed rules file would decide differently",
		Long: `Simulate judges the calls in the audit trail by the worker's file and by CHANGED, and lists the calls that they decide
differently, with the decision at the time. Nothing runs and nothing changes.

Mode, autonomy, files and links are today's. If a call's arguments are incomplete on record (redacted or too long), or
its server is not configured, rules and grants alone judge its recorded paths and commands. Calls that cannot be
judged are counted with the reason.`,
		Example: `  cp ~/.local/share/callgate/workers/default/permissions.jsonc new.jsonc
  callgate rules simulate --file new.jsonc --since 168h`,
		Args: config.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if changed == "" {
				return errors.New("simulate needs --file, the changed rules")
			}
			if limit < 0 {
				return fmt.Errorf("--limit %d: use 0 for all, or a positive number", limit)
			}
			c, err := s.Load()
			if err != nil {
				return err
			}
			filter := audit.Filter{}
			if filter.Since, err = config.ParseSince(since, time.Now()); err != nil {
				return err
			}
			after, err := rulebook.ReadPolicy(changed)
			if err != nil {
				return err
			}
			checker, done, err := app.OpenChecker(cmd.Context(), c, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			defer done()
			before, err := checker.Store.Policy()
			if err != nil {
				return err
			}
			sim, err := rulebook.Simulate(checker, before, after)
			if err != nil {
				return err
			}
			damaged := sim.Run(filter, limit)
			if asJSON {
				err = output.JSON(cmd.OutOrStdout(), sim)
			} else {
				err = sim.Print(cmd.OutOrStdout())
			}
			fmt.Fprint(cmd.ErrOrStderr(), config.HintConnected(c, os.Args[1:]))
			return errors.Join(err, damaged)
		},
	}
	cmd.Flags().StringVar(&changed, "file", "", "the changed rules `file`")
	cmd.Flags().StringVar(&since, "since", "", "only calls since this time: 90m, 2026-11-20, \"2026-11-20 10:00\" or 2026-11-20T10:00:00Z")
	cmd.Flags().IntVar(&limit, "limit", 1000, "how many of the newest decisions; 0 is all")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
