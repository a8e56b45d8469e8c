package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"callgate/internal/durable"
)

// disk has every durable operation of the package; nothing else writes. So this file shows everything that a power cut
// or a full disk can break. Tests break each operation once.
type disk interface {
	// makeDir creates dir and its parents, with no access for other users.
	makeDir(dir string) error
	// create creates a file for appending. It MUST fail if path exists.
	create(path string) (file, error)
	// openAppend opens path for reading and appending, and creates it if it is missing.
	openAppend(path string) (file, error)
	// syncDir makes the names in dir durable.
	syncDir(dir string) error
	remove(path string) error
	// lock takes the advisory lock of path, waiting at most wait. It returns errLocked if it does not get the lock.
	lock(path string, wait time.Duration) (io.Closer, error)
}

type file interface {
	io.Writer
	io.ReaderAt
	io.Closer
	Sync() error
	Stat() (os.FileInfo, error)
	Truncate(size int64) error
}

var errLocked = errors.New("locked by another process")

// lockRetry is how often lock tries again.
const lockRetry = 5 * time.Millisecond

type osDisk struct{}

func (osDisk) makeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return os.Chmod(dir, 0o700)
	}
	return nil
}

func (osDisk) create(path string) (file, error) {
	return openFile(path, os.O_CREATE|os.O_EXCL|os.O_APPEND|os.O_RDWR)
}

func (osDisk) openAppend(path string) (file, error) {
	return openFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR)
}

// openFile opens a regular file. On failure it returns a nil interface, not one that holds a nil *os.File.
func openFile(path string, flags int) (file, error) {
	if err := durable.Regular(path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (osDisk) remove(path string) error { return os.Remove(path) }

func (osDisk) syncDir(dir string) error { return durable.SyncFolder(dir) }

func (osDisk) lock(path string, wait time.Duration) (io.Closer, error) {
	if err := durable.Regular(path); err != nil {
		return nil, err
	}
	l := flock.New(path, flock.SetPermissions(0o600))
	locked, err := l.TryLock()
	if !locked && err == nil && wait > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), wait)
		defer cancel()
		locked, err = l.TryLockContext(ctx, lockRetry)
	}
	if locked {
		return l, nil
	}
	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		err = errLocked
	}
	return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
}
