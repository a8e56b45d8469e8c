package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"callgate/internal/app"
	"callgate/internal/checkpoint"
	"callgate/internal/config"
	"callgate/internal/output"
	"callgate/internal/report"
	"callgate/internal/suggest"
)

func newReportCommand(s *config.Settings) *cobra.Command {
	var (
		o              report.Options
		since, session string
		asHTML, asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Show why people were asked, and replay sessions",
		Long: `Report counts calls, questions, denials and marks, and says why there were so many questions: by project, host, rule and
command. It shows your answers and how long you took, which questions always got the same answer, and which grants would
end them.

--session replays one session as a timeline: calls, questions, answers, results, changed files with their differences, and
what was said in chats; each call has a case for "callgate rules test".

--html prints one page that loads nothing. Secrets are redacted, as in the audit trail.`,
		Example: `  callgate report --since 7d
  callgate report --since 7d --html > report.html
  callgate report --session s-ABCDEFGHIJKL --html > session.html`,
		Args: config.NoArgs,
		RunE: config.Loaded(s, func(cmd *cobra.Command, c *config.Config, _ []string) (err error) {
			if session != "" {
				return showSession(cmd, c, session, asHTML, asJSON)
			}
			if o.Since, err = config.ParseSince(since, time.Now()); err != nil {
				return err
			}
			if o.Project != "" {
				if o.Project, err = filepath.Abs(o.Project); err != nil {
					return err
				}
			}
			o.Worker = c.Worker
			made, damaged := report.Make(c.DataDir, o)
			checker, done, err := app.OpenChecker(cmd.Context(), c, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			defer done()
			if made.Suggested, err = suggest.Suggest(checker, suggest.Options{Since: o.Since, Project: o.Project, Host: o.Host}); made.Suggested == nil {
				return errors.Join(damaged, err)
			}
			switch {
			case asHTML:
				err = made.HTML(cmd.OutOrStdout())
			case asJSON:
				err = output.JSON(cmd.OutOrStdout(), made)
			default:
				err = made.Print(cmd.OutOrStdout())
			}
			return errors.Join(err, damaged)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&since, "since", "7d", "only since this time: 7d, 90m, 2026-11-20, \"2026-11-20 10:00\" or 2026-11-20T10:00:00Z")
	flags.StringVar(&o.Project, "project", "", "only calls of hosts in this `folder` or below it")
	flags.StringVar(&o.Host, "host", "", "only calls of the host with this `name`")
	flags.StringVar(&session, "session", "", "replay the session with this `id`")
	flags.BoolVar(&asHTML, "html", false, "print a page")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	cmd.MarkFlagsMutuallyExclusive("html", "json")
	return cmd
}

func showSession(cmd *cobra.Command, c *config.Config, id string, asHTML, asJSON bool) error {
	var files *report.Files
	if c.Checkpoints.Storage != config.CheckpointsInMemory {
		c.Checkpoints.Storage = "disk"
		store, err := c.OpenCheckpoints(nil)
		if err != nil {
			fmt.Fprintln(os.Stderr, "callgate: changed files are left out:", err)
		} else {
			defer store.Close()
			files = &report.Files{Store: store, Hidden: func(one *checkpoint.Checkpoint) func(string) bool { return config.Hidden(c, nil, one) }}
		}
	}
	replayed, err := report.Replay(c.DataDir, id, files)
	if replayed == nil {
		return err
	}
	var shown error
	switch {
	case asHTML:
		shown = replayed.HTML(cmd.OutOrStdout())
	case asJSON:
		shown = output.JSON(cmd.OutOrStdout(), replayed)
	default:
		shown = replayed.Print(cmd.OutOrStdout())
	}
	return errors.Join(shown, err)
}
