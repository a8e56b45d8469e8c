//go:build unix

package durable

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Stamp shows whether a file has changed: in identity, size, mode, or the times of the last write and of the last
// change of any kind. A writer can set back the former time, not the latter. The zero value stands for no file.
type Stamp struct {
	device, inode  uint64
	seconds, nanos int64 // of the last write
	since, within  int64 // seconds and nanoseconds of the last change of any kind
	size           int64
	mode           uint32
}

// Same reports whether both stamps are of the same, unchanged file.
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

// Look returns the stamp of path, without following a link. It is cheaper than os.Lstat.
func Look(path string) (Stamp, error) { return look(path, unix.AT_SYMLINK_NOFOLLOW) }

// LookThrough is Look, but follows links.
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
