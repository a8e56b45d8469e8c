package guard

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// confine puts up the part of the wall that holds for a whole process, the keeper included.
func (o *order) confine() error {
	switch o.Kind {
	case None, Landlock:
		return nil
	case Namespaces:
	default:
		return fmt.Errorf("unknown wall %q", o.Kind)
	}
	if o.Maps {
		if err := o.mapSelf(); err != nil {
			return err
		}
	}
	if err := cover(existing(o.Hidden), existing(o.Fixed)); err != nil {
		return err
	}
	return reenter()
}

// restrict puts up the rest of the wall. It holds for this thread and for what the thread starts: the keeper's other
// threads stay outside, so the program cannot signal or trace the keeper.
func (o *order) restrict() error {
	if o.Kind == None {
		return nil
	}
	if err := renounce(); err != nil {
		return err
	}
	var hidden []string // of Namespaces: covered already, so Landlock only keeps signals in
	if o.Kind == Landlock {
		hidden = existing(o.Hidden)
	}
	if err := landlock(hidden); err != nil && !errors.Is(err, errNoScopes) {
		return err
	}
	return noTyping()
}

// existing resolves paths, and leaves out those that are not there or lie in another one.
func existing(paths []string) []string {
	var list []string
	for _, p := range paths {
		if p, ok := real(p); ok && p != "/" && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	slices.Sort(list)
	var out []string
	for _, p := range list {
		if !slices.ContainsFunc(out, func(above string) bool { return strings.HasPrefix(p, above+"/") }) {
			out = append(out, p)
		}
	}
	return out
}

// mapSelf maps the user and the group to themselves, which is all that who is not root may do.
func (o *order) mapSelf() error {
	for _, f := range [][2]string{{"setgroups", "deny"}, {"uid_map", fmt.Sprintf("%d %d 1", o.UID, o.UID)}, {"gid_map", fmt.Sprintf("%d %d 1", o.GID, o.GID)}} {
		if err := os.WriteFile("/proc/self/"+f[0], []byte(f[1]), 0); err != nil {
			return err
		}
	}
	return nil
}

// cover lays something empty over what is hidden and makes what is fixed read-only. The folders above are pinned: a
// program that could rename one of them could put its own in place of callgate's.
func cover(hidden, fixed []string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("keep mounts to itself: %w", err)
	}
	pinned := map[string]bool{}
	pin := func(path string) error {
		var above []string
		for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
			above = append(above, dir)
		}
		for _, dir := range slices.Backward(above) {
			if pinned[dir] {
				continue
			}
			pinned[dir] = true
			if err := unix.Mount(dir, dir, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
				return fmt.Errorf("pin %s: %w", dir, err)
			}
		}
		return nil
	}
	for _, path := range slices.Concat(hidden, fixed) {
		if strings.HasPrefix(path, "/run/") || strings.HasPrefix(path, "/var/run/") {
			continue // the system's, or a socket: what stands there instead is nobody's rule
		}
		if err := pin(path); err != nil {
			return err
		}
	}
	for _, path := range fixed {
		if err := unix.Mount(path, path, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("fix %s: %w", path, err)
		}
		attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
		if err := unix.MountSetattr(unix.AT_FDCWD, path, 0, &attr); err != nil {
			return fmt.Errorf("fix %s: %w", path, err)
		}
	}
	for _, path := range hidden {
		info, err := os.Lstat(path)
		if err != nil {
			return fmt.Errorf("hide %s: %w", path, err)
		}
		if info.IsDir() {
			err = unix.Mount("none", path, "tmpfs", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "size=4k,mode=0555")
		} else {
			err = unix.Mount("/dev/null", path, "", unix.MS_BIND, "")
		}
		if err != nil {
			return fmt.Errorf("hide %s: %w", path, err)
		}
	}
	return nil
}

// reenter opens the working folder anew: as it was opened it lies below the covers, and with it all that is beside it.
func reenter() error {
	dir, err := unix.Getwd()
	if err != nil {
		return nil // it is gone: nothing can be opened from there
	}
	if err := unix.Chdir(dir); err != nil {
		return fmt.Errorf("enter %s again: %w", dir, err)
	}
	return nil
}

// renounce gives up, for the program too, what could take a cover off again or look into callgate. A namespace that the program makes for itself cannot either: there
// the kernel locks the mounts of this one.
func renounce() error {
	for _, c := range []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SYS_PTRACE, unix.CAP_SYS_MODULE, unix.CAP_SYS_RAWIO, unix.CAP_SYS_BOOT, unix.CAP_BPF, unix.CAP_PERFMON} {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) && !(errors.Is(err, unix.EPERM) && os.Geteuid() != 0) {
			return fmt.Errorf("give up capability %d: %w", c, err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("give up ambient capabilities: %w", err)
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&head, &data[0]); err != nil {
		return fmt.Errorf("read capabilities: %w", err)
	}
	data[0].Inheritable, data[1].Inheritable = 0, 0
	if err := unix.Capset(&head, &data[0]); err != nil {
		return fmt.Errorf("give up capabilities: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	return nil
}
