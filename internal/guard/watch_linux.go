package guard

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fileCall is a system call about a file. Its numbers are the indexes of arguments: dir is the folder that path is
// relative to, -1 for the working folder; flags are the open flags, -1 for a call that always changes something.
type fileCall struct {
	number            uint32
	dir, path, flags  int
	flagsBehindMemory bool // the argument points to the flags
}

// fileCalls lists the calls that every architecture has; legacyCalls adds the others.
var fileCalls = append([]fileCall{
	{number: unix.SYS_OPENAT, dir: 0, path: 1, flags: 2},
	{number: unix.SYS_OPENAT2, dir: 0, path: 1, flags: 2, flagsBehindMemory: true},
	{number: unix.SYS_MKDIRAT, dir: 0, path: 1, flags: -1},
	{number: unix.SYS_UNLINKAT, dir: 0, path: 1, flags: -1},
	{number: unix.SYS_RENAMEAT2, dir: 2, path: 3, flags: -1},
}, legacyCalls...)

// maxReported bounds how many accesses one keeper reports.
const maxReported = 1024

// watcher hears of files that a program is about to open, and reports those that the box will refuse. It does not
// decide: every call goes on to the kernel, which enforces the wall. A program that swaps the path after the look is
// still refused.
type watcher struct {
	listener int
	order    *order
	report   func(Access) // returns when callgate has heard it
	reported map[Access]bool
}

// watch makes the kernel notify the listener of the files that this thread, and what it starts, open. The error says
// why it cannot.
func (o *order) watch() (listener int, err error) {
	native, err := nativeArch()
	if err != nil {
		return -1, err
	}
	program := []unix.SockFilter{load(atArch), equal(native, 1, 0), end(unix.SECCOMP_RET_ALLOW), load(atNumber)}
	for _, c := range fileCalls {
		program = append(program, equal(c.number, 0, 1), end(unix.SECCOMP_RET_USER_NOTIF))
	}
	program = append(program, end(unix.SECCOMP_RET_ALLOW))
	p := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	// Signals wait until a call has been looked at: a frequent signal would restart the call again and again. Before
	// Linux 5.19 they do not wait.
	for _, flags := range []uintptr{unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER} {
		fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&p)))
		if errno == 0 {
			return int(fd), nil
		}
		if err = errno; errno != unix.EINVAL {
			break
		}
	}
	return -1, fmt.Errorf("the kernel does not tell of opened files: %w", err)
}

// notification and response are the kernel's seccomp_notif and seccomp_notif_resp.
type notification struct {
	id         uint64
	pid, flags uint32
	number     int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

type response struct {
	id    uint64
	val   int64
	err   int32
	flags uint32
}

// run handles notifications until the keeper ends.
func (w *watcher) run() {
	w.reported = map[Access]bool{}
	for {
		var n notification
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(w.listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n)))
		switch errno {
		case 0:
		case unix.EINTR, unix.ENOENT, unix.EAGAIN: // the caller has ended meanwhile
			continue
		default:
			unix.Close(w.listener) // else calls would hang: without a listener they fail with ENOSYS
			return
		}
		if a, ok := w.read(&n); ok && len(w.reported) < maxReported && w.order.refuses(&a) && !w.reported[a] {
			w.reported[a] = true
			w.report(a)
		}
		r := response{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(w.listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&r))) // the caller may have ended
	}
}

// read returns the access that a call asks for. ok is false if it cannot tell.
func (w *watcher) read(n *notification) (a Access, ok bool) {
	for _, c := range fileCalls {
		if c.number != uint32(n.number) {
			continue
		}
		path, err := stringAt(int(n.pid), n.args[c.path])
		if err != nil || path == "" {
			return a, false
		}
		a.Write = c.flags < 0
		if !a.Write {
			flags := n.args[c.flags]
			if c.flagsBehindMemory {
				var b [8]byte
				if peek(int(n.pid), flags, b[:]) != len(b) {
					return a, false
				}
				flags = binary.NativeEndian.Uint64(b[:])
			}
			a.Write = flags&(unix.O_WRONLY|unix.O_RDWR|unix.O_CREAT|unix.O_TRUNC) != 0
		}
		if !filepath.IsAbs(path) {
			at := "cwd"
			if c.dir >= 0 && int32(n.args[c.dir]) != unix.AT_FDCWD {
				at = "fd/" + strconv.Itoa(int(int32(n.args[c.dir])))
			}
			dir, err := os.Readlink("/proc/" + strconv.Itoa(int(n.pid)) + "/" + at)
			if err != nil || !filepath.IsAbs(dir) {
				return a, false
			}
			path = filepath.Join(dir, path)
		}
		a.Path = filepath.Clean(path)
		return a, true
	}
	return a, false
}

// peek reads a process's memory into b. It returns the number of bytes read, 0 on an error.
func peek(pid int, at uint64, b []byte) int {
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(len(b))
	n, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: uintptr(at), Len: len(b)}}, 0)
	if err != nil {
		return 0
	}
	return n
}

// stringAt reads a zero-terminated string of a process. It reads page by page, because the page after the string may
// not be mapped.
func stringAt(pid int, at uint64) (string, error) {
	var text []byte
	var page [4096]byte
	for len(text) < unix.PathMax {
		size := len(page) - int(at%uint64(len(page)))
		n := peek(pid, at, page[:size])
		if n == 0 {
			return "", errors.New("the path cannot be read")
		}
		if i := bytes.IndexByte(page[:n], 0); i >= 0 {
			return string(append(text, page[:i]...)), nil
		}
		text = append(text, page[:n]...)
		at += uint64(n)
	}
	return "", unix.ENAMETOOLONG
}

// refuses reports whether the box refuses an access, as far as names tell, or diverts it, which sets a.Aside.
func (o *order) refuses(a *Access) bool {
	under := func(dir string) bool {
		return a.Path == dir || strings.HasPrefix(a.Path, strings.TrimSuffix(dir, "/")+"/")
	}
	switch {
	case slices.ContainsFunc([]string{"/proc", "/dev", "/sys"}, under):
		return false
	case slices.ContainsFunc(o.Wall.Hidden, under):
		return true
	case a.Write && o.Kind == Namespaces && slices.ContainsFunc(o.Wall.Fixed, under):
		return true
	case o.holds(*a):
		return false
	}
	if o.Kind == Namespaces { // the keeper sees the same files as the program
		err := unix.Access(a.Path, unix.F_OK)
		if a.Write && err == nil {
			return unix.Access(a.Path, unix.W_OK) != nil
		}
		dir := filepath.Dir(a.Path)
		a.Aside = a.Write && unix.Access(dir, unix.W_OK) == nil
		return err != nil && !(a.Aside && (dir == "/tmp" || dir == "/var/tmp")) // private ones on purpose
	}
	real, err := filepath.EvalSymlinks(a.Path)
	return err != nil || !o.holds(Access{Path: real, Write: a.Write})
}

// holds reports whether the box opens a path, for writing if a.Write. The narrowest entry decides; with Landlock any
// entry is enough.
func (o *order) holds(a Access) bool {
	is := false
	if o.paths == nil {
		o.paths = o.Wall.Box.sortedPaths()
	}
	for _, p := range o.paths { // a folder before its contents
		if a.Path != p.path && !strings.HasPrefix(a.Path, strings.TrimSuffix(p.path, "/")+"/") {
			continue
		}
		if is = p.write || !a.Write; is && o.Kind == Landlock {
			return true
		}
	}
	return is
}
