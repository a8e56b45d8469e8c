// Package checkpoints implements `callgate checkpoints`: flags and printing around internal/checkpoint.
package checkpoints

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"callgate/internal/checkpoint"
	"callgate/internal/config"
)

func NewCommand(s *config.Settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "checkpoints",
		Short: "Show what calls changed in files, and undo it",
		Long: `callgate snapshots files before a call changes them. Checkpoints lists the snapshots, shows what changed since, and
restores files: bytes, modes, links, and removal of files that the call created. It does not restore owners, times
or extended attributes.`,
		Example: `  callgate checkpoints list
  callgate checkpoints diff ck_4nq2
  callgate checkpoints restore ck_4nq2 --path src/auth.ts`,
		Args: config.NoArgs,
	}
	cmd.AddCommand(newCheckpointsListCommand(s), newCheckpointsDiffCommand(s), newCheckpointsRestoreCommand(s))
	return cmd
}

// checkpointsOf opens the checkpoints on disk. The caller MUST close the store.
func checkpointsOf(s *config.Settings) (*config.Config, *checkpoint.Store, error) {
	c, err := s.Load()
	if err != nil {
		return nil, nil, err
	}
	if c.Checkpoints.Storage == config.CheckpointsInMemory {
		return nil, nil, errors.New("checkpoints are in the memory of the callgate that serves the session (checkpoints.storage: memory): use its page, or REST under /api/checkpoints")
	}
	c.Checkpoints.Storage = "disk" // checkpoints may remain from before they were turned off
	store, err := c.OpenCheckpoints(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	return c, store, err
}

// realPathOf makes a path absolute and resolves links in its folder, so that it matches the paths in checkpoints.
func realPathOf(path string) (string, error) {
	abs, err := filepath.Abs(config.ExpandHome(path))
	if err != nil {
		return "", err
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
		abs = filepath.Join(dir, filepath.Base(abs))
	}
	return abs, nil
}
