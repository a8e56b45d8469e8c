package command

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"callgate/internal/app"
	"callgate/internal/config"
)

func versionLine() string {
	return fmt.Sprintf("callgate %s %s/%s %s\n", app.Version, runtime.GOOS, runtime.GOARCH, runtime.Version())
}

func printVersion(cmd *cobra.Command) error {
	_, err := fmt.Fprint(cmd.OutOrStdout(), versionLine())
	return err
}

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  config.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return printVersion(cmd) },
	}
}
