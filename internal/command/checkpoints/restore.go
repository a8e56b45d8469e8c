package checkpoints

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"callgate/audit"
	"callgate/gate/tools"
	"callgate/internal/app"
	"callgate/internal/app/backend"
	"callgate/internal/checkpoint"
	"callgate/internal/command/exit"
	"callgate/internal/config"
	"callgate/internal/output"
)

func newCheckpointsRestoreCommand(s *config.Settings) *cobra.Command {
	var asJSON bool
	var paths []string
	o := checkpoint.RestoreOptions{}
	cmd := &cobra.Command{
		Use:   "restore ID",
		Short: "Restore files from a checkpoint",
		Long: `Restore restores every file of the checkpoint, or those that --path names. If one of them changed since the call, it
restores nothing, unless you pass --force. It snapshots the current files first: restore that checkpoint to undo.

A server that was killed while it wrote may have left a temporary file. Restore names these files;
--remove-stray removes them.

Rules do not limit your restores. callgate's own files are never restored, and links are never followed.`,
		Example: `  callgate checkpoints restore ck_4nq2
  callgate checkpoints restore ck_4nq2 --path src/auth.ts --force`,
		Args: config.ArgsExactly(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			c, store, err := checkpointsOf(s)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, store.Close()) }()
			one, err := store.Get(args[0])
			if err != nil {
				return err
			}
			if o.Paths, err = realPathsOf(paths); err != nil {
				return err
			}
			by := "cli:" + app.UserName()
			if err := recordRestore(c, &one, by, o.Force); err != nil {
				return err
			}
			o.By, o.SessionID, o.Secret = by, one.SessionID, config.Hidden(c, nil, &one)
			done, err := store.Restore(cmd.Context(), one.ID, o)
			if err != nil {
				return explainRestore(err, c.Program())
			}
			if asJSON {
				err = output.JSON(cmd.OutOrStdout(), done)
			} else {
				err = output.Restored(cmd.OutOrStdout(), done, c.Program())
			}
			if err == nil && len(done.Failed) > 0 {
				return exit.Code(1)
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&paths, "path", nil, "only this file or folder; repeatable")
	flags.BoolVar(&o.Force, "force", false, "restore even if files changed since the call or could not be kept")
	flags.BoolVar(&o.RemoveStray, "remove-stray", false, "also remove temporary files that a killed server left beside the files of the call")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// recordRestore records that a person restores files. If it fails, nothing is restored.
func recordRestore(c *config.Config, one *checkpoint.Checkpoint, by string, force bool) error {
	log, err := audit.Open(audit.Dir(c.DataDir), audit.Options{})
	if err != nil {
		return err
	}
	_, err = log.Append(audit.Record{Event: audit.Control, Worker: c.Worker, SessionID: one.SessionID, CallID: one.CallID, By: by, Summary: backend.RestoreSummary(one, force)})
	return errors.Join(err, log.Close())
}

// explainRestore adds to a conflict what the person can do about it.
func explainRestore(err error, program string) error {
	if conflict, ok := errors.AsType[*checkpoint.ConflictError](err); ok {
		var b strings.Builder
		b.WriteString("nothing was restored:\n")
		for _, c := range conflict.Conflicts {
			fmt.Fprintf(&b, "  %s: %s\n", tools.Visible(c.Path), tools.Visible(c.Why))
		}
		fmt.Fprintf(&b, "Look with \"%s checkpoints diff\"; --force restores what was kept, --path restores only some files", program)
		return errors.New(b.String())
	}
	return err
}
