package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"callgate/internal/durable"
)

// volume is where segments are: a folder, or memory. This file shows everything that a full disk or a kill can break.
type volume interface {
	// create makes a new segment that this process holds until it calls release.
	create(name string) (medium, error)
	// intact reports whether others will find under name what is written to m.
	intact(name string, m medium) bool
	// release ends the hold on a segment that this process no longer writes.
	release(name string) error
	// open opens a segment for reading.
	open(name string) (reader, error)
	// list returns all segments, oldest first.
	list() ([]listed, error)
	// free reports whether nobody writes the segment. The caller holds Store.mu.
	free(name string) (bool, error)
	// sweep removes every segment that nobody holds and for which remove returns true, oldest first.
	sweep(remove func(listed) bool) error
}

// listed is one segment in a volume.
type listed struct {
	name     string
	size     int64
	modified time.Time
}

// medium is a segment being written. What was written counts only after Sync has returned.
type medium interface {
	io.Writer
	io.ReaderAt
	io.Closer
	Sync() error
	Truncate(size int64) error
}

type reader interface {
	io.ReaderAt
	io.Closer
}

const (
	segmentExt = ".ckpt"
	lockExt    = ".lock"
	sweepLock  = "sweep.lock"
)

// folder is a volume on disk, shared by several processes. A process that writes a segment holds the lock on its name
// plus lockExt. If the lock can be taken, its process has ended. Segments are made and removed under sweep.lock, so
// that nobody removes a lock file that another process has just begun to hold.
type folder struct {
	dir  string
	held map[string]func() error // functions that release the locks; guarded by Store.mu
}

func openFolder(dir string) (*folder, error) {
	return &folder{dir: dir, held: map[string]func() error{}}, makeFolder(dir)
}

// makeFolder makes dir, with no access for other users.
func makeFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder", dir)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return os.Chmod(dir, 0o700)
	}
	return nil
}

// exclusive runs f while no other process makes or removes segments.
func (v *folder) exclusive(f func() error) error {
	return durable.Locked(filepath.Join(v.dir, sweepLock), f)
}

func (v *folder) create(name string) (m medium, err error) {
	if err := makeFolder(v.dir); err != nil { // somebody may have removed it
		return nil, err
	}
	err = v.exclusive(func() error {
		path := filepath.Join(v.dir, name)
		unlock, err := durable.TryLock(path + lockExt)
		if err != nil {
			return err
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_APPEND|os.O_RDWR, 0o600)
		if err == nil {
			err = durable.SyncFolder(v.dir)
		}
		if err != nil {
			return errors.Join(err, unlock())
		}
		m, v.held[name] = f, unlock
		return nil
	})
	return m, err
}

func (v *folder) intact(name string, m medium) bool {
	ours, err := m.(*os.File).Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(filepath.Join(v.dir, name))
	return err == nil && os.SameFile(ours, there)
}

func (v *folder) release(name string) error {
	unlock := v.held[name]
	delete(v.held, name)
	return errors.Join(unlock(), removeIfExists(filepath.Join(v.dir, name+lockExt)))
}

func (v *folder) open(name string) (reader, error) {
	f, err := durable.Open(filepath.Join(v.dir, name))
	if err != nil {
		return nil, err // not a nil *os.File in an interface
	}
	return f, nil
}

func (v *folder) list() (found []listed, err error) {
	names, err := os.ReadDir(v.dir) // sorted, and names begin with a time
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, entry := range names {
		if !strings.HasSuffix(entry.Name(), segmentExt) {
			continue
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			found = append(found, listed{entry.Name(), info.Size(), info.ModTime()})
		}
	}
	return found, err
}

func (v *folder) sweep(remove func(listed) bool) error {
	return v.exclusive(func() error {
		all, err := v.list()
		for _, s := range all {
			free, lockErr := v.abandoned(s.name)
			if !free || !remove(s) {
				err = errors.Join(err, lockErr)
				continue
			}
			path := filepath.Join(v.dir, s.name)
			err = errors.Join(err, lockErr, removeIfExists(path), removeIfExists(path+lockExt))
		}
		return errors.Join(err, v.removeOrphans())
	})
}

func (v *folder) free(name string) (free bool, err error) {
	err = v.exclusive(func() error { free, err = v.abandoned(name); return err })
	return free, err
}

// abandoned reports whether nobody writes the segment. The caller holds sweep.lock.
func (v *folder) abandoned(name string) (bool, error) {
	if v.held[name] != nil {
		return false, nil
	}
	path := filepath.Join(v.dir, name+lockExt)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	unlock, err := durable.TryLock(path)
	if errors.Is(err, durable.ErrHeld) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, unlock()
}

// removeOrphans removes lock files whose segment is gone.
func (v *folder) removeOrphans() (err error) {
	names, err := filepath.Glob(filepath.Join(v.dir, "*"+segmentExt+lockExt))
	for _, path := range names {
		if _, statErr := os.Lstat(strings.TrimSuffix(path, lockExt)); errors.Is(statErr, fs.ErrNotExist) {
			err = errors.Join(err, removeIfExists(path))
		}
	}
	return err
}

// removeIfExists removes a file that another process may already have removed.
func removeIfExists(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
