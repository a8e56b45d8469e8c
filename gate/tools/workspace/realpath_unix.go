//go:build unix

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// lookAt returns what is at a path, without following it.
func lookAt(path string) (dirEntry, error) {
	var st syscall.Stat_t
	err := syscall.Lstat(path, &st)
	for errors.Is(err, syscall.EINTR) {
		err = syscall.Lstat(path, &st)
	}
	switch {
	case err != nil:
		return dirEntry{}, &fs.PathError{Op: "lstat", Path: path, Err: err}
	case st.Mode&syscall.S_IFMT == syscall.S_IFLNK:
		return dirEntry{mode: fs.ModeSymlink}, nil
	case st.Mode&syscall.S_IFMT == syscall.S_IFREG:
		return dirEntry{links: uint64(st.Nlink)}, nil
	}
	return dirEntry{mode: fs.ModeIrregular}, nil
}

// standing returns the type of what a path leads to; ok is false if that is nothing. It costs less than os.Stat.
func standing(path string) (kind fs.FileMode, ok bool) {
	var st syscall.Stat_t
	err := syscall.Stat(path, &st)
	for errors.Is(err, syscall.EINTR) {
		err = syscall.Stat(path, &st)
	}
	switch {
	case err != nil:
		return 0, false
	case st.Mode&syscall.S_IFMT == syscall.S_IFREG:
		return 0, true
	case st.Mode&syscall.S_IFMT == syscall.S_IFDIR:
		return fs.ModeDir, true
	}
	return fs.ModeIrregular, true
}

// target returns where a symbolic link points, uncleaned.
func (e dirEntry) target(path string) (target string, ok bool, err error) {
	if e.mode&fs.ModeSymlink == 0 {
		return "", false, nil
	}
	target, err = os.Readlink(path)
	return target, true, err
}

// canonicalName is the identity: a path without links has one name.
func canonicalName(path string) string { return path }
