//go:build unix

package tools

import (
	"io/fs"
	"os"
	"syscall"
)

// linkTarget returns where a symbolic link points, uncleaned.
func linkTarget(path string, info fs.FileInfo) (target string, ok bool, err error) {
	if info.Mode()&fs.ModeSymlink == 0 {
		return "", false, nil
	}
	target, err = os.Readlink(path)
	return target, true, err
}

func hardLinks(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 0
}

// canonicalName is the identity: a path without links has one name.
func canonicalName(path string) string { return path }
