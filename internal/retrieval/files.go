package retrieval

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"callgate/gate/tools"
	"callgate/internal/visible"
	"callgate/rag"
)

// mostOfFile bounds a file that is read for its text.
const mostOfFile = 64 << 20

// AddFiles adds the text of files, or replaces what was added of them before, and prints the id of each document to out.
// The summary is for the record.
func AddFiles(ctx context.Context, in io.Reader, out io.Writer, kb *rag.KB, paths []string) (summary string, err error) {
	var added []string
	var failed []error
	for _, path := range paths {
		id, replaced, err := addFile(ctx, in, kb, path)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", path, err))
			continue
		}
		added = append(added, id)
		note := ""
		if replaced {
			note = "  replaced"
		}
		if _, err := fmt.Fprintf(out, "%s  %s%s\n", id, tools.Visible(path), note); err != nil {
			return "", err
		}
	}
	if len(added) > 0 {
		summary = fmt.Sprintf("Added %s to the knowledge base: %s.", visible.Count(len(added), "document"), strings.Join(added, ", "))
	}
	return summary, errors.Join(failed...)
}

// RemoveDocuments removes documents by their ids. The summary is for the record.
func RemoveDocuments(ctx context.Context, kb *rag.KB, ids []string) (summary string, err error) {
	var removed []string
	var failed []error
	for _, id := range ids {
		found, err := kb.Remove(ctx, id)
		switch {
		case err != nil:
			failed = append(failed, err)
		case !found:
			failed = append(failed, fmt.Errorf("there is no document %q: callgate kb list shows them", id))
		default:
			removed = append(removed, id)
		}
	}
	if len(removed) > 0 {
		summary = fmt.Sprintf("Removed %s from the knowledge base: %s.", visible.Count(len(removed), "document"), strings.Join(removed, ", "))
	}
	return summary, errors.Join(failed...)
}

func addFile(ctx context.Context, stdin io.Reader, kb *rag.KB, path string) (id string, replaced bool, err error) {
	in, metadata := stdin, map[string]string(nil)
	if path != "-" {
		absolute, err := filepath.Abs(path)
		if err != nil {
			return "", false, err
		}
		info, err := os.Stat(absolute)
		if err != nil {
			return "", false, err
		}
		if !info.Mode().IsRegular() {
			return "", false, errors.New("it is not a file: callgate index reads folders")
		}
		f, err := os.Open(absolute)
		if err != nil {
			return "", false, err
		}
		defer f.Close()
		in, metadata = f, map[string]string{rag.PathKey: absolute}
	}
	data, err := io.ReadAll(io.LimitReader(in, mostOfFile+1))
	if err != nil {
		return "", false, err
	}
	if len(data) > mostOfFile {
		return "", false, fmt.Errorf("it is larger than %d MiB", mostOfFile>>20)
	}
	return kb.Add(ctx, string(data), metadata)
}
