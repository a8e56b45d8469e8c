package tools

import (
	"io/fs"
	"os"
	"path/filepath"
)

// linkTarget returns where a symbolic link or a junction points.
func linkTarget(path string, info fs.FileInfo) (target string, ok bool, err error) {
	if info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) == 0 {
		return "", false, nil
	}
	target, err = os.Readlink(path)
	if err != nil && info.Mode()&fs.ModeSymlink == 0 {
		return "", false, nil // a reparse point that is no link
	}
	return filepath.FromSlash(target), true, err
}

// hardLinks is not told by a directory entry, and opening the file to ask is not harmless here.
func hardLinks(fs.FileInfo) uint64 { return 0 }

// canonicalName replaces short names ("PROGRA~1") and other cases in the part of path that exists by the
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
