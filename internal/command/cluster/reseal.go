package cluster

import (
	"fmt"

	"github.com/spf13/cobra"

	"callgate/internal/app"
	"callgate/internal/config"
)

func newResealCommand(s *config.Settings) *cobra.Command {
	return &cobra.Command{
		Use:   "reseal",
		Short: "Seal everything with the newest secret of the key, so that older ones can be dropped",
		Long: `Reseal seals rules, freezes, credentials, approvals and documents with the first secret in the file of cluster.key. To
rotate the key:

  1. Add the new secret as the last line of every replica's file, and restart them one after another.
  2. Move it to the first line, and restart them again.
  3. Run callgate cluster reseal. Then drop the old secret.

Keep the old secret for callgate audit verify --cluster: the trail stays as it was written.`,
		Example: `  callgate cluster reseal`,
		Args:    config.ArgsExactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, one, err := look(cmd.Context(), s, false)
			if err != nil {
				return err
			}
			defer one.Close()
			n := 0
			err = app.Change(c, func() (string, error) {
				if n, err = one.Reseal(cmd.Context()); n == 0 {
					return "", err
				}
				return fmt.Sprintf("Cluster: sealed %d values with the newest secret.", n), err
			})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "sealed %d values with the newest secret\n", n)
			return err
		},
	}
}
