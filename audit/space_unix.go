//go:build unix

package audit

import (
	"errors"
	"syscall"
)

// errFull is what a write to a full disk fails with.
const errFull = syscall.ENOSPC

// noSpace reports whether a write failed for want of room, which may come back.
func noSpace(err error) bool {
	return errors.Is(err, errFull) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}
