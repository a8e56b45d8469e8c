//go:build unix

package audit

import (
	"errors"
	"syscall"
)

// noSpace reports whether a write failed for want of room, which may come back.
func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}
