package workspace

import (
	"io/fs"
	"os"
	"path/filepath"
)

// lookAt returns what is at a path, without following it. A directory entry has no number of hard links, and opening
// the file to ask is not harmless here.
func lookAt(path string) (dirEntry, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return dirEntry{}, err
	}
	return dirEntry{mode: info.Mode()}, nil
}

// standing returns the type of what a path leads to; ok is false if that is nothing.
func standing(path string) (kind fs.FileMode, ok bool) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, false
	}
	return info.Mode().Type(), true
}

// target returns where a symbolic link or a junction points.
func (e dirEntry) target(path string) (target string, ok bool, err error) {
	if e.mode&(fs.ModeSymlink|fs.ModeIrregular) == 0 {
		return "", false, nil
	}
	target, err = os.Readlink(path)
	if err != nil && e.mode&fs.ModeSymlink == 0 {
		return "", false, nil // a reparse point that is no link
	}
	return filepath.FromSlash(target), true, err
}

// canonicalName replaces short names ("PROGRA~1") and names in other case, in the part of path that exists, by the
// names that the file system keeps.
func canonicalName(path string) string {
	for existing, rest := path, ""; ; {
		if long, err := filepath.EvalSymlinks(existing); err == nil {
			return filepath.Join(long, rest)
		}
		parent := filepath.Dir(existing)
		if parent == existing {
			return path
		}
		rest = filepath.Join(filepath.Base(existing), rest)
		existing = parent
	}
}
