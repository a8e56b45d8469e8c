//go:build unix

package checkpoint

import (
	"io/fs"
	"syscall"
)

// identity returns what, besides size and modification time, distinguishes a file from others and from its earlier
// states.
func identity(info fs.FileInfo) (id [2]uint64) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return [2]uint64{uint64(st.Ino), uint64(changeTime(st))}
	}
	return id
}
