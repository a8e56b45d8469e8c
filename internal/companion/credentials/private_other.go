//go:build !unix

package credentials

import (
	"fmt"
	"os"
)

// CheckPrivate refuses links and devices. Who may read a file is inherited from the user's profile
// directory here, and not told by its mode.
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

// MakePrivate has nothing to do: who may open a file here is told by the folder that it is in.
func MakePrivate(string) error { return nil }
