package rules

import (
	"context"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"callgate/internal/config"
	"callgate/internal/keyboard"
	"callgate/internal/rulebook"
)

func newRulesEditCommand(s *config.Settings) *cobra.Command {
	return &cobra.Command{
		Use:   "edit",
		Short: "Edit the rules in your editor; they are checked before they apply",
		Long: `Edit opens a copy of the file in $VISUAL or $EDITOR. If your copy is valid, it replaces the file. Otherwise edit shows
the error with line and column and leaves the file as it is; on a terminal you can go on editing. Grants that are
given or revoked meanwhile are kept.`,
		Args: config.NoArgs,
		RunE: opened(s, func(cmd *cobra.Command, _ *config.Config, b *rulebook.Book, _ []string) error {
			e := rulebook.Edit{Book: b, Launch: rulebook.Launcher(cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())}
			if f, ok := cmd.InOrStdin().(*os.File); ok && term.IsTerminal(int(f.Fd())) {
				e.Answer = func(ctx context.Context) (string, error) {
					return keyboard.Line(ctx, f, keyboard.Echo(cmd.OutOrStdout()))
				}
			}
			return e.Run(cmd.Context())
		}),
	}
}
