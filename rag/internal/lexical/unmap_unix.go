//go:build unix

package lexical

import "golang.org/x/sys/unix"

// giveUp lets the system take back the memory of a file that is mapped for reading. What is read of it later is
// read from the file again.
func giveUp(mapped []byte) error {
	if len(mapped) == 0 {
		return nil
	}
	return unix.Madvise(mapped, unix.MADV_DONTNEED)
}
