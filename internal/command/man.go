package command

import (
	"github.com/spf13/cobra"

	"callgate/internal/app"
	"callgate/internal/config"
	"callgate/internal/manual"
)

func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "man FOLDER",
		Short:   "Write the manual pages",
		Long:    `Man writes a manual page for callgate and for each of its commands, with the texts of --help.`,
		Example: "  callgate man ~/.local/share/man/man1",
		Args:    config.ArgsExactly(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return manual.Write(args[0], cmd.Root(), app.Version) },
	}
}
