//go:build unix

package cluster

import (
	"fmt"
	"os"
	"syscall"
)

// private returns an error if other users can read a secret: everybody, or the group of this user's own file. A file of
// root's may be readable by its group, unless this process is root's, because orchestrators mount secrets that way.
func private(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	mode, open := info.Mode().Perm(), os.FileMode(0o077)
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Uid == 0 && os.Geteuid() != 0 {
		open = 0o027
	}
	if mode&open != 0 {
		return fmt.Errorf("%s is open to other users (mode %04o), and anybody who reads it can approve: run chmod 600 %s, and make a new secret if others may have read it", path, mode, path)
	}
	return nil
}
