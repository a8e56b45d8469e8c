// Package durable writes small files that processes share: completely or not at all, one writer at a time.
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

// Temporary is the suffix of files that are not complete yet. Their names begin with a dot. A crash may leave one.
const Temporary = ".tmp"

// Replace gives the file at path new contents in one step. At any moment, and after a crash, the file is either the old
// one or the new one, and it is the new one once Replace has returned nil. The folder MUST exist. If several callers
// replace a file, the last one wins. A caller that changes the old contents MUST hold a lock meanwhile.
func Replace(path string, data []byte, perm fs.FileMode) error {
	if err := replace(path, data, perm, true); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// Put is Replace for a file of mode 0600 that a power cut may lose or empty. It does not wait for the disk. What it
// wrote survives the end of the process, even a kill.
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

// stale is the least age of a temporary file left by a crash. Writing one takes milliseconds.
const stale = 10 * time.Minute

// Sweep removes temporary files that crashes have left in the folder and, down to depth, in the folders below it. It
// ignores errors: the next sweep tries again.
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

// Rename renames from to to, which it replaces. On Windows it retries for two seconds, because it fails while another
// process reads to without sharing it.
func Rename(from, to string) error { return robustio.Rename(from, to) }

// SyncFolder makes the names in a folder durable. Windows has no call for that: NTFS journals names by itself.
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

// lockRetry is how often Lock retries while another process holds the lock.
const lockRetry = 5 * time.Millisecond

// Lock takes the lock file at path, which it creates if needed, and waits for other processes until ctx ends. The
// system releases the lock when the process ends, even by a kill.
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

// ErrHeld is in the error of TryLock while another process holds the lock.
var ErrHeld = errors.New("another process has locked it")

// TryLock is Lock without waiting.
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

// lockWait bounds how long Locked waits. A write takes milliseconds.
const lockWait = 10 * time.Second

// Locked runs f while this process holds the lock file at path. It waits at most ten seconds for the lock.
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
