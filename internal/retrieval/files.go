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

// mostOfFile bounds the size of a file to add, in bytes.
const mostOfFile = 64 << 20

// AddFiles adds the text of files, or replaces what was added of them before. It prints the ID of each document to out,
// with a note if the rules deny reading the file. "-" stands for in. The summary is for the record.
func AddFiles(ctx context.Context, in io.Reader, out io.Writer, kb *rag.KB, denied func(path string) bool, paths []string) (summary string, err error) {
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
		if absolute, err := filepath.Abs(path); err == nil && path != "-" && deniedAnyhow(denied, absolute) {
			note += "  hosts do not find it: rules deny reading the file"
		}
		if _, err := fmt.Fprintf(out, "%s  %s%s\n", id, tools.Visible(path), note); err != nil {
			failed = append(failed, err)
			break
		}
	}
	if len(added) > 0 {
		summary = fmt.Sprintf("Added %s to the knowledge base: %s.", visible.Count(len(added), "document"), strings.Join(added, ", "))
	}
	return summary, errors.Join(failed...)
}

// RemoveDocuments removes documents by their IDs. The summary is for the record.
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
		f, err := openFile(path)
		if err != nil {
			return "", false, err
		}
		defer f.Close()
		in, metadata = f, map[string]string{rag.PathKey: f.Name()}
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

// openFile opens a file by its absolute path.
func openFile(path string) (*os.File, error) {
	if path == "" {
		return nil, errors.New("the name of the file is empty")
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	switch info, err := os.Stat(absolute); {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, errors.New("it is a folder: callgate index reads folders")
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file, but a pipe, a socket or a device")
	}
	return os.Open(absolute)
}

// deniedAnyhow reports whether path is denied, or the target of its links.
func deniedAnyhow(denied func(path string) bool, path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path
	}
	return denied(path) || denied(real)
}
