//go:build unix

package lexical

import "golang.org/x/sys/unix"

// releasePages lets the system reclaim the memory of a mapped file. Later reads load it from the file again.
func releasePages(mapped []byte) error {
	if len(mapped) == 0 {
		return nil
	}
	return unix.Madvise(mapped, unix.MADV_DONTNEED)
}
