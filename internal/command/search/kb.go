package search

import (
	"errors"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"callgate/internal/app"
	"callgate/internal/config"
	"callgate/internal/output"
	"callgate/internal/retrieval"
	"callgate/rag"
)

func NewKBCommand(s *config.Settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "kb",
		Short: "Add, list, search and remove documents in the knowledge base",
		Long: `Kb manages the knowledge base that models search with callgate_kb_search, which hosts get only with --rag (rag.enabled
in callgate.yaml). It takes plain text, Markdown, HTML, PDF and DOCX files.`,
		Example: `  callgate kb add handbook.pdf notes/*.md
  callgate kb search 'how long are backups kept'
  callgate kb remove doc-3f9c0d7e21b84a6c`,
	}
	cmd.AddCommand(newKBAddCommand(s), newKBListCommand(s), newKBSearchCommand(s), newKBRemoveCommand(s))
	return cmd
}

// withKB runs do with the worker's knowledge base.
func withKB(s *config.Settings, do func(*config.Config, *rag.KB) error) (err error) {
	c, err := s.Load()
	if err != nil {
		return err
	}
	dir := c.KbFolder()
	if dir == "" {
		return errors.New("rag.kb is session: each session has a knowledge base in memory, and this command reaches none; use worker")
	}
	o, err := c.RAG.Options(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err != nil {
		return err
	}
	kb, err := rag.OpenKB(dir, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kb.Close()) }()
	return do(c, kb)
}

func newKBAddCommand(s *config.Settings) *cobra.Command {
	return &cobra.Command{
		Use:   "add FILE...",
		Short: "Add files, or standard input with -",
		Long: `Add reads text, HTML, PDF and DOCX files and adds the text of each as a document. A file that was added before is
replaced. Models do not find documents from files that the rules keep them from reading.`,
		Args: config.ArgsAtLeast(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withKB(s, func(c *config.Config, kb *rag.KB) error {
				denied, err := c.Reading(nil).Denied(".")
				if err != nil {
					return err
				}
				return app.Change(c, func() (string, error) {
					return retrieval.AddFiles(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), kb, denied, args)
				})
			})
		},
	}
}

func newKBListCommand(s *config.Settings) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the documents, oldest first",
		Args:  config.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withKB(s, func(_ *config.Config, kb *rag.KB) error {
				documents, err := kb.List()
				if err != nil {
					return err
				}
				if asJSON {
					return output.JSON(cmd.OutOrStdout(), map[string]any{"documents": documents})
				}
				return output.Documents(cmd.OutOrStdout(), documents)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newKBSearchCommand(s *config.Settings) *cobra.Command {
	var asJSON bool
	var limit int
	var threshold float64
	cmd := &cobra.Command{
		Use:   "search QUERY",
		Short: "Print the passages that match a query",
		Args:  config.ArgsExactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withKB(s, func(_ *config.Config, kb *rag.KB) error {
				hits, err := kb.Search(cmd.Context(), args[0], limit, threshold)
				if err != nil {
					return err
				}
				if asJSON {
					return output.JSON(cmd.OutOrStdout(), map[string]any{"results": hits})
				}
				return output.Passages(cmd.OutOrStdout(), hits)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	flags.IntVarP(&limit, "limit", "n", 5, "how many documents")
	flags.Float64Var(&threshold, "threshold", 0, "leave out documents with a lower score, from 0 to 1")
	return cmd
}

func newKBRemoveCommand(s *config.Settings) *cobra.Command {
	return &cobra.Command{
		Use:   "remove ID...",
		Short: "Remove documents",
		Args:  config.ArgsAtLeast(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withKB(s, func(c *config.Config, kb *rag.KB) error {
				return app.Change(c, func() (string, error) {
					return retrieval.RemoveDocuments(cmd.Context(), kb, args)
				})
			})
		},
	}
}
