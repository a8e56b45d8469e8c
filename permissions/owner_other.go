//go:build !unix

package permissions

import (
	"fmt"
	"io/fs"
)

// checkFile refuses what is not a plain file. Who may write it is up to the access list of the directory,
// which the mode does not show.
func checkFile(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	return nil
}

// syncDir does nothing: these systems keep a rename once it returned, and open no directory for writing.
func syncDir(string) error { return nil }
