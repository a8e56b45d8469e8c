package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/pattern"
)

const (
	maxPaths   = 1000
	maxMatches = 200
	maxLine    = 400 // bytes of a matching line that are returned
)

type searchArgs struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
}

func (b *sandbox) glob(ctx context.Context, args searchArgs) (string, error) {
	expression, err := pattern.Regexp(args.Pattern, pattern.Filenames|pattern.EntireString|pattern.GlobLeadingDot)
	if err != nil {
		return "", err
	}
	match, err := regexp.Compile(expression)
	if err != nil {
		return "", err
	}
	base := filepath.ToSlash(b.relative(args.Path))
	var found []string
	err = b.walk(ctx, base, func(name string) error {
		below := name
		if base != "." {
			below = strings.TrimPrefix(strings.TrimPrefix(name, base), "/")
		}
		if !match.MatchString(below) {
			return nil
		}
		if len(found) == maxPaths {
			return fs.SkipAll
		}
		found = append(found, name)
		return nil
	})
	if err != nil {
		return "", err
	}
	return lines(found, "No file matches."), nil
}

func (b *sandbox) grep(ctx context.Context, args searchArgs) (string, error) {
	match, err := regexp.Compile(args.Pattern)
	if err != nil {
		return "", err
	}
	var found []string
	err = b.walk(ctx, filepath.ToSlash(b.relative(args.Path)), func(name string) error {
		data, err := b.readText(filepath.FromSlash(name))
		if err != nil {
			return nil // binary, too large, or not readable: a search goes on
		}
		number := 0
		for line := range bytes.Lines(data) {
			number++
			line = bytes.TrimRight(line, "\r\n")
			if !match.Match(line) {
				continue
			}
			if len(found) == maxMatches {
				return fs.SkipAll
			}
			found = append(found, fmt.Sprintf("%s:%d:%s", name, number, line[:min(len(line), maxLine)]))
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return lines(found, "Nothing found."), nil
}

// walk visits the regular files at and below base in lexical order. Names use slashes and are relative to the sandbox.
// It follows no symbolic links and skips unreadable folders.
func (b *sandbox) walk(ctx context.Context, base string, visit func(name string) error) error {
	if !fs.ValidPath(base) {
		return &fs.PathError{Op: "search", Path: base, Err: errors.New("path escapes from the sandbox folder")}
	}
	return fs.WalkDir(b.root.FS(), path.Clean(base), func(name string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && name == base:
			return err
		case err != nil:
			return nil
		case !entry.Type().IsRegular():
			return nil
		}
		return visit(name)
	})
}

func lines(found []string, none string) string {
	if len(found) == 0 {
		return none
	}
	return strings.Join(found, "\n")
}
