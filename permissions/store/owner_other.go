//go:build !unix

package store

import (
	"fmt"
	"io/fs"
)

// checkFile refuses anything but a plain file. The access list of the directory, which the mode does not show, says who
// may write it.
func checkFile(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	return nil
}
