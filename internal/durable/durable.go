// Package durable writes small files that processes share: whole or not at all, one writer at a time.
package durable

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/rogpeppe/go-internal/robustio"
)

// Temporary is how the names end of files that are not whole yet. They begin with a dot. A crash may leave one.
const Temporary = ".tmp"

// Replace gives the file at path new contents in one step: at any moment, and after a crash, it is the old one
// or the new one, whole, and it is the new one once Replace has returned nil. The folder MUST exist. Of several
// that replace one file at a time the last wins; who changes what was there MUST hold a lock meanwhile.
func Replace(path string, data []byte, perm fs.FileMode) error {
	if err := replace(path, data, perm, true); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// Put is Replace for a file of mode 0600 that a power cut may lose or leave empty. It costs no wait for the disk: what
// it wrote survives the end of the process, however it ends.
func Put(path string, data []byte) error { return replace(path, data, 0o600, false) }

func replace(path string, data []byte, perm fs.FileMode, sync bool) (err error) {
	folder := filepath.Dir(path)
	f, err := os.CreateTemp(folder, "."+filepath.Base(path)+".*"+Temporary) // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(data)
	if err == nil && perm != 0o600 {
		err = f.Chmod(perm)
	}
	if err == nil && sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return Rename(f.Name(), path)
}

// stale is how old a temporary file is at least that a crash has left: to write one takes milliseconds.
const stale = 10 * time.Minute

// Sweep removes temporary files of Replace that crashes have left in the folder and, as deep as that says, in those
// below. Errors of single files are not told: the next sweep meets them again.
func Sweep(folder string, depth int) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		if e.IsDir() && depth > 0 {
			Sweep(path, depth-1)
			continue
		}
		if !strings.HasPrefix(e.Name(), ".") || !strings.HasSuffix(e.Name(), Temporary) || !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > stale {
			_ = os.Remove(path)
		}
	}
}

// Rename replaces to. On Windows that fails while another process reads to without sharing it, so it tries for two
// seconds.
func Rename(from, to string) error { return robustio.Rename(from, to) }

// SyncFolder makes the names in a folder last. Windows has no call for that: NTFS journals names by itself.
func SyncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// lockRetry is how often a lock that another process holds is asked for.
const lockRetry = 5 * time.Millisecond

// Lock takes the lock file at path, which it makes if need be, and waits for others until ctx ends. The system
// gives the lock back when the process ends, however it ends.
func Lock(ctx context.Context, path string) (unlock func() error, err error) {
	if err := Regular(path); err != nil {
		return nil, err
	}
	lock := flock.New(path, flock.SetPermissions(0o600))
	if ok, err := lock.TryLockContext(ctx, lockRetry); !ok {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return lock.Close, nil
}

// ErrHeld is what TryLock returns while another process holds the lock.
var ErrHeld = errors.New("another process has locked it")

// TryLock is Lock for who does not wait.
func TryLock(path string) (unlock func() error, err error) {
	if err := Regular(path); err != nil {
		return nil, err
	}
	lock := flock.New(path, flock.SetPermissions(0o600))
	ok, err := lock.TryLock()
	if err == nil && !ok {
		err = ErrHeld
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return lock.Close, nil
}

// lockWait bounds how long Locked waits: a write takes milliseconds.
const lockWait = 10 * time.Second

// Locked runs f while this process holds the lock file at path. It waits for others ten seconds at most.
func Locked(path string, f func() error) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	unlock, err := Lock(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return f()
}
