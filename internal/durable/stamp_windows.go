package durable

import (
	"io/fs"
	"os"
)

// Stamp shows whether a file has changed: whether it is the same file, with the same size, mode and time of the last
// write. The zero value stands for no file.
type Stamp struct{ info fs.FileInfo }

// Same reports whether both stamps are of the same, unchanged file.
func (s Stamp) Same(as Stamp) bool {
	return s.info != nil && as.info != nil && s.info.ModTime().Equal(as.info.ModTime()) &&
		s.info.Size() == as.info.Size() && s.info.Mode() == as.info.Mode() && os.SameFile(s.info, as.info)
}

// StampOf returns the stamp of an open file.
func StampOf(f *os.File) (Stamp, error) {
	info, err := f.Stat()
	return Stamp{info}, err
}

// Look returns the stamp of path, without following a link.
func Look(path string) (Stamp, error) {
	info, err := os.Lstat(path)
	return Stamp{info}, err
}

// LookThrough is Look, but follows links.
func LookThrough(path string) (Stamp, error) {
	info, err := os.Stat(path)
	return Stamp{info}, err
}
