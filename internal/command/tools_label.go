package command

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"callgate/internal/config"
	"callgate/internal/inventory"
	"callgate/internal/output"
)

func newLabelCommand(s *config.Settings, wait *time.Duration) *cobra.Command {
	return &cobra.Command{
		Use:   "label SERVER",
		Short: "Draft labels for the tools of a server that callgate does not know",
		Long: `Label starts the server and drafts labels from names, schemas and annotations: what each tool returns, what it does,
and which arguments name a destination. The draft has no effect until you correct it and put it into callgate.yaml
(docs/flow.md). Labelled tools are left out.`,
		Example: `  callgate tools label bank
  callgate tools label bank >> callgate.yaml   # then correct it`,
		Args: config.ArgsExactly(1),
		RunE: config.Loaded(s, func(cmd *cobra.Command, c *config.Config, args []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), *wait)
			defer cancel()
			list, err := inventory.Of(ctx, c, args[0])
			if err != nil {
				return err
			}
			return output.Draft(cmd.OutOrStdout(), args[0], list)
		}),
	}
}
