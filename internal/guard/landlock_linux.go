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

// errNoScopes reports that this kernel's Landlock has no scopes: the wall stands, but signals pass it.
var errNoScopes = errors.New("this kernel's Landlock has no scopes")

// Rights that Landlock distinguishes, with the version that added them.
const (
	onFiles  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_READ_FILE
	reads    = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	version1 = 1<<13 - 1
	refer    = unix.LANDLOCK_ACCESS_FS_REFER     // 2
	truncate = unix.LANDLOCK_ACCESS_FS_TRUNCATE  // 3
	ioctlDev = unix.LANDLOCK_ACCESS_FS_IOCTL_DEV // 5
)

// landlock restricts this thread and what it becomes. No signal and no abstract socket leads out. Hidden files, and
// files outside the box, cannot be reached. Landlock allows and cannot deny, so everything beside a hidden path is
// allowed as it is now: what is made later, directly in a folder above a hidden path, cannot be reached. If w is nil,
// nothing is hidden. port, if not 0, is the proxy's port.
func landlock(w *Wall, port uint64) error {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		if w == nil {
			return errNoScopes
		}
		return fmt.Errorf("this kernel has no Landlock: %w", errno)
	}
	attr, err := handled(abi, w)
	if err != nil {
		return err
	}
	set, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return fmt.Errorf("make a Landlock ruleset: %w", errno)
	}
	defer unix.Close(int(set))
	if w != nil {
		r := ruleset{set: int(set), all: attr.Handled_access_fs, hidden: existing(w.Hidden), fixed: fixedFolders(w)}
		if err := r.allowFiles(w); err != nil {
			return err
		}
	}
	if port != 0 {
		rule := netPort{access: unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, port: port}
		if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, set, ruleNetPort, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
			return fmt.Errorf("allow the proxy: %w", errno)
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, set, 0, 0); errno != 0 {
		return fmt.Errorf("enforce a Landlock ruleset: %w", errno)
	}
	return nil
}

// handled returns the rights that are denied unless a rule allows them.
func handled(abi uintptr, w *Wall) (attr unix.LandlockRulesetAttr, err error) {
	if abi >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	if w == nil {
		if abi < 6 {
			err = errNoScopes
		}
		return attr, err
	}
	attr.Handled_access_fs = version1
	for v, right := range map[uintptr]uint64{2: refer, 3: truncate, 5: ioctlDev} {
		if abi >= v {
			attr.Handled_access_fs |= right
		}
	}
	if w.Box != nil && w.Box.Net != OpenNet {
		if abi < 4 {
			return attr, errors.New("this kernel's Landlock has no rules for the network")
		}
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_CONNECT_TCP | unix.LANDLOCK_ACCESS_NET_BIND_TCP
	}
	return attr, nil
}

// netPort is the kernel's landlock_net_port_attr, and ruleNetPort its rule type.
type netPort struct{ access, port uint64 }

const ruleNetPort = 2

// fixedFolders returns the folders among the fixed paths.
func fixedFolders(w *Wall) []string {
	return slices.DeleteFunc(existing(w.Fixed), func(path string) bool {
		info, err := os.Stat(path)
		return err != nil || !info.IsDir()
	})
}

// ruleset builds the rules of landlock.
type ruleset struct {
	set           int
	all           uint64 // every right that is distinguished
	hidden, fixed []string
}

// allowFiles allows everything that is not hidden or, if there is a box, what is in it.
func (r *ruleset) allowFiles(w *Wall) error {
	if w.Box == nil {
		return r.allowBelow("/", r.all)
	}
	for _, p := range w.Box.sortedPaths() {
		rights := uint64(reads)
		if p.write {
			rights = r.all
		}
		if path, ok := resolve(p.path); ok {
			if err := r.allowBelow(path, rights); err != nil {
				return err
			}
		}
	}
	for _, path := range []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"} {
		if err := r.allow(path, r.all); err != nil {
			return err
		}
	}
	return r.allow("/proc", reads)
}

// allowBelow gives rights at a path and below, except at hidden paths, and read rights only at fixed ones.
func (r *ruleset) allowBelow(path string, rights uint64) error {
	within := func(p string) bool { return strings.HasPrefix(p+"/", strings.TrimSuffix(path, "/")+"/") }
	around := func(p string) bool { return p == path || strings.HasPrefix(path, p+"/") }
	switch {
	case slices.ContainsFunc(r.hidden, around):
		return nil
	case slices.ContainsFunc(r.fixed, around):
		return r.allow(path, rights&reads)
	case !slices.ContainsFunc(r.hidden, within) && !slices.ContainsFunc(r.fixed, within):
		return r.allow(path, rights)
	}
	if err := r.allow(path, unix.LANDLOCK_ACCESS_FS_READ_DIR); err != nil {
		return err
	}
	children, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("look into %s: %w", path, err)
	}
	for _, c := range children {
		if c.Type()&os.ModeSymlink != 0 {
			continue
		}
		if err := r.allowBelow(filepath.Join(path, c.Name()), rights); err != nil {
			return err
		}
	}
	return nil
}

// allow gives rights at a path and below it. A path that is gone or cannot be opened needs none.
func (r *ruleset) allow(path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) {
			return nil
		}
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	if rights &= r.all; stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= onFiles | truncate | ioctlDev
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.set), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
		if strings.HasPrefix(path, "/proc/") || errno == unix.EBADFD { // one of the kernel's own file systems
			return nil
		}
		return fmt.Errorf("allow %s: %w", path, errno)
	}
	return nil
}
