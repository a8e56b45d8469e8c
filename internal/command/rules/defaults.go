package rules

import (
	"bytes"
	"errors"

	"github.com/spf13/cobra"

	"callgate/internal/config"
	"callgate/internal/output"
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
		Args: config.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if show == apply {
				return errors.New("use --diff to see what would change, or --apply to change it")
			}
			_, b, done, err := openFor(cmd, s)
			if err != nil {
				return err
			}
			defer done()
			if apply {
				return b.MergeDefaults()
			}
			base, merged, err := b.Shipped()
			switch {
			case err != nil:
				return err
			case bytes.Equal(base, merged):
				return b.Say("your file has all the rules that this version ships")
			}
			output.Diff(cmd.OutOrStdout(), base, merged)
			return nil
		},
	}
	cmd.Flags().BoolVar(&show, "diff", false, "show what would change")
	cmd.Flags().BoolVar(&apply, "apply", false, "change the file and keep a backup")
	return cmd
}
