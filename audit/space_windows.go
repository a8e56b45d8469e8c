package audit

import (
	"errors"

	"golang.org/x/sys/windows"
)

// errFull is what a write to a full disk fails with.
const errFull = windows.ERROR_DISK_FULL

// noSpace reports whether a write failed for want of room, which may come back.
func noSpace(err error) bool {
	return errors.Is(err, errFull) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL) || errors.Is(err, windows.ERROR_DISK_QUOTA_EXCEEDED)
}
