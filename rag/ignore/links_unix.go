//go:build unix

package ignore

import (
	"io/fs"
	"syscall"
)

// HasOtherNames reports whether the file has hard links.
func HasOtherNames(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink > 1
}
