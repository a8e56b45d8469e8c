package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"callgate/gate/tools"
	"callgate/internal/checkpoint"
	"callgate/internal/companion"
	"callgate/internal/config"
)

func newCheckpointsListCommand(s *config.Settings) *cobra.Command {
	var filter checkpoint.Filter
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List checkpoints, newest last",
		Example: `  callgate checkpoints list --tail 5
  callgate checkpoints list --path src --json`,
		Args: cobra.NoArgs,
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
			if asJSON {
				views := make([]companion.CheckpointView, len(list))
				for i := range list {
					views[i] = companion.ViewCheckpoint(&list[i], 0)
				}
				return errors.Join(err, printJSON(cmd.OutOrStdout(), map[string]any{"checkpoints": views}))
			}
			return errors.Join(err, printCheckpoints(cmd.OutOrStdout(), list))
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

func printCheckpoints(w io.Writer, list []checkpoint.Checkpoint) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "No checkpoints: nothing that fits was kept.")
		return err
	}
	out := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for i := len(list) - 1; i >= 0; i-- {
		c := &list[i]
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", c.ID, c.CreatedAt.Local().Format(time.DateTime), tools.Visible(c.Tool), tools.Visible(checkpointFiles(c)), checkpointState(c))
	}
	return out.Flush()
}

// checkpointFiles names a few of the files.
func checkpointFiles(c *checkpoint.Checkpoint) string {
	v := companion.ViewCheckpoint(c, 4)
	var names []string
	for _, f := range v.Files {
		name := f.Path
		if rel, err := filepath.Rel(c.Workspace, f.Path); err == nil && c.Workspace != "" && filepath.IsLocal(rel) {
			name = rel
		}
		switch f.Change {
		case "created":
			name = "+" + name
		case "deleted":
			name = "-" + name
		case "leftOut":
			name = "!" + name
		}
		names = append(names, name)
	}
	text := strings.Join(names, " ")
	if v.More > 0 {
		text += fmt.Sprintf(" and %d more", v.More)
	}
	return text
}

func checkpointState(c *checkpoint.Checkpoint) string {
	var words []string
	if c.Restores != "" {
		words = append(words, "before restoring "+c.Restores)
	}
	if !c.Ended {
		words = append(words, "outcome unknown")
	}
	if c.Verified {
		words = append(words, "verified")
	}
	if !c.Restored.IsZero() {
		words = append(words, "restored")
	}
	if c.Cleared {
		words = append(words, "cleared")
	}
	return strings.Join(words, ", ")
}
