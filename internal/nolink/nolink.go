// Package nolink opens files and folders without following a link, whatever is swapped for one meanwhile.
package nolink

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrLink is why a path is not opened: a part of it became a link, or was swapped for one.
var ErrLink = errors.New("a folder of the path is a link")

// ErrNoFolder is why a path is not opened: a part of it is a file or the like.
var ErrNoFolder = errors.New("a part of the path is not a folder")

// FolderOf opens the folder below root that holds the path rel, and returns the last part of rel in it. No part of the
// way may be a link. On an error, at is the part of rel that it is about.
func FolderOf(root *os.Root, rel string) (dir *os.Root, name, at string, err error) {
	way, name := filepath.Split(rel)
	if dir, err = root.OpenRoot("."); err != nil {
		return nil, "", "", err
	}
	for part := range strings.FieldsFuncSeq(way, func(r rune) bool { return r == filepath.Separator }) {
		at = filepath.Join(at, part)
		inner, err := Folder(dir, part)
		dir.Close()
		if err != nil {
			return nil, "", at, err
		}
		dir = inner
	}
	return dir, name, "", nil
}

// Folder opens the folder name in dir. What is a link, or was swapped for one meanwhile, is ErrLink.
func Folder(dir *os.Root, name string) (*os.Root, error) {
	before, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if before.Mode()&fs.ModeSymlink != 0 {
		return nil, ErrLink
	}
	if !before.IsDir() {
		return nil, ErrNoFolder
	}
	inner, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if opened, err := inner.Stat("."); err != nil || !os.SameFile(before, opened) {
		inner.Close()
		return nil, ErrLink
	}
	return inner, nil
}

// ErrReplaced is why a file is not opened: it is another than the one that was looked at.
var ErrReplaced = errors.New("it was replaced while it was opened")

// File opens the regular file name in dir that info, of Lstat, describes. It never waits, as a pipe would make it.
func File(dir *os.Root, name string, info fs.FileInfo) (*os.File, error) {
	f, err := dir.OpenFile(name, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, err
	}
	opened, err := f.Stat()
	if err == nil && (!opened.Mode().IsRegular() || !os.SameFile(info, opened)) {
		err = ErrReplaced
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
