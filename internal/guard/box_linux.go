package guard

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// proxyAddress is where a program in a private network finds the proxy.
const proxyAddress = "127.0.0.1:3128"

// Places in the new root while it is built.
const (
	oldRoot = "/old"
	newRoot = "/new"
)

// enter gives this process a root that holds nothing but the box. The process MUST be in a private mount and process
// namespace, with the wall's covers in place.
func (b *Box) enter() error {
	if err := unix.Mount("none", "/tmp", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755"); err != nil {
		return fmt.Errorf("make a root: %w", err)
	}
	for _, dir := range []string{oldRoot, newRoot} {
		if err := os.Mkdir("/tmp"+dir, 0o755); err != nil {
			return err
		}
	}
	if err := unix.PivotRoot("/tmp", "/tmp"+oldRoot); err != nil {
		return fmt.Errorf("change the root: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return err
	}
	if err := unix.Mount("none", newRoot, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size=1g"); err != nil {
		return fmt.Errorf("make a root: %w", err)
	}
	if err := b.furnish(); err != nil {
		return err
	}
	if err := unix.Unmount(oldRoot, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the old root: %w", err)
	}
	// Leave the root that both hung from in the same way. The new root has no folder for it, so stack it on top for a
	// moment.
	upon, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(upon)
	if err := unix.Chdir(newRoot); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("change the root: %w", err)
	}
	if err := unix.Fchdir(upon); err != nil {
		return err
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the old root: %w", err)
	}
	return unix.Chdir("/")
}

// furnish fills the new root with the contents of the box and with what programs expect.
func (b *Box) furnish() error {
	if home := os.Getenv("HOME"); filepath.IsAbs(home) && filepath.Clean(home) != "/" { // an empty home, at least
		if err := os.MkdirAll(newRoot+filepath.Clean(home), 0o755); err != nil {
			return err
		}
	}
	for _, dir := range []string{"/proc", "/dev", "/dev/shm", "/dev/pts", "/tmp", "/var/tmp", "/run"} {
		if err := os.MkdirAll(newRoot+dir, 0o755); err != nil {
			return err
		}
	}
	for _, dir := range []string{"/tmp", "/var/tmp", "/dev/shm"} {
		if err := os.Chmod(newRoot+dir, 0o1777); err != nil {
			return err
		}
	}
	if err := unix.Mount("proc", newRoot+"/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("show its own processes: %w", err)
	}
	if err := devices(); err != nil {
		return err
	}
	for _, p := range b.sortedPaths() {
		if err := bring(p.path, p.write); err != nil {
			return fmt.Errorf("bring %s into the sandbox: %w", p.path, err)
		}
	}
	return nil
}

// boxed is a path in a box, and whether it can be changed.
type boxed struct {
	path  string
	write bool
}

// sortedPaths returns the box's paths, each folder before its contents. A path in both lists can be changed.
func (b *Box) sortedPaths() (list []boxed) {
	for _, path := range b.Write {
		list = append(list, boxed{filepath.Clean(path), true})
	}
	for _, path := range b.Read {
		if p := filepath.Clean(path); !slices.Contains(list, boxed{p, true}) {
			list = append(list, boxed{p, false})
		}
	}
	slices.SortFunc(list, func(a, b boxed) int { return strings.Compare(a.path+"/", b.path+"/") })
	return slices.Compact(list)
}

// devices makes the few devices that do no harm.
func devices() error {
	for _, name := range []string{"null", "zero", "full", "random", "urandom"} {
		f, err := os.Create(newRoot + "/dev/" + name)
		if err != nil {
			return err
		}
		f.Close() // an empty mount point
		if err := unix.Mount(oldRoot+"/dev/"+name, newRoot+"/dev/"+name, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("make /dev/%s: %w", name, err)
		}
	}
	for name, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"} {
		if err := os.Symlink(to, newRoot+"/dev/"+name); err != nil {
			return err
		}
	}
	if err := unix.Mount("devpts", newRoot+"/dev/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620"); err != nil {
		return fmt.Errorf("make terminals of its own: %w", err)
	}
	return nil
}

// bring makes a path of the old root available in the new root. It recreates each link on the way, so that the path
// leads to the same file.
func bring(path string, write bool) error {
	for hops := 0; ; hops++ {
		link, to, err := firstLink(oldRoot, path)
		switch {
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EACCES), errors.Is(err, unix.ENOTDIR):
			return nil // missing, or not open to this user
		case err != nil:
			return err
		case link == "":
			return bind(path, write)
		case hops > 40:
			return unix.ELOOP
		}
		if _, err := os.Lstat(newRoot + link); err != nil { // else it came with its folder
			if err := os.MkdirAll(newRoot+filepath.Dir(link), 0o755); err != nil {
				return err
			}
			if err := os.Symlink(to, newRoot+link); err != nil {
				return err
			}
		}
		path = follow(path, link, to)
	}
}

