package rules

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"callgate/internal/app"
	"callgate/internal/config"
	"callgate/internal/suggest"
)

// suggestion holds the flags of `rules suggest`.
type suggestion struct {
	suggest.Options
	since           string
	unused          time.Duration
	tighten         bool
	asJSON, applies bool
}

func newRulesSuggestCommand(s *config.Settings) *cobra.Command {
	var o suggestion
	cmd := &cobra.Command{
		Use:   "suggest",
		Short: "Propose grants that would have answered your approvals, or rules that can go",
		Long: `Suggest looks in the audit trail for calls that you approved. For each project it proposes at most twelve grants that
would have saved the most questions. A grant applies in its project, up to the highest risk that you approved. No
proposal would run a call that you rejected, nor any of a list of known commands that get around rules. Suggest ignores
calls that were marked, DESTRUCTIVE or UNKNOWN, or that touched credentials.

--tighten finds rules and grants that can go: allows and grants that nobody used, grants that a rule covers, and rules that
no call can reach. It also shows denies that fired, and an autonomy level that is higher than you need.

Nothing changes without --apply, which keeps a backup and is recorded.`,
		Example: `  callgate rules suggest --since 168h
  callgate rules suggest --project . --apply
  callgate rules suggest --tighten --unused 2160h`,
		Args: config.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(cmd); err != nil {
				return err
			}
			c, book, done, err := openFor(cmd, s)
			if err != nil {
				return err
			}
			defer done()
			checker, err := app.NewChecker(c, book.Store)
			if err != nil {
				return err
			}
			if o.tighten {
				return o.showTightening(cmd, book, checker)
			}
			defer fmt.Fprint(cmd.ErrOrStderr(), config.HintConnected(c, os.Args[1:]))
			return o.showProposals(cmd, book, checker)
		},
	}
	cmd.Flags().StringVar(&o.since, "since", "", "only calls since this time: 90m, 2026-11-20, \"2026-11-20 10:00\" or 2026-11-20T10:00:00Z")
	cmd.Flags().IntVar(&o.Newest, "limit", 0, "how many of the newest decisions; 0 is all")
	cmd.Flags().StringVar(&o.Project, "project", "", "only calls of hosts in this `folder` or below it")
	cmd.Flags().StringVar(&o.Host, "host", "", "only calls of the host with this `name`")
	cmd.Flags().StringVar(&o.Tool, "tool", "", "only calls of tools that match this `glob`")
	cmd.Flags().BoolVar(&o.tighten, "tighten", false, "propose rules and grants that can go")
	cmd.Flags().DurationVar(&o.unused, "unused", 30*24*time.Hour, "with --tighten: how long something has to be unused")
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&o.applies, "apply", false, "change the rules file and keep a backup")
	return cmd
}

// check checks the flags, and parses those that need it.
func (o *suggestion) check(cmd *cobra.Command) (err error) {
	if o.Newest < 0 {
		return fmt.Errorf("--limit %d: use 0 for all, or a positive number", o.Newest)
	}
	if o.unused <= 0 {
		return fmt.Errorf("--unused %s: use a positive duration such as 720h", o.unused)
	}
	for _, other := range []string{"since", "limit", "project", "host", "tool"} {
		if o.tighten && cmd.Flags().Changed(other) {
			return fmt.Errorf("--%s is for proposals; with --tighten, --unused says how far to look back", other)
		}
	}
	if o.Since, err = config.ParseSince(o.since, time.Now()); err != nil || o.Project == "" {
		return err
	}
	o.Project, err = filepath.Abs(o.Project)
	return err
}
