package app

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"callgate/internal/config"
	"callgate/internal/retrieval"
	"callgate/rag"
)

// IndexAll brings the indexes of all roots up to date, one after the other, and then keeps them so until ctx
// ends, if it is to watch. One that fails ends all.
func IndexAll(ctx context.Context, c *config.Config, errs io.Writer, roots []string, watch bool, follow func(rag.Event)) error {
	var indexes []*rag.Index
	close := func(err error) error {
		for _, index := range indexes {
			err = errors.Join(err, index.Close())
		}
		return err
	}
	for _, root := range roots {
		index, err := OpenIndex(c, errs, root)
		if err != nil {
			return close(err)
		}
		indexes = append(indexes, index)
		if _, err := index.Sync(ctx, root, follow); err != nil {
			return close(err)
		}
	}
	if !watch {
		return close(nil)
	}
	ctx, stop := context.WithCancel(ctx)
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

// OpenIndex opens the index of the workspace root under the worker's rules. What it has to say goes to errs.
func OpenIndex(c *config.Config, errs io.Writer, root string) (*rag.Index, error) {
	if info, err := os.Stat(root); err == nil && !info.IsDir() {
		return rag.Open("", rag.Options{}) // Sync says what is wrong with a file
	}
	dir, err := rag.Dir(c.Files().Index(), root)
	if err != nil {
		return nil, err
	}
	o, err := c.RAG.Options(slog.New(slog.NewTextHandler(errs, nil)))
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

// SearchedRoots returns the folders whose indexes are searched: the one that is asked for, those of the
// configuration, or the current directory.
func SearchedRoots(c *config.Config, asked string) ([]string, error) {
	dirs := c.RAG.Roots
	if asked != "" {
		dirs = []string{asked}
	} else if len(dirs) == 0 {
		dirs = []string{"."}
	}
	var roots []string
	for _, dir := range dirs {
		root, err := indexedRoot(c.Files().Index(), dir)
		if err != nil {
			return nil, err
		}
		roots = append(roots, root)
	}
	return retrieval.Outermost(roots), nil
}

// indexedRoot returns the nearest folder, dir or above, that has an index; dir if none has.
func indexedRoot(indexes, dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		index, err := rag.Dir(indexes, at)
		if err != nil {
			return "", err
		}
		if _, err := os.Stat(index); err == nil {
			return at, nil
		}
		if filepath.Dir(at) == at {
			return dir, nil
		}
	}
}
