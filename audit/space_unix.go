//go:build unix

package audit

import (
	"errors"
	"syscall"
)

// errFull is the error of a write to a full disk.
const errFull = syscall.ENOSPC

// noSpace reports whether a write failed for lack of room. There may be room again later.
func noSpace(err error) bool {
	return errors.Is(err, errFull) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}
