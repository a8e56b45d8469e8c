package command

import (
	"github.com/spf13/cobra"

	"callgate/examples"
	"callgate/internal/config"
)

func newConfigCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print an example configuration",
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "example",
		Short: "Print a callgate.yaml that explains every key",
		Long:  "Example prints a callgate.yaml with every key, what it means and its default. Uncomment what you need.",
		Example: `  mkdir -p ~/.config/callgate
  callgate config example > ~/.config/callgate/callgate.yaml`,
		Args: config.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(examples.Config)
			return err
		},
	})
	return cmd
}
