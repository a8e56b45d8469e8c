package checkpoints

import (
	"github.com/spf13/cobra"

	"callgate/internal/checkpoint"
	"callgate/internal/config"
	"callgate/internal/output"
)

func newCheckpointsDiffCommand(s *config.Settings) *cobra.Command {
	var asJSON bool
	var paths []string
	cmd := &cobra.Command{
		Use:   "diff ID",
		Short: "Show what changed since a checkpoint",
		Long: `Diff shows how each file of the checkpoint differs from the file that is there now. The first characters of an ID
are enough. Files that the rules deny are named but not shown.`,
		Example: `  callgate checkpoints diff ck_4nq2
  callgate checkpoints diff ck_4nq2 --path src/auth.ts`,
		Args: config.ArgsExactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, store, err := checkpointsOf(s)
			if err != nil {
				return err
			}
			defer store.Close()
			one, err := store.Get(args[0])
			if err != nil {
				return err
			}
			only, err := realPathsOf(paths)
			if err != nil {
				return err
			}
			files, err := store.Diff(cmd.Context(), one.ID, checkpoint.ShowOptions{Paths: only, Hidden: config.Hidden(c, nil, &one)})
			if err != nil {
				return err
			}
			if asJSON {
				return output.JSON(cmd.OutOrStdout(), map[string]any{"id": one.ID, "files": files})
			}
			return output.CheckpointDiff(cmd.OutOrStdout(), files)
		},
	}
	cmd.Flags().StringArrayVar(&paths, "path", nil, "only this file or folder; repeatable")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func realPathsOf(paths []string) (out []string, err error) {
	for _, path := range paths {
		real, err := realPathOf(path)
		if err != nil {
			return nil, err
		}
		out = append(out, real)
	}
	return out, nil
}
