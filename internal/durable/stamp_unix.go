//go:build unix

package durable

import (
	"errors"
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// Stamp tells whether a file is as it was: the same one, of that size and mode, written last at that time. The zero
// value is that of no file.
type Stamp struct {
	device, inode  uint64
	seconds, nanos int64
	size           int64
	mode           uint32
}

// Same reports whether both are of a file that did not change between them.
func (s Stamp) Same(as Stamp) bool { return s == as && s != Stamp{} }

// StampOf returns the stamp of the file that info is of.
func StampOf(info fs.FileInfo) Stamp {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Stamp{}
	}
	written := info.ModTime()
	return Stamp{uint64(st.Dev), st.Ino, written.Unix(), int64(written.Nanosecond()), st.Size, uint32(st.Mode)}
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
	seconds, nanos := st.Mtim.Unix()
	return Stamp{uint64(st.Dev), st.Ino, seconds, nanos, st.Size, uint32(st.Mode)}, nil
}
