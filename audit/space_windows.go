package audit

import (
	"errors"

	"golang.org/x/sys/windows"
)

// errFull is the error of a write to a full disk.
const errFull = windows.ERROR_DISK_FULL

// noSpace reports whether a write failed for lack of room. There may be room again later.
func noSpace(err error) bool {
	return errors.Is(err, errFull) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL) || errors.Is(err, windows.ERROR_DISK_QUOTA_EXCEEDED)
}
