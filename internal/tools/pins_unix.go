//go:build unix

package tools

import (
	"errors"
	"os"
)

// syncFolder makes a rename in the folder last.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
