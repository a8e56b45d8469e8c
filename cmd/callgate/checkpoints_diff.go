package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"callgate/gate/tools"
	"callgate/internal/checkpoint"
	"callgate/internal/config"
)

func newCheckpointsDiffCommand(s *config.Settings) *cobra.Command {
	var asJSON bool
	var paths []string
	cmd := &cobra.Command{
		Use:   "diff ID",
		Short: "Show what changed since a checkpoint",
		Long: `Diff shows how each file of the checkpoint differs from the file that is there now. The first characters of an ID
are enough. Files that the rules keep from being read are named but not shown.`,
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
			files, err := store.Diff(cmd.Context(), one.ID, checkpoint.ShowOptions{Paths: only, Hidden: c.Hidden(&one)})
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), map[string]any{"id": one.ID, "files": files})
			}
			return printDiff(cmd.OutOrStdout(), files)
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

// printDiff prints what a person reads. What a terminal would take for its own is made visible.
func printDiff(w io.Writer, files []checkpoint.FileDiff) error {
	f, ok := w.(*os.File)
	colour := ok && term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == ""
	var b strings.Builder
	line := func(code, text string) {
		if colour && code != "" {
			text = "\x1b[" + code + "m" + text + "\x1b[0m"
		}
		b.WriteString(text + "\n")
	}
	if len(files) == 0 {
		line("", "nothing differs from what was kept")
	}
	for _, f := range files {
		line("1", tools.Visible(f.Path)+"  "+diffWords(&f))
		for text := range strings.Lines(f.Diff) {
			text = tools.Visible(strings.TrimSuffix(text, "\n"))
			switch {
			case strings.HasPrefix(text, "diff kept"), strings.HasPrefix(text, "--- kept"), strings.HasPrefix(text, "+++ now"):
			case strings.HasPrefix(text, "@@"):
				line("36", text)
			case strings.HasPrefix(text, "+"):
				line("32", text)
			case strings.HasPrefix(text, "-"):
				line("31", text)
			default:
				line("", text)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// diffWords says in words what differs.
func diffWords(f *checkpoint.FileDiff) string {
	words := []string{f.What}
	if f.Before.Kind == checkpoint.LeftOut {
		words[0] = "not kept: " + f.Before.Why
	} else if f.Now.Kind == checkpoint.LeftOut {
		words[0] = "changed: " + f.Now.Why
	}
	if f.Before.Kind != f.Now.Kind && f.Before.Kind != checkpoint.Absent && f.Now.Kind != checkpoint.Absent {
		words = append(words, fmt.Sprintf("%s became %s", f.Before.Kind, f.Now.Kind))
	}
	if f.Before.Mode != f.Now.Mode && f.Before.Kind == f.Now.Kind {
		words = append(words, fmt.Sprintf("mode %04o became %04o", f.Before.Mode, f.Now.Mode))
	}
	switch {
	case f.Hidden:
		words = append(words, "not shown: the rules keep it from being read")
	case f.Binary:
		words = append(words, fmt.Sprintf("not text, %d bytes kept, %d now", f.Before.Size, f.Now.Size))
	}
	if f.ChangedSince {
		words = append(words, "restoring it needs --force")
	}
	return strings.Join(words, "; ")
}
