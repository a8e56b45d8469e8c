//go:build linux || darwin

package doctor

import "syscall"

// freeBytes returns how many bytes this user can still write to a file system.
func freeBytes(dir string) (int64, bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}
