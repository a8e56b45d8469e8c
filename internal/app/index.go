package app

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/adrg/xdg"

	"callgate/internal/config"
	"callgate/internal/retrieval"
	"callgate/rag"
)

// IndexAll brings the indexes of all roots up to date, one after the other. With watch, it then keeps them so until ctx
// ends. The first failure ends it.
func IndexAll(ctx context.Context, c *config.Config, errs io.Writer, roots []string, watch bool, follow func(rag.Event)) (err error) {
	var indexes []*rag.Index
	defer func() { err = errors.Join(err, CloseIndexes(indexes)) }()
	for _, root := range roots {
		index, err := OpenIndex(c, errs, root)
		if err != nil {
			return err
		}
		indexes = append(indexes, index)
		if _, err := index.Sync(ctx, root, follow); err != nil {
			return err
		}
	}
	if !watch {
		return nil
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
	return errors.Join(failed...)
}

// CloseIndexes closes all of them, and joins their errors.
func CloseIndexes(indexes []*rag.Index) (err error) {
	for _, index := range indexes {
		err = errors.Join(err, index.Close())
	}
	return err
}

// OpenIndex opens the index of the workspace root under the worker's rules. Its log goes to errs.
func OpenIndex(c *config.Config, errs io.Writer, root string) (*rag.Index, error) {
	if info, err := os.Stat(root); err == nil && !info.IsDir() {
		return rag.Open("", rag.Options{}) // Sync reports that it is a file
	}
	dir, err := rag.Dir(c.Files().Index(), root)
	if err != nil {
		return nil, err
	}
	o, err := c.RAG.Options(slog.New(slog.NewTextHandler(errs, nil)))
	if err != nil {
		return nil, err
	}
	reading := c.Reading(nil)
	if o.Denied, err = reading.Denied(root); err != nil {
		return nil, err
	}
	o.Rules = reading.Rules
	return rag.Open(dir, o)
}

// SearchedFolder is a folder that is searched.
type SearchedFolder struct {
	Path   string // absolute
	Index  string // the workspace whose index covers it: Path or a folder above it
	Within string // Path relative to that workspace, with slashes
}

// SearchedFolders returns the folders to search: the one asked for, otherwise those of the configuration, otherwise the
// current directory.
func SearchedFolders(c *config.Config, asked string) ([]SearchedFolder, error) {
	dirs := c.RAG.Roots
	if asked != "" {
		dirs = []string{asked}
	} else if len(dirs) == 0 {
		dirs = []string{"."}
	}
	paths := make([]string, len(dirs))
	for i, dir := range dirs {
		var err error
		if paths[i], err = filepath.Abs(dir); err != nil {
			return nil, err
		}
	}
	var folders []SearchedFolder
	for _, path := range retrieval.Outermost(paths) {
		folder, err := searchedFolder(c.Files().Index(), path)
		if err != nil {
			return nil, err
		}
		folders = append(folders, folder)
	}
	return folders, nil
}

// searchedFolder finds the index of a folder: its own, otherwise that of the nearest folder above that has one, up to
// the top of its repository. It never takes the home folder's index, which would have to be read as a whole.
func searchedFolder(indexes, dir string) (SearchedFolder, error) {
	alone := SearchedFolder{Path: dir, Index: dir}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return alone, err
	}
	for at := real; ; at = filepath.Dir(at) {
		index, err := rag.Dir(indexes, at)
		if err != nil {
			return alone, err
		}
		_, err = os.Stat(index)
		switch indexed := err == nil; {
		case indexed && at == real:
			return alone, nil
		case indexed && at != xdg.Home:
			within, err := filepath.Rel(at, real)
			return SearchedFolder{Path: dir, Index: at, Within: filepath.ToSlash(within)}, err
		}
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil || filepath.Dir(at) == at {
			return alone, nil
		}
	}
}
