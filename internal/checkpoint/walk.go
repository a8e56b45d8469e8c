package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// errLink is why a path is not opened: a part of it became a link, or was swapped for one.
var errLink = errors.New("a folder of the path is a link")

// errNoFolder is why a path is not opened: a part of it is a file or the like.
var errNoFolder = errors.New("a part of the path is not a folder")

// openFolderOf opens the folder that holds path, which is absolute, and returns the last part of path in it. No part of
// the path may be a link. A folder that became a link after the call was judged is an error. When a folder on the way
// is missing, or something else is in its place, the error is fs.ErrNotExist or errNoFolder, and stop is the outermost
// of these: it MUST be looked at by itself before anything is said of it.
//
// The way begins at the workspace when path lies in it, which is without links itself, else at the root of
// the file system.
func openFolderOf(path, workspace string) (dir *os.Root, name, stop string, err error) {
	path = filepath.Clean(path)
	anchor := filepath.VolumeName(path) + string(filepath.Separator)
	if workspace != "" && path != workspace && beneath(path, workspace) {
		if real, err := filepath.EvalSymlinks(workspace); err == nil && real == workspace {
			anchor = workspace
		}
	}
	rel, err := filepath.Rel(anchor, path)
	if err != nil || !filepath.IsLocal(rel) || rel == "." {
		return nil, "", "", fmt.Errorf("%s cannot be kept", path)
	}
	dir, err = os.OpenRoot(anchor)
	if err != nil {
		return nil, "", "", err
	}
	parts := strings.Split(rel, string(filepath.Separator))
	at := anchor
	for _, part := range parts[:len(parts)-1] {
		at = filepath.Join(at, part)
		inner, err := openFolderIn(dir, part)
		dir.Close()
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNoFolder) {
			return nil, "", at, err
		}
		if err != nil {
			return nil, "", "", fmt.Errorf("%s: %w", at, err)
		}
		dir = inner
	}
	return dir, parts[len(parts)-1], "", nil
}

// openFolderIn opens the folder name in dir. What is a link, or was swapped for one meanwhile, is errLink.
func openFolderIn(dir *os.Root, name string) (*os.Root, error) {
	before, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if before.Mode()&fs.ModeSymlink != 0 {
		return nil, errLink
	}
	if !before.IsDir() {
		return nil, errNoFolder
	}
	inner, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if opened, err := inner.Stat("."); err != nil || !os.SameFile(before, opened) {
		inner.Close()
		return nil, errLink
	}
	return inner, nil
}

// openFile opens a regular file in dir that info describes. It never waits, as a pipe would make it, and a
// file that took the place of another meanwhile is errLink.
func openFile(dir *os.Root, name string, info fs.FileInfo) (*os.File, error) {
	f, err := dir.OpenFile(name, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, err
	}
	opened, err := f.Stat()
	if err == nil && (!opened.Mode().IsRegular() || !os.SameFile(info, opened)) {
		err = errors.New("it was replaced while it was opened")
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// beneath reports whether path is folder or lies in it. Both are clean and absolute.
func beneath(path, folder string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(folder, string(filepath.Separator)))
	return ok && (rest == "" || rest[0] == filepath.Separator)
}
