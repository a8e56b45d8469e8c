package cluster

import (
	"fmt"

	"github.com/spf13/cobra"

	"callgate/internal/app"
	"callgate/internal/cluster"
	"callgate/internal/config"
)

func newRenewCommand(s *config.Settings) *cobra.Command {
	return &cobra.Command{
		Use:   "renew",
		Short: "Replace the trail's stream if an older callgate made one that only grows",
		Long: `Renew replaces the stream of the audit trail if an older callgate made it, because NATS cannot delete from such a stream.
The new stream takes all records, which needs as much room on the disk again. Then the old one is deleted. Meanwhile
replicas keep new records on their own disks. Upgrade every replica first. If renew is cut off, run it again.`,
		Example: `  callgate cluster renew`,
		Args:    config.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, one, err := look(cmd.Context(), s, false)
			if err != nil {
				return err
			}
			defer one.Close()
			var messages uint64
			var renewed bool
			err = app.Change(c, func() (string, error) {
				if messages, renewed, err = cluster.RenewTrail(cmd.Context(), one); !renewed {
					return "", err
				}
				return fmt.Sprintf("Cluster: recreated the stream of the audit trail, with %d messages.", messages), err
			})
			if err != nil {
				return err
			}
			if !renewed {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), "there is nothing to renew")
			} else {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "the new stream has all %d messages of the old one\n", messages)
			}
			return err
		},
	}
}
