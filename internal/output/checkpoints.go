package output

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"callgate/internal/checkpoint"
	"callgate/internal/companion"
	"callgate/internal/visible"
)

// CheckpointDiff prints how files differ from those in a checkpoint.
func CheckpointDiff(w io.Writer, files []checkpoint.FileDiff) error {
	p := paletteOf(w)
	var b strings.Builder
	if len(files) == 0 {
		b.WriteString("nothing differs from what was kept\n")
	}
	for _, f := range files {
		b.WriteString(p.paint(bold, visible.Text(f.Path)+"  "+diffWords(&f)) + "\n")
		for line := range strings.Lines(f.Diff) {
			if line, ok := p.diffLine(line, "diff kept", "--- kept", "+++ now"); ok {
				b.WriteString(line + "\n")
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// diffWords describes the difference in words.
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
	switch {
	case f.Before.Kind == checkpoint.LeftOut:
		words = append(words, "it cannot be restored")
	case f.ChangedSince:
		words = append(words, "restoring it needs --force")
	}
	return strings.Join(words, "; ")
}

// Checkpoints prints one line for each checkpoint, newest last.
func Checkpoints(w io.Writer, list []checkpoint.Checkpoint) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "No checkpoints found.")
		return err
	}
	out := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for i := len(list) - 1; i >= 0; i-- {
		c := &list[i]
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", c.ID, c.CreatedAt.Local().Format(time.DateTime), visible.Text(c.Tool), visible.Text(checkpointFiles(c)), checkpointState(c))
	}
	return out.Flush()
}

// checkpointFiles returns the names of a few of the files.
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

// Restored prints the result of a restore. program is the first word of the commands that it suggests.
func Restored(w io.Writer, done *checkpoint.Restored, program string) error {
	var b strings.Builder
	for _, path := range done.Files {
		what := "restored"
		if slices.Contains(done.Removed, path) {
			what = "removed "
		}
		fmt.Fprintf(&b, "%s  %s\n", what, visible.Text(path))
	}
	for _, f := range done.Failed {
		fmt.Fprintf(&b, "NOT       %s: %s\n", visible.Text(f.Path), visible.Text(f.Why))
	}
	for _, path := range done.Stray {
		fmt.Fprintf(&b, "stray     %s: a killed server seems to have left it\n", visible.Text(path))
	}
	if len(done.Stray) > 0 {
		fmt.Fprintf(&b, "to remove stray files: %s checkpoints restore %s --remove-stray\n", program, done.ID)
	}
	switch {
	case done.Checkpoint != "":
		fmt.Fprintf(&b, "to take this back: %s checkpoints restore %s\n", program, done.Checkpoint)
	case len(done.Failed) == 0 && len(done.Stray) == 0:
		b.WriteString("everything is as it was kept already\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
