//go:build unix

package rag

import (
	"io/fs"
	"syscall"
)

// hasOtherNames reports whether the file has hard links.
func hasOtherNames(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink > 1
}
