package search

import (
	"errors"
	"log/slog"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"callgate/internal/app"
	"callgate/internal/config"
	"callgate/internal/hooks"
	"callgate/internal/output"
	"callgate/rag"
)

func NewIndexCommand(s *config.Settings) *cobra.Command {
	var watch, asJSON, verbose bool
	cmd := &cobra.Command{
		Use:   "index [PATH]",
		Short: "Index a workspace for search, or update its index",
		Long: `Index makes the text files below PATH searchable by words, meaning and symbols. PATH defaults to rag.roots in the
configuration, or else to the current folder. Index reads only what changed since the last time. It follows
.gitignore and .callgateignore, and skips files that the rules deny.

All processes of the worker use the index, which is in the data directory. Nothing leaves the machine, unless
rag.embedder or --embedder names a server that computes the vectors.`,
		Example: `  callgate index
  callgate index ~/src/app --watch`,
		Args: config.ArgsBetween(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			debug.SetGCPercent(indexGCPercent)
			c, err := s.Load()
			if err != nil {
				return err
			}
			roots := args
			if len(roots) == 0 {
				roots = c.RAG.Roots
			}
			if len(roots) == 0 {
				roots = []string{"."}
			}
			if err := c.HookRunner.Start(slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: c.Level}))); err != nil {
				return err
			}
			defer c.HookRunner.Close()
			p := output.NewProgress(cmd.OutOrStdout(), cmd.ErrOrStderr(), asJSON, verbose)
			follow := func(e rag.Event) {
				p.Event(e)
				tellIndexed(c.HookRunner, e)
			}
			return errors.Join(app.IndexAll(cmd.Context(), c, cmd.ErrOrStderr(), roots, watch, follow), p.Close())
		},
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "keep running and follow changes")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print events as lines of JSON")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "show every skipped file, and why")
	return cmd
}

// tellIndexed tells hooks that an index is done. It does not if a hook itself indexes, because that would never end.
func tellIndexed(h *hooks.Runner, e rag.Event) {
	if e.Kind == rag.EventDone && os.Getenv(hooks.InHook) == "" {
		h.Fire(app.Indexed(e.Path, e.Summary))
	}
}

// indexGCPercent trades a little time for a fifth of the memory, because indexing allocates far more than it keeps.
const indexGCPercent = 75