// follow returns a path with the link on it replaced by the link's target.
func follow(path, link, to string) string {
	if !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(link), to)
	}
	return filepath.Join(to, strings.TrimPrefix(path, link))
}

// distrustLinks takes out of the box each path that leads through a link in a folder that programs in the box can
// change: a program that ran there before may have made the link, to anything.
func (b *Box) distrustLinks() {
	var changed []string
	for _, path := range b.Write {
		if path, ok := resolve(path); ok {
			changed = append(changed, path+"/")
		}
	}
	led := func(path string) bool {
		path = filepath.Clean(path)
		for range 40 {
			link, to, err := firstLink("", path)
			if err != nil || link == "" {
				return false // it leads on to nothing
			}
			if slices.ContainsFunc(changed, func(dir string) bool { return strings.HasPrefix(link, dir) }) {
				return true
			}
			path = follow(path, link, to)
		}
		return false
	}
	b.Read, b.Write = slices.DeleteFunc(b.Read, led), slices.DeleteFunc(b.Write, led)
}

// firstLink returns the first symbolic link on a path below root, and its target; "" if there is none.
func firstLink(root, path string) (link, to string, err error) {
	for at, rest := "", strings.TrimPrefix(path, "/"); rest != ""; {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		at += "/" + name
		info, err := os.Lstat(root + at)
		if err != nil {
			return "", "", err
		}
		if info.Mode()&os.ModeSymlink != 0 {
			to, err := os.Readlink(root + at)
			return at, to, err
		}
	}
	return "", "", nil
}

// bind mounts a path of the old root, which holds no links, at the same place in the new root.
func bind(path string, write bool) error {
	info, err := os.Lstat(oldRoot + path)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(newRoot + path); err != nil { // else it came with its folder
		if err := os.MkdirAll(newRoot+filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if info.IsDir() {
			err = os.Mkdir(newRoot+path, 0o755)
		} else {
			err = os.WriteFile(newRoot+path, nil, 0o600)
		}
		if err != nil {
			return err
		}
	}
	if err := unix.Mount(oldRoot+path, newRoot+path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	if write {
		return nil
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	return unix.MountSetattr(unix.AT_FDCWD, newRoot+path, unix.AT_RECURSIVE, &attr)
}

// setUpLoopback brings up loopback, the private network's only interface. If to is not negative, it also listens for
// the proxy there and sends the listener to callgate through to.
func setUpLoopback(to int) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open its network: %w", err)
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo); err != nil {
		return fmt.Errorf("open its network: %w", err)
	}
	if to < 0 {
		return nil
	}
	l, err := net.Listen("tcp4", proxyAddress) //nolint:noctx // at once
	if err != nil {
		return err
	}
	defer l.Close() // callgate's copy stays
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Sendmsg(to, []byte{0}, unix.UnixRights(int(f.Fd())), nil, 0)
}

// receive takes the listener that setUpLoopback sent.
func receive(from int) (net.Listener, error) {
	var b [1]byte
	oob := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(from, b[:], oob, unix.MSG_CMSG_CLOEXEC|unix.MSG_DONTWAIT)
	if err != nil {
		return nil, err
	}
	messages, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil || len(messages) != 1 {
		return nil, errors.Join(err, errors.New("the guard sent no listener"))
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, errors.Join(err, errors.New("the guard sent no listener"))
	}
	f := os.NewFile(uintptr(fds[0]), "proxy")
	defer f.Close()
	return net.FileListener(f)
}

// limit sets the program's limits and lets it run. The program has stopped before its first instruction for this. limit
// MUST be called on the thread that started the program. apart says why the program is not in its cgroup; "" if it is.
func (o *order) limit(program int) (apart string, err error) {
	var status unix.WaitStatus
	if _, err := unix.Wait4(program, &status, unix.WALL, nil); err != nil || !status.Stopped() {
		return "", errors.Join(err, errors.New("the program did not wait for its limits"))
	}
	l := o.Wall.Box.Limits
	if o.Group >= 0 {
		if _, err := unix.Write(o.Group, []byte(strconv.Itoa(program))); err != nil {
			apart = err.Error()
		} else {
			l.Memory, l.Processes = 0, 0 // the group bounds them
		}
	}
	for _, r := range []struct {
		resource int
		value    int64
	}{
		{unix.RLIMIT_DATA, l.Memory}, {unix.RLIMIT_FSIZE, l.FileSize}, {unix.RLIMIT_NPROC, int64(l.Processes)},
		{unix.RLIMIT_NOFILE, int64(l.OpenFiles)}, {unix.RLIMIT_CPU, int64(l.CPU.Seconds())}, {unix.RLIMIT_CORE, -1},
	} {
		if r.value == 0 {
			continue
		}
		value := uint64(max(r.value, 0))
		if err := unix.Prlimit(program, r.resource, &unix.Rlimit{Cur: value, Max: value}, nil); err != nil {
			return apart, fmt.Errorf("bound resource %d: %w", r.resource, err)
		}
	}
	return apart, unix.PtraceDetach(program)
}
