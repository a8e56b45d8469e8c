//go:build unix

package cluster

import (
	"fmt"
	"os"
	"syscall"
)

// private refuses a secret that other users read: by anybody, or by its group where the file is this user's own. A file
// that root gives to a group, as orchestrators mount secrets, is its group's.
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
