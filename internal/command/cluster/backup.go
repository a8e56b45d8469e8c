package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/app"
	"callgate/internal/config"
	"callgate/internal/durable"
)

func newBackupCommand(s *config.Settings) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write rules, freezes, credentials and pending approvals to a file",
		Long: `Backup writes the shared data of all replicas to a file and seals it with the cluster's key. Keep that key elsewhere. The
file leaves out decisions that no call has claimed yet, and the audit trail, which every replica has on its disk. Backup does
not replace a file without --force. If the cluster has something that cannot be read, the file has the rest, and the exit
status is 1.`,
		Example: `  callgate cluster backup gate.backup`,
		Args:    config.ArgsExactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := os.Lstat(args[0]); err == nil && !force {
				return fmt.Errorf("%s exists already: name another file, or replace it with --force", args[0])
			}
			_, one, err := look(cmd.Context(), s, false)
			if err != nil {
				return err
			}
			defer one.Close()
			var backup bytes.Buffer
			n, unread := one.Backup(&backup)
			if err := durable.Replace(args[0], backup.Bytes(), 0o600); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "wrote %d documents and approvals to %s\n", n, args[0])
			if unread != nil {
				return fmt.Errorf("the backup lacks what cannot be read: %w", unread)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace the file if there is one")
	return cmd
}

func newRestoreCommand(s *config.Settings) *cobra.Command {
	var replace, takes bool
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Put back what backup wrote",
		Long: `Restore adds from the file what the cluster lacks, and says first what changes. With --replace, the rules and freezes in
the file win, and a bucket that was deleted or rolled back, or has the wrong settings, is created again. Hosts have to
repeat the calls of restored approvals.

Credentials stay as they are, or as this replica has them if the cluster has lost them. With --credentials, those in the
file win: secrets that were rotated since work again, and people who were removed are back.`,
		Example: `  callgate cluster restore gate.backup
  callgate cluster restore --replace gate.backup`,
		Args: config.ArgsExactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if takes && !replace {
				return errors.New("--credentials needs --replace")
			}
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
			all, err := one.Compare(cmd.Context(), file)
			if err != nil {
				return err
			}
			said, o, err := app.Restoration(c, all, replace, takes)
			if err != nil {
				return err
			}
			for _, line := range said {
				fmt.Fprintln(cmd.OutOrStdout(), line)
			}
			if _, err := file.Seek(0, io.SeekStart); err != nil {
				return err
			}
			var restored, kept int
			err = app.Change(c, func() (string, error) {
				restored, kept, err = one.Restore(cmd.Context(), file, o)
				if restored == 0 {
					return "", err
				}
				return fmt.Sprintf("Cluster: restored %d documents and approvals from a backup. %s.", restored, strings.Join(said, ". ")), err
			})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "restored %d documents and approvals; %d stay as they were, or are over\n", restored, kept)
			return err
		},
	}
	cmd.Flags().BoolVar(&replace, "replace", false, "the file's rules and freezes win over the cluster's")
	cmd.Flags().BoolVar(&takes, "credentials", false, "with --replace: the file's credentials win too")
	return cmd
}
