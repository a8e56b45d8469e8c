// Package nolink opens files and folders without following a link, even one that is swapped in meanwhile.
package nolink

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrLink is returned when a part of the path is a link, or was swapped for one.
var ErrLink = errors.New("a folder of the path is a link")

// ErrNoFolder is returned when a part of the path is not a folder.
var ErrNoFolder = errors.New("a part of the path is not a folder")

// FolderOf opens the folder below root that holds the path rel, and returns it with the last part of rel. No folder on
// the way may be a link. On an error, at is the part of rel that caused it; "" for root. The caller closes dir.
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

// Folder opens the folder name in dir. It returns ErrLink for a link, or a folder that was swapped meanwhile. The
// caller closes the result.
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

// ErrReplaced is returned when the opened file is not the one that was looked at.
var ErrReplaced = errors.New("it was replaced while it was opened")

// File opens the regular file name in dir that info, from Lstat, describes. It never waits, even for a pipe.
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
