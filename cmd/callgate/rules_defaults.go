package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"callgate/internal/output"

	"github.com/adrg/xdg"
	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"callgate/internal/config"
	"callgate/permissions"
)

func newRulesDefaultsCommand(s *config.Settings) *cobra.Command {
	var show, apply bool
	cmd := &cobra.Command{
		Use:   "defaults --diff | --apply",
		Short: "Compare with the shipped rules, or merge them in",
		Long: `Defaults merges the rules that this callgate ships into your file. Shipped rules come first; your own follow and win,
in your order and with your comments. Rules from an earlier version's defaults are replaced, and grants stay. Only
--apply changes the file; it keeps a backup beside it.`,
		Example: `  callgate rules defaults --diff
  callgate rules defaults --apply`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if show == apply {
				return errors.New("say --diff to see what would change, or --apply to change it")
			}
			b, err := openRulebook(s, cmd.OutOrStdout())
			if err != nil {
				return err
			}
			base, err := b.store.Text()
			if err != nil {
				return err
			}
			merged, err := permissions.MergeDefaults(b.store.Path(), base, xdg.Home)
			switch {
			case err != nil:
				return err
			case bytes.Equal(base, merged):
				_, err := fmt.Fprintln(b.out, "your rules hold what this version ships")
				return err
			case show:
				output.Diff(b.out, diff.Diff(b.store.Path(), base, b.store.Path()+" (after)", merged))
				return nil
			}
			return b.merge(base, merged)
		},
	}
	cmd.Flags().BoolVar(&show, "diff", false, "show what would change")
	cmd.Flags().BoolVar(&apply, "apply", false, "change the file and keep a backup")
	return cmd
}

// merge puts the merged rules in the place of the old ones, of which it keeps a copy.
func (b *ruleFile) merge(base, merged []byte) error {
	return b.change(func() (string, error) {
		backup, err := keepBeside(b.store.Path(), base)
		if err != nil {
			return "", fmt.Errorf("the old rules could not be kept, so nothing was changed: %w", err)
		}
		if err := b.store.Replace(base, merged); err != nil {
			return "", err
		}
		_, err = fmt.Fprintf(b.out, "changed %s; the old rules are in %s\n", b.store.Path(), backup)
		return "shipped rules merged into the file", err
	})
}

// mergeDefaults merges the shipped rules into the worker's.
func mergeDefaults(s *config.Settings, out io.Writer) error {
	b, err := openRulebook(s, out)
	if err != nil {
		return err
	}
	base, err := b.store.Text()
	if err != nil {
		return err
	}
	merged, err := permissions.MergeDefaults(b.store.Path(), base, xdg.Home)
	if err != nil || bytes.Equal(base, merged) {
		return err
	}
	return b.merge(base, merged)
}

// keepBeside writes a copy of a file under a name that is free and returns that.
func keepBeside(path string, text []byte) (string, error) {
	backup := path + "." + time.Now().UTC().Format("20060102T150405Z") + ".bak"
	f, err := os.OpenFile(backup, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	return backup, errors.Join(err, f.Sync(), f.Close())
}
