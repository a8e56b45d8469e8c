//go:build unix

package credentials

import (
	"fmt"
	"os"
	"syscall"
)

// CheckPrivate refuses a path that another user can read or write, or could have put there: one with the wrong mode or
// owner, a symbolic link, or anything else that is neither a file nor a directory.
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

// MakePrivate takes all rights at path away from other users.
func MakePrivate(path string) error { return os.Chmod(path, 0o600) }
