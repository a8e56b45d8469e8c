package cluster

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"callgate/internal/app"
	"callgate/internal/config"
	"callgate/internal/durable"
)

func newBackupCommand(s *config.Settings) *cobra.Command {
	return &cobra.Command{
		Use:   "backup FILE",
		Short: "Write rules, freezes, credentials and pending approvals to a file",
		Long: `Backup writes the shared data of all replicas to a file and seals it with the cluster's key. Keep that key elsewhere. The
file leaves out decisions that no call has claimed yet, and the audit trail, which every replica has on its disk.`,
		Example: `  callgate cluster backup gate.backup`,
		Args:    config.ArgsExactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, one, err := look(cmd.Context(), s, false)
			if err != nil {
				return err
			}
			defer one.Close()
			temporary := args[0] + durable.Temporary
			file, err := os.OpenFile(temporary, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
			if err != nil {
				return err
			}
			n, err := one.Backup(file)
			err = errors.Join(err, file.Sync(), file.Close())
			if err == nil {
				err = os.Rename(temporary, args[0])
			}
			if err != nil {
				return errors.Join(err, os.Remove(temporary))
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "wrote %d keys to %s\n", n, args[0])
			return err
		},
	}
}

func newRestoreCommand(s *config.Settings) *cobra.Command {
	var replace bool
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Put back what backup wrote",
		Long: `Restore adds from the file what the cluster lacks. With --replace, the rules, freezes and credentials in the file win, and
a bucket that was deleted or rolled back, or has the wrong settings, is created again. Hosts have to
repeat the calls of restored approvals.`,
		Example: `  callgate cluster restore gate.backup
  callgate cluster restore --replace gate.backup`,
		Args: config.ArgsExactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer file.Close()
			c, one, err := look(cmd.Context(), s, replace)
			if err != nil {
				return err
			}
			defer one.Close()
			var restored, kept int
			err = app.Change(c, func() (string, error) {
				restored, kept, err = one.Restore(cmd.Context(), file, replace)
				if restored == 0 {
					return "", err
				}
				return fmt.Sprintf("Cluster: restored %d keys from a backup.", restored), err
			})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "restored %d keys; %d were there already, or are over\n", restored, kept)
			return err
		},
	}
	cmd.Flags().BoolVar(&replace, "replace", false, "the file's rules, freezes and credentials win over the cluster's")
	return cmd
}
