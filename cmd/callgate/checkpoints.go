package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"callgate/audit"
	"callgate/internal/checkpoint"
	"callgate/internal/companion"
	"callgate/internal/tools"
)

func newCheckpointsCommand(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "checkpoints",
		Short: "Show what calls changed in files, and put it back",
		Long: `Before a call that writes files is forwarded, callgate keeps what they are. Checkpoints lists what was kept,
shows how it differs from what is there now, and puts it back: bytes, modes, links, and the absence of
files that were not there.`,
		Example: `  callgate checkpoints list
  callgate checkpoints diff ck_4nq2
  callgate checkpoints restore ck_4nq2 --path src/auth.ts`,
		Args: cobra.NoArgs,
	}
	cmd.AddCommand(newCheckpointsListCommand(s), newCheckpointsDiffCommand(s), newCheckpointsRestoreCommand(s))
	return cmd
}

// checkpointsOf opens what was kept. The caller closes it.
func checkpointsOf(s *settings) (*config, *checkpoint.Store, error) {
	c, err := s.load()
	if err != nil {
		return nil, nil, err
	}
	if c.Checkpoints.Storage == checkpointsInMemory {
		return nil, nil, errors.New("checkpoints are in the memory of the callgate that serves the session (checkpoints.storage: memory): use its page, or REST under /api/checkpoints")
	}
	c.Checkpoints.Storage = "disk" // what was kept before they were turned off is there still
	store, err := c.openCheckpoints(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	return c, store, err
}

func newCheckpointsListCommand(s *settings) *cobra.Command {
	var filter checkpoint.Filter
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List what was kept, the newest last",
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
	flags.StringVar(&filter.SessionID, "session", "", "only of this session")
	flags.StringVar(&filter.Path, "path", "", "only what concerns this file or folder")
	flags.BoolVar(&filter.Idle, "all", false, "also of calls that changed nothing, and what was cleared")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// realPathOf makes a path of the command line absolute and its folder real, as checkpoints name it.
func realPathOf(path string) (string, error) {
	abs, err := filepath.Abs(expandHome(path))
	if err != nil {
		return "", err
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
		abs = filepath.Join(dir, filepath.Base(abs))
	}
	return abs, nil
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

func newCheckpointsDiffCommand(s *settings) *cobra.Command {
	var asJSON bool
	var paths []string
	cmd := &cobra.Command{
		Use:   "diff ID",
		Short: "Show how files differ from what was kept",
		Long: `Diff shows, from what was kept to what is there now, each file that restore would touch. The beginning of an ID
is enough. Files that the rules keep from being read are named and not shown.`,
		Example: `  callgate checkpoints diff ck_4nq2
  callgate checkpoints diff ck_4nq2 --path src/auth.ts`,
		Args: exactly(1),
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
			files, err := store.Diff(cmd.Context(), one.ID, checkpoint.ShowOptions{Paths: only, Hidden: c.hidden(&one)})
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

// hidden returns which files of a checkpoint the rules keep from being read: those of the worker that took it,
// as they are now. While they cannot be read, nothing is shown.
func (c *config) hidden(one *checkpoint.Checkpoint) func(path string) bool {
	of := *c
	if workerName.MatchString(one.Worker) {
		of.Worker = one.Worker
	}
	denied, err := of.reading().denied(one.Workspace)
	if err != nil {
		return func(string) bool { return true }
	}
	return denied
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

func newCheckpointsRestoreCommand(s *settings) *cobra.Command {
	var asJSON bool
	var paths []string
	o := checkpoint.RestoreOptions{}
	cmd := &cobra.Command{
		Use:   "restore ID",
		Short: "Put files back as they were kept",
		Long: `Restore puts every file of the checkpoint back, or those that --path names. It changes nothing when one of them
is not as the call left it, unless --force is given. What is there now is kept first: restoring that
checkpoint takes the restore back.

You are not bound by the rules here: they are for tools. callgate's own files are never restored, and no link
is ever followed.`,
		Example: `  callgate checkpoints restore ck_4nq2
  callgate checkpoints restore ck_4nq2 --path src/auth.ts --force`,
		Args: exactly(1),
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
			by := "cli:" + userName()
			if err := c.recordRestore(&one, by, o.Force); err != nil {
				return err
			}
			o.By, o.SessionID, o.Secret = by, one.SessionID, c.hidden(&one)
			done, err := store.Restore(cmd.Context(), one.ID, o)
			if err != nil {
				return explainRestore(err)
			}
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), done)
			} else {
				err = printRestored(cmd.OutOrStdout(), done)
			}
			if err == nil && len(done.Failed) > 0 {
				return exitCode(1)
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&paths, "path", nil, "only this file or folder; repeatable")
	flags.BoolVar(&o.Force, "force", false, "also files that changed since the call, and without those that were not kept")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// recordRestore puts on record that a person restores: nothing is restored when that fails.
func (c *config) recordRestore(one *checkpoint.Checkpoint, by string, force bool) error {
	log, err := audit.Open(audit.Dir(c.DataDir), audit.Options{})
	if err != nil {
		return err
	}
	_, err = log.Append(audit.Record{Event: audit.Control, Worker: c.Worker, SessionID: one.SessionID, CallID: one.CallID, By: by, Summary: restoreSummary(one, force)})
	return errors.Join(err, log.Close())
}

// restoreSummary is the record of a restore.
func restoreSummary(one *checkpoint.Checkpoint, force bool) string {
	text := fmt.Sprintf("Restores checkpoint %s of %s.", one.ID, one.Tool)
	if force {
		text += " By force."
	}
	return text
}

// explainRestore adds what can be done about it.
func explainRestore(err error) error {
	if conflict := (*checkpoint.ConflictError)(nil); errors.As(err, &conflict) {
		var b strings.Builder
		b.WriteString("nothing was restored:\n")
		for _, c := range conflict.Conflicts {
			fmt.Fprintf(&b, "  %s: %s\n", tools.Visible(c.Path), tools.Visible(c.Why))
		}
		b.WriteString("Look with \"callgate checkpoints diff\"; --force puts back what was kept all the same, --path leaves the rest alone")
		return errors.New(b.String())
	}
	return err
}

func printRestored(w io.Writer, done *checkpoint.Restored) error {
	var b strings.Builder
	for _, path := range done.Files {
		fmt.Fprintf(&b, "restored  %s\n", tools.Visible(path))
	}
	for _, f := range done.Failed {
		fmt.Fprintf(&b, "NOT       %s: %s\n", tools.Visible(f.Path), tools.Visible(f.Why))
	}
	switch {
	case done.Checkpoint != "":
		fmt.Fprintf(&b, "to take this back: callgate checkpoints restore %s\n", done.Checkpoint)
	case len(done.Failed) == 0:
		b.WriteString("everything is as it was kept already\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
