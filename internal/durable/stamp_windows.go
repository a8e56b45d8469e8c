package durable

import (
	"io/fs"
	"os"
)

// Stamp tells whether a file is as it was: the same one, of that size and mode, written last at that time. The zero
// value is that of no file.
type Stamp struct{ info fs.FileInfo }

// Same reports whether both are of a file that did not change between them.
func (s Stamp) Same(as Stamp) bool {
	return s.info != nil && as.info != nil && s.info.ModTime().Equal(as.info.ModTime()) &&
		s.info.Size() == as.info.Size() && s.info.Mode() == as.info.Mode() && os.SameFile(s.info, as.info)
}

// StampOf returns the stamp of an open file.
func StampOf(f *os.File) (Stamp, error) {
	info, err := f.Stat()
	return Stamp{info}, err
}

// Look returns the stamp of what stands at a path, without following it.
func Look(path string) (Stamp, error) {
	info, err := os.Lstat(path)
	return Stamp{info}, err
}

// LookThrough is Look for where the path leads.
func LookThrough(path string) (Stamp, error) {
	info, err := os.Stat(path)
	return Stamp{info}, err
}
