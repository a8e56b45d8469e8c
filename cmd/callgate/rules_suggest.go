package main

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"callgate/internal/app"
	"callgate/internal/config"
	"callgate/internal/output"
	"callgate/internal/rulebook"
	"callgate/internal/suggest"
	"callgate/permissions"
)

func newRulesSuggestCommand(s *config.Settings) *cobra.Command {
	var o suggest.Options
	var since string
	var asJSON, apply bool
	cmd := &cobra.Command{
		Use:   "suggest",
		Short: "Propose the fewest grants that would have answered your approvals",
		Long: `Suggest looks in the audit trail for what you approved, and proposes at most twelve grants for each project: those that
would have saved most questions, after what they open. A grant holds in its project, up to the highest risk that you
approved. It would let no call run that you rejected, and no case of a corpus of commands that get around rules.
Marked, DESTRUCTIVE and UNKNOWN calls, and those that touch credentials, count for no proposal.

Nothing changes without --apply, which keeps a backup and is on record.`,
		Example: `  callgate rules suggest --since 168h
  callgate rules suggest --project . --apply`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Newest < 0 {
				return fmt.Errorf("--limit %d: use 0 for all, or a positive number", o.Newest)
			}
			var err error
			if o.Since, err = parseSince(since, time.Now()); err != nil {
				return err
			}
			if o.Project != "" {
				if o.Project, err = filepath.Abs(o.Project); err != nil {
					return err
				}
			}
			c, book, err := openRulebook(s, cmd.OutOrStdout())
			if err != nil {
				return err
			}
			checker, err := app.NewChecker(c)
			if err != nil {
				return err
			}
			report, damaged := suggest.Suggest(checker, o)
			if report == nil {
				return damaged
			}
			if asJSON {
				err = output.JSON(cmd.OutOrStdout(), report)
			} else {
				err = report.Print(cmd.OutOrStdout())
			}
			if err = errors.Join(err, damaged); err != nil || len(report.Proposals) == 0 || asJSON && !apply {
				return err
			}
			by := "cli:" + app.UserName()
			return changeRules(cmd, book, apply, report.Summary(), func(store *permissions.Store) error {
				return store.AddGrants(report.Grants(by, time.Now()))
			})
		},
	}
	cmd.Flags().StringVar(&since, "since", "", "only calls since then: 90m, 2026-11-20 or 2026-11-20T10:00:00Z")
	cmd.Flags().IntVar(&o.Newest, "limit", 0, "how many of the newest decisions; 0 is all")
	cmd.Flags().StringVar(&o.Project, "project", "", "only calls of hosts in this `folder` or below it")
	cmd.Flags().StringVar(&o.Host, "host", "", "only calls of the host with this `name`")
	cmd.Flags().StringVar(&o.Tool, "tool", "", "only calls of tools that match this `glob`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&apply, "apply", false, "add the grants and keep a backup")
	return cmd
}

// changeRules shows what an edit makes of the rules file, or with apply makes it so.
func changeRules(cmd *cobra.Command, book *rulebook.Book, apply bool, summary string, edit func(*permissions.Store) error) error {
	base, text, err := book.Changed(edit)
	switch {
	case err != nil:
		return err
	case bytes.Equal(base, text):
		return nil
	case apply:
		return book.Install(base, text, summary)
	}
	if _, err := fmt.Fprintln(cmd.OutOrStdout(), "\nWith --apply the rules file changes so:"); err != nil {
		return err
	}
	output.Diff(cmd.OutOrStdout(), diff.Diff(book.Store.Path(), base, book.Store.Path()+" (after)", text))
	return nil
}
