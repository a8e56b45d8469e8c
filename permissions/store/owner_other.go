//go:build !unix

package store

import (
	"fmt"
	"io/fs"
)

// checkFile refuses anything but a regular file. Who may write to it is up to the access list of the directory, which
// the mode does not show.
func checkFile(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	return nil
}
