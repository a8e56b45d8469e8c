// Package search has the commands index, kb and search.
package search

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"callgate/internal/app"
	"callgate/internal/config"
	"callgate/internal/output"
	"callgate/internal/retrieval"
	"callgate/rag"
)

func NewSearchCommand(s *config.Settings) *cobra.Command {
	var (
		query                  rag.Query
		kind, root, judgements string
		asJSON, noSync, scores bool
	)
	cmd := &cobra.Command{
		Use:   "search QUERY",
		Short: "Search the workspace by words, meaning and symbols",
		Long: `Search updates the index of the workspace and prints the passages that match best. QUERY is a question, some words or
the name of a symbol.

With --eval FILE it answers every query of the file and reports how well. Each line of FILE is JSON:
  {"query": "...", "relevant": [{"path": "...", "start"?: 1, "end"?: 9}]}`,
		Example: `  callgate search 'where are tokens refreshed'
  callgate search --lang go --path 'internal/**' parseHeader
  callgate search --json 'retry with backoff' | jq -r '.hits[].path'`,
		Args: func(_ *cobra.Command, args []string) error {
			if judgements != "" && len(args) > 0 {
				return errors.New("--eval takes no query: they are in the file")
			}
			if judgements == "" && len(args) != 1 {
				return errors.New("search needs one query, as in: callgate search 'where are tokens refreshed'")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			query.Kind = rag.Kind(kind)
			if query.Kind != "" && !slices.Contains(retrieval.FileKinds, query.Kind) {
				return fmt.Errorf("--kind %q: use code, doc or config", kind)
			}
			c, err := s.Load()
			if err != nil {
				return err
			}
			folders, err := app.SearchedFolders(c, root)
			if err != nil {
				return err
			}
			if judgements != "" && len(folders) > 1 {
				return fmt.Errorf("rag.roots has %d workspaces, and --eval is about one: name it with --in", len(folders))
			}
			indexes, err := openIndexes(cmd, c, folders, !noSync)
			defer func() { err = errors.Join(err, app.CloseIndexes(indexes)) }()
			if err != nil {
				return err
			}
			if judgements != "" {
				query.Within = folders[0].Within
				return evaluate(cmd, indexes[0], judgements, query, asJSON)
			}
			query.Text, query.WithText = args[0], true
			var found [][]retrieval.Hit
			roots := make([]string, len(folders))
			for i, index := range indexes {
				roots[i], query.Within = folders[i].Path, folders[i].Within
				hits, err := index.Search(cmd.Context(), query)
				if err != nil {
					return err
				}
				found = append(found, retrieval.HitsOf(roots[i], hits))
			}
			hits := retrieval.Best(query.Limit, found...)
			out := cmd.OutOrStdout()
			if asJSON {
				return output.JSON(out, map[string]any{"roots": roots, "hits": hits})
			}
			return output.Hits(out, query.Text, hits, scores)
		},
	}
	cmd.Flags().StringVar(&root, "in", "", "`folder` of the workspace (default: all of rag.roots, or the current directory); the index of a folder above may be used, for what is in this one")
	cmd.Flags().IntVarP(&query.Limit, "limit", "n", 10, "how many passages")
	cmd.Flags().StringVar(&query.Language, "lang", "", "only this language: go, python, markdown, …")
	cmd.Flags().StringVar(&query.Path, "path", "", "only files that this glob matches: 'internal/**', '*.md'")
	cmd.Flags().StringVar(&kind, "kind", "", "only code, doc or config")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&scores, "scores", false, "show the parts of each score")
	cmd.Flags().BoolVar(&noSync, "no-sync", false, "do not update the index first")
	cmd.Flags().StringVar(&judgements, "eval", "", "answer the queries of this `file` and report how well")
	return cmd
}

// openIndexes opens the index of each folder, and with update brings it up to date. After an error, it still returns
// the indexes that are open.
func openIndexes(cmd *cobra.Command, c *config.Config, folders []app.SearchedFolder, update bool) (indexes []*rag.Index, err error) {
	for _, folder := range folders {
		index, err := app.OpenIndex(c, cmd.ErrOrStderr(), folder.Index)
		if err != nil {
			return indexes, err
		}
		indexes = append(indexes, index)
		if !update {
			continue
		}
		p := output.NewProgress(io.Discard, cmd.ErrOrStderr(), false, false)
		_, err = index.Sync(cmd.Context(), folder.Index, p.Event)
		if err = errors.Join(err, p.Close()); err != nil {
			return indexes, err
		}
	}
	return indexes, nil
}

func evaluate(cmd *cobra.Command, index *rag.Index, file string, like rag.Query, asJSON bool) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	judged, err := rag.ReadJudged(f)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	missing, err := index.Unindexed(judged, like)
	if err != nil {
		return err
	}
	output.Unindexed(cmd.ErrOrStderr(), missing)
	s, err := index.Evaluate(cmd.Context(), judged, like)
	if err != nil {
		return err
	}
	if asJSON {
		return output.JSON(cmd.OutOrStdout(), s)
	}
	queries := "1 query"
	if s.Queries != 1 {
		queries = fmt.Sprintf("%d queries", s.Queries)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s  nDCG@10 %.4f  MRR %.4f  Recall@5 %.4f  lines@10 %.4f  in file %.4f\n",
		queries, s.NDCG10, s.MRR, s.Recall5, s.Lines10, s.InFile)
	return err
}
