package checkpoints

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"callgate/internal/checkpoint"
	"callgate/internal/companion"
	"callgate/internal/config"
	"callgate/internal/output"
)

func newCheckpointsListCommand(s *config.Settings) *cobra.Command {
	var filter checkpoint.Filter
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List checkpoints, newest last",
		Example: `  callgate checkpoints list --tail 5
  callgate checkpoints list --path src --json`,
		Args: config.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, store, err := checkpointsOf(s)
			if err != nil {
				return err
			}
			defer store.Close()
			if filter.Path != "" {
				if filter.Path, err = realPathOf(filter.Path); err != nil {
					return err
				}
			}
			list, err := store.List(filter)
			damaged, checkErr := store.Check(false)
			for _, one := range damaged {
				fmt.Fprintf(cmd.ErrOrStderr(), "callgate: %s\n", one)
			}
			err = errors.Join(err, checkErr)
			if asJSON {
				views := make([]companion.CheckpointView, len(list))
				for i := range list {
					views[i] = companion.ViewCheckpoint(&list[i], 0)
				}
				return errors.Join(err, output.JSON(cmd.OutOrStdout(), map[string]any{"checkpoints": views}))
			}
			return errors.Join(err, output.Checkpoints(cmd.OutOrStdout(), list))
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&filter.Limit, "tail", 20, "how many of the newest; 0: all")
	flags.StringVar(&filter.SessionID, "session", "", "only this session")
	flags.StringVar(&filter.Path, "path", "", "only calls that changed this file or folder")
	flags.BoolVar(&filter.Idle, "all", false, "also calls that changed nothing, and cleared checkpoints")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
