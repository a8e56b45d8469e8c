//go:build unix

package durable

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Stamp tells whether a file is as it was: the same one, of that size and mode, written and changed last at those times.
// Who writes a file can set back the one time, not the other. The zero value is that of no file.
type Stamp struct {
	device, inode  uint64
	seconds, nanos int64 // of the last write
	since, within  int64 // seconds and nanoseconds of the last change of any kind
	size           int64
	mode           uint32
}

// Same reports whether both are of a file that did not change between them.
func (s Stamp) Same(as Stamp) bool { return s == as && s != Stamp{} }

// StampOf returns the stamp of an open file.
func StampOf(f *os.File) (Stamp, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return Stamp{}, err
	}
	var st unix.Stat_t
	failed := conn.Control(func(fd uintptr) { err = unix.Fstat(int(fd), &st) })
	if err = errors.Join(failed, err); err != nil {
		return Stamp{}, &fs.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	return stampOf(&st), nil
}

func stampOf(st *unix.Stat_t) Stamp {
	seconds, nanos := st.Mtim.Unix()
	since, within := st.Ctim.Unix()
	return Stamp{uint64(st.Dev), st.Ino, seconds, nanos, since, within, st.Size, uint32(st.Mode)}
}

// Look returns the stamp of what stands at a path, without following it. It costs less than os.Lstat.
func Look(path string) (Stamp, error) { return look(path, unix.AT_SYMLINK_NOFOLLOW) }

// LookThrough is Look for where the path leads.
func LookThrough(path string) (Stamp, error) { return look(path, 0) }

func look(path string, flags int) (Stamp, error) {
	var st unix.Stat_t
	err := unix.Fstatat(unix.AT_FDCWD, path, &st, flags)
	for errors.Is(err, unix.EINTR) {
		err = unix.Fstatat(unix.AT_FDCWD, path, &st, flags)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Stamp{}, fs.ErrNotExist
	case err != nil:
		return Stamp{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return stampOf(&st), nil
}
