package durable

import (
	"io/fs"
	"os"
	"time"

	"github.com/rogpeppe/go-internal/robustio"
	"golang.org/x/sys/windows"
)

// openShared opens a file for reading. Unlike os.Open it lets others replace the file meanwhile, and it retries while
// another process replaces it.
func openShared(path string) (*os.File, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	for wait := time.Millisecond; ; wait *= 2 {
		handle, err := windows.CreateFile(name, windows.GENERIC_READ, share, nil, windows.OPEN_EXISTING, windows.FILE_ATTRIBUTE_NORMAL|windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
		if err == nil {
			return os.NewFile(uintptr(handle), path), nil
		}
		if wait > time.Second || !robustio.IsEphemeralError(err) || os.IsNotExist(err) {
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
		time.Sleep(wait)
	}
}
