package guard

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// errNoScopes says that this kernel's Landlock knows no scopes: the wall stands, and signals pass it.
var errNoScopes = errors.New("this kernel's Landlock has no scopes")

// Rights that Landlock tells apart, by the version that brought them.
const (
	onFiles  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_READ_FILE
	version1 = 1<<13 - 1
	refer    = unix.LANDLOCK_ACCESS_FS_REFER     // 2
	truncate = unix.LANDLOCK_ACCESS_FS_TRUNCATE  // 3
	ioctlDev = unix.LANDLOCK_ACCESS_FS_IOCTL_DEV // 5
)

// landlock restricts this thread, and what it becomes: no signal and no abstract socket leads out, and nothing reaches
// what is hidden. Landlock allows and cannot deny, so everything beside that is allowed as it is now: what is made later
// directly in a folder above cannot be reached. nil hides nothing.
func landlock(w *Wall) error {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		if w == nil {
			return errNoScopes
		}
		return fmt.Errorf("this kernel has no Landlock: %w", errno)
	}
	var attr unix.LandlockRulesetAttr
	if abi >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	} else if w == nil {
		return errNoScopes
	}
	if w != nil {
		attr.Handled_access_fs = version1
		for v, right := range map[uintptr]uint64{2: refer, 3: truncate, 5: ioctlDev} {
			if abi >= v {
				attr.Handled_access_fs |= right
			}
		}
	}
	set, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return fmt.Errorf("make a Landlock ruleset: %w", errno)
	}
	defer unix.Close(int(set))
	if attr.Handled_access_fs != 0 {
		if err := allowBeside(int(set), attr.Handled_access_fs, w); err != nil {
			return err
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, set, 0, 0); errno != 0 {
		return fmt.Errorf("enforce a Landlock ruleset: %w", errno)
	}
	return nil
}

// allowBeside allows everything but what is hidden, and reading in folders that are fixed.
func allowBeside(set int, rights uint64, w *Wall) error {
	hidden := existing(w.Hidden)
	fixed := slices.DeleteFunc(existing(w.Fixed), func(path string) bool {
		info, err := os.Stat(path)
		return err != nil || !info.IsDir()
	})
	above := map[string]bool{"/": true}
	for _, path := range slices.Concat(hidden, fixed) {
		for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
			above[dir] = true
		}
	}
	if err := allow(set, "/", unix.LANDLOCK_ACCESS_FS_READ_DIR); err != nil {
		return err
	}
	for _, dir := range fixed {
		if err := allow(set, dir, unix.LANDLOCK_ACCESS_FS_READ_FILE|unix.LANDLOCK_ACCESS_FS_READ_DIR|unix.LANDLOCK_ACCESS_FS_EXECUTE); err != nil {
			return err
		}
	}
	for dir := range above {
		children, err := os.ReadDir(dir)
		if err != nil {
			return fmt.Errorf("look into %s: %w", dir, err)
		}
		for _, c := range children {
			path := filepath.Join(dir, c.Name())
			of := rights
			switch {
			case above[path], slices.Contains(hidden, path), slices.Contains(fixed, path), c.Type()&os.ModeSymlink != 0:
				continue
			case !c.IsDir():
				of &= onFiles | truncate | ioctlDev
			}
			if err := allow(set, path, of); err != nil {
				return err
			}
		}
	}
	return nil
}

// allow gives rights at a path and below it. What is gone, or may not be opened, needs none.
func allow(set int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) {
			return nil
		}
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer unix.Close(fd)
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(set), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
		if strings.HasPrefix(path, "/proc/") || errno == unix.EBADFD { // a file system of the kernel's own
			return nil
		}
		return fmt.Errorf("allow %s: %w", path, errno)
	}
	return nil
}
