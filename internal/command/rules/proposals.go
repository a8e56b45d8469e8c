package rules

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"callgate/internal/app"
	"callgate/internal/output"
	"callgate/internal/rulebook"
	"callgate/internal/suggest"
	"callgate/permissions/store"
)

func (o *suggestion) showProposals(cmd *cobra.Command, book *rulebook.Book, checker *rulebook.Checker) error {
	report, damaged := suggest.Suggest(checker, o.Options)
	if report == nil {
		return damaged
	}
	if err := errors.Join(o.show(cmd, report), damaged); err != nil || len(report.Proposals) == 0 {
		return err
	}
	by := "cli:" + app.UserName()
	return o.change(cmd, book, report.Summary(), func(rules *store.Store) error {
		return rules.AddGrants(report.Grants(by, time.Now()))
	})
}

func (o *suggestion) showTightening(cmd *cobra.Command, book *rulebook.Book, checker *rulebook.Checker) error {
	found, damaged := suggest.Tighten(checker, time.Now().Add(-o.unused))
	if found == nil {
		return damaged
	}
	if err := errors.Join(o.show(cmd, found), damaged); err != nil || found.Summary() == "" {
		return err
	}
	return o.change(cmd, book, found.Summary(), found.Apply)
}

// show prints what was found.
func (o *suggestion) show(cmd *cobra.Command, found interface{ Print(io.Writer) error }) error {
	if o.asJSON {
		return output.JSON(cmd.OutOrStdout(), found)
	}
	return found.Print(cmd.OutOrStdout())
}

// change shows how an edit changes the rules file. With --apply, it makes the change. With --json, it prints nothing
// more on stdout.
func (o *suggestion) change(cmd *cobra.Command, book *rulebook.Book, summary string, edit func(*store.Store) error) error {
	if o.asJSON && !o.applies {
		return nil
	}
	base, text, err := book.Changed(edit)
	if err != nil || bytes.Equal(base, text) {
		return err
	}
	if o.asJSON {
		book.Out = cmd.ErrOrStderr()
	}
	if o.applies {
		return book.Install(base, text, summary)
	}
	if _, err := fmt.Fprintln(cmd.OutOrStdout(), "\nWith --apply the rules file changes so:"); err != nil {
		return err
	}
	output.Diff(cmd.OutOrStdout(), base, text)
	return nil
}
