//go:build unix

package credentials

import (
	"fmt"
	"os"
	"syscall"
)

// CheckPrivate refuses what another user can read or write, or could have put there: wrong mode, wrong
// owner, a symbolic link, anything that is neither a file nor a directory.
func CheckPrivate(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() && !info.IsDir() {
		return fmt.Errorf("%s is neither a file nor a directory: refused", path)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return &OpenError{Path: path, Mode: info.Mode()}
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to another user: refused", path)
	}
	return nil
}

// MakePrivate takes the rights of others at path away.
func MakePrivate(path string) error { return os.Chmod(path, 0o600) }
