//go:build !unix

package credentials

import (
	"fmt"
	"os"
)

// CheckPrivate refuses links and devices. Here a file's mode does not tell who may read it: that is inherited from the
// user's profile directory.
func CheckPrivate(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() && !info.IsDir() {
		return fmt.Errorf("%s is neither a file nor a directory: refused", path)
	}
	return nil
}

// MakePrivate does nothing: here the folder decides who may open a file.
func MakePrivate(string) error { return nil }
