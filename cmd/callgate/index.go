package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"

	"github.com/spf13/cobra"

	"callgate/internal/app"
	"callgate/internal/config"
	"callgate/internal/hooks"
	"callgate/internal/output"
	"callgate/rag"
)

func newIndexCommand(s *config.Settings) *cobra.Command {
	var watch, asJSON, verbose bool
	cmd := &cobra.Command{
		Use:   "index [PATH]",
		Short: "Index a workspace for search, or update its index",
		Long: `Index makes the text files below PATH searchable by words, meaning and symbols. PATH defaults to rag.roots in the
configuration, or else to the current folder. Index reads only what changed since the last time. It follows
.gitignore and .callgateignore, and skips files that the rules keep from being read.

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
			return errors.Join(indexAll(cmd, c, roots, watch, follow), p.Close())
		},
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "keep running and follow changes")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print events as lines of JSON")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "show every skipped file, and why")
	return cmd
}

// tellIndexed tells hooks that an index is through, unless a hook itself indexes: it would be told without end.
func tellIndexed(h *hooks.Runner, e rag.Event) {
	if e.Kind == rag.EventDone && os.Getenv(hooks.InHook) == "" {
		h.Fire(app.Indexed(e.Path, e.Summary))
	}
}

// indexAll brings the indexes of all roots up to date, one after the other, and then keeps them so until the command
// is interrupted, if it is to watch. One that fails ends all.
func indexAll(cmd *cobra.Command, c *config.Config, roots []string, watch bool, follow func(rag.Event)) error {
	var indexes []*rag.Index
	close := func(err error) error {
		for _, index := range indexes {
			err = errors.Join(err, index.Close())
		}
		return err
	}
	for _, root := range roots {
		index, err := openIndex(cmd, c, root)
		if err != nil {
			return close(err)
		}
		indexes = append(indexes, index)
		if _, err := index.Sync(cmd.Context(), root, follow); err != nil {
			return close(err)
		}
	}
	if !watch {
		return close(nil)
	}
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	failed := make([]error, len(roots))
	var watching sync.WaitGroup
	for i, root := range roots {
		watching.Go(func() {
			defer stop()
			failed[i] = indexes[i].Watch(ctx, root, follow)
		})
	}
	watching.Wait()
	return close(errors.Join(failed...))
}

// indexGCPercent trades a little time for a fifth of the memory: indexing allocates far more than it keeps.
const indexGCPercent = 75

// openIndex opens the index of the workspace root under the worker's rules.
func openIndex(cmd *cobra.Command, c *config.Config, root string) (*rag.Index, error) {
	if info, err := os.Stat(root); err == nil && !info.IsDir() {
		return rag.Open("", rag.Options{}) // Sync says what is wrong with a file
	}
	dir, err := rag.Dir(c.IndexDir(), root)
	if err != nil {
		return nil, err
	}
	o, err := c.RAG.Options(slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil)))
	if err != nil {
		return nil, err
	}
	reading := c.Reading()
	if o.Denied, err = reading.Denied(root); err != nil {
		return nil, err
	}
	o.Rules = reading.Rules
	return rag.Open(dir, o)
}
