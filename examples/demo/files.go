package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// maxFile bounds the files that the tools read, in bytes.
const maxFile = 1 << 20

// sandbox is the folder that the tools work in.
type sandbox struct {
	root *os.Root
	dir  string // absolute, symbolic links resolved
}

func openSandbox(dir string) (*sandbox, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, err
	}
	return &sandbox{root: root, dir: abs}, nil
}

// relative makes path relative to the sandbox folder: models like to send absolute paths. A path that leads out stays
// as it is, so that os.Root refuses it.
func (b *sandbox) relative(path string) string {
	if path == "" {
		return "."
	}
	if filepath.IsAbs(path) {
		if rel, err := filepath.Rel(b.dir, path); err == nil {
			return rel
		}
	}
	return filepath.Clean(path)
}

// readText reads a text file of at most maxFile bytes.
func (b *sandbox) readText(path string) ([]byte, error) {
	file, err := b.root.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxFile:
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	case bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data):
		return nil, fmt.Errorf("%s is not a text file", path)
	}
	return data, nil
}

type readArgs struct {
	Path string `json:"path"`
}

func (b *sandbox) readFile(_ context.Context, args readArgs) (string, error) {
	data, err := b.readText(b.relative(args.Path))
	return string(data), err
}

type writeArgs struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

func (b *sandbox) writeFile(_ context.Context, args writeArgs) (string, error) {
	path := b.relative(args.Path)
	if err := b.root.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	if err := b.root.WriteFile(path, []byte(args.Content), 0o644); err != nil {
		return "", err
	}
	return fmt.Sprintf("Wrote %d bytes to %s.", len(args.Content), filepath.ToSlash(path)), nil
}

type editArgs struct {
	Path    string `json:"path"`
	OldText string `json:"old_text"`
	NewText string `json:"new_text"`
}

func (b *sandbox) editFile(_ context.Context, args editArgs) (string, error) {
	path := b.relative(args.Path)
	data, err := b.readText(path)
	if err != nil {
		return "", err
	}
	switch n := strings.Count(string(data), args.OldText); n {
	case 0:
		return "", errors.New("old_text does not occur in the file")
	case 1:
	default:
		return "", fmt.Errorf("old_text occurs %d times: send more of the text around it", n)
	}
	text := strings.Replace(string(data), args.OldText, args.NewText, 1)
	if err := b.root.WriteFile(path, []byte(text), 0o644); err != nil {
		return "", err
	}
	return fmt.Sprintf("Edited %s.", filepath.ToSlash(path)), nil
}
