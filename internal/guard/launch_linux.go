package guard

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// confine puts up the part of the wall that applies to the whole process, including the keeper.
func (o *order) confine() error {
	switch o.Kind {
	case None, Landlock:
		return nil
	case Namespaces:
	default:
		return fmt.Errorf("unknown wall %q", o.Kind)
	}
	if o.Maps {
		if err := o.mapIDs(); err != nil {
			return err
		}
	}
	if err := cover(&o.Wall); err != nil {
		return err
	}
	dir, err := unix.Getwd()
	if err != nil {
		dir = "" // it is gone: nothing can be opened from there
	}
	if o.Wall.Box == nil {
		if err := ownTerminals(); err != nil {
			return err
		}
		return reenter(dir)
	}
	if o.Wall.Box.Net != OpenNet {
		if err := setUpLoopback(o.Proxy); err != nil {
			return err
		}
	}
	if err := o.Wall.Box.enter(); err != nil {
		return err
	}
	if err := reenter(dir); err != nil && !errors.Is(err, unix.ENOENT) { // not in the box: begin in the root
		return err
	}
	return nil
}

// restrict puts up the rest of the wall, for this thread and what it starts. The keeper's other threads stay outside,
// so the program cannot signal or trace the keeper.
func (o *order) restrict() error {
	if o.Kind == None {
		return nil
	}
	if err := renounce(); err != nil {
		return err
	}
	var w *Wall // with Namespaces, files are covered already, so Landlock only keeps signals in
	if o.Kind == Landlock {
		w = &o.Wall
	}
	if err := landlock(w, o.Port); err != nil && !errors.Is(err, errNoScopes) {
		return err
	}
	if box := o.Wall.Box; o.Kind == Landlock && box != nil && box.Net != OpenNet {
		if err := restrictSockets(box.Net == ProxyNet); err != nil {
			return err
		}
	}
	return denyTerminalInput()
}

// existing resolves paths, and leaves out those that are missing or lie inside another.
func existing(paths []string) []string {
	var list []string
	for _, p := range paths {
		if p, ok := resolve(p); ok && p != "/" && !slices.Contains(list, p) {
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

// mapIDs maps the user and the group to themselves, the only mapping that a user other than root may write.
func (o *order) mapIDs() error {
	for _, f := range [][2]string{{"setgroups", "deny"}, {"uid_map", fmt.Sprintf("%d %d 1", o.UID, o.UID)}, {"gid_map", fmt.Sprintf("%d %d 1", o.GID, o.GID)}} {
		if err := os.WriteFile("/proc/self/"+f[0], []byte(f[1]), 0); err != nil {
			return err
		}
	}
	return nil
}

// cover lays something empty over hidden paths and makes fixed paths read-only. It pins the folders above them: a
// program that could rename one could put its own in place of callgate's. Folders above sockets are not pinned, because
// no rule depends on what is in their place.
func cover(w *Wall) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("keep mounts to itself: %w", err)
	}
	for _, path := range w.Apart {
		_ = os.Mkdir(path, 0o700) // if callgate cannot make it, the program cannot either
	}
	hidden, fixed := existing(w.Hidden), existing(w.Fixed)
	if err := pin(slices.Concat(hidden, fixed)); err != nil {
		return err
	}
	for _, path := range fixed {
		if err := unix.Mount(path, path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("fix %s: %w", path, err)
		}
		attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
		if err := unix.MountSetattr(unix.AT_FDCWD, path, unix.AT_RECURSIVE, &attr); err != nil {
			return fmt.Errorf("fix %s: %w", path, err)
		}
	}
	for _, path := range existing(w.Apart) {
		if err := unix.Mount("none", path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=64m,mode=0700"); err != nil {
			return fmt.Errorf("set %s apart: %w", path, err)
		}
	}
	for _, path := range existing(slices.Concat(hidden, w.Sockets)) {
		if err := hide(path); err != nil {
			return fmt.Errorf("hide %s: %w", path, err)
		}
	}
	return nil
}

// hide covers a file or a folder with an empty one.
func hide(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return unix.Mount("none", path, "tmpfs", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "size=4k,mode=0555")
	}
	return unix.Mount("/dev/null", path, "", unix.MS_BIND, "")
}

// pin makes folders above paths mount points, which nobody can rename. Folders that the user could not rename anyway
// stay as they are: files moved between mounts have to be copied.
func pin(paths []string) error {
	above := map[string]bool{}
	for _, path := range paths {
		for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
			above[dir] = true
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(above)) { // a folder before its contents
		if !changeable(filepath.Dir(dir)) {
			continue
		}
		if err := unix.Mount(dir, dir, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("pin %s: %w", dir, err)
		}
	}
	return nil
}

// changeable reports whether this user can change a folder's contents, or can get the right to. It says true if it
// cannot tell.
func changeable(dir string) bool {
	var stat unix.Stat_t
	if unix.Stat(dir, &stat) != nil {
		return true
	}
	return int(stat.Uid) == os.Geteuid() || unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK, unix.AT_EACCESS) == nil
}

// ownTerminals gives the program private pseudo-terminals, so that it cannot open people's: it could read what they
// type and write what they see.
func ownTerminals() error {
	if _, err := os.Stat("/dev/pts/ptmx"); err != nil {
		return nil // this system has none
	}
	if err := unix.Mount("devpts", "/dev/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620"); err != nil {
		return fmt.Errorf("make terminals of its own: %w", err)
	}
	if info, err := os.Lstat("/dev/ptmx"); err == nil && info.Mode()&os.ModeSymlink == 0 {
		if err := unix.Mount("/dev/pts/ptmx", "/dev/ptmx", "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("make terminals of its own: %w", err)
		}
	}
	consoles, _ := filepath.Glob("/dev/tty[0-9]*") // the pattern is valid
	for _, path := range append(consoles, "/dev/console") {
		if unix.Access(path, unix.R_OK) != nil && unix.Access(path, unix.W_OK) != nil {
			continue
		}
		if err := hide(path); err != nil {
			return fmt.Errorf("hide %s: %w", path, err)
		}
	}
	return nil
}

// reenter enters the working folder again. As it was opened, it lies below the covers, and so does all that is beside
// it.
func reenter(dir string) error {
	if dir == "" {
		return nil
	}
	if err := unix.Chdir(dir); err != nil {
		return fmt.Errorf("enter %s again: %w", dir, err)
	}
	return nil
}

// renounce gives up, for the program too, all rights to remove a cover or look into callgate. The program cannot regain
// them in a namespace that it makes: there the kernel locks the mounts of this one.
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
