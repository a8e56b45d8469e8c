package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// roomEnv is set in a process that may mount, because it has a separate namespace.
const roomEnv = "CALLGATE_TEST_ROOM"

// inRoom runs the test in a process that may mount, and reports whether it did. If the machine does not allow that, the
// test goes on without full disks.
func inRoom(t *testing.T) bool {
	t.Helper()
	if os.Getenv(roomEnv) != "" {
		return false
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run=^"+t.Name()+"$", "-test.timeout=0", fmt.Sprintf("-test.v=%t", testing.Verbose()))
	cmd.Env = append(os.Environ(), roomEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if uid, gid := os.Getuid(), os.Getgid(); uid != 0 {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: gid, Size: 1}}
	}
	runtime.LockOSThread() // the process lives as long as the thread that forked it
	defer runtime.UnlockOSThread()
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		t.Logf("%s", out)
	case errors.As(err, &exit):
		t.Errorf("%v\n%s", err, out)
	default:
		t.Logf("no disk gets full: %v", err)
		return false
	}
	return true
}

// smallDisk mounts a small disk at a folder.
func smallDisk(t *testing.T, dir string) {
	t.Helper()
	if os.Getenv(roomEnv) == "" {
		return
	}
	if err := unix.Mount("callgate", dir, "tmpfs", 0, "size=256m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

func diskFaults(t *testing.T) []fault {
	slow := fault{"had a slow disk", func(r *rig, i int, pause time.Duration) {
		r.do(i, Step{What: "slow", N: int(pause/time.Millisecond) / 5})
		time.Sleep(2 * pause)
		r.do(i, Step{What: "slow"})
	}}
	full := fault{"had a full disk", func(r *rig, i int, pause time.Duration) {
		r.fill(i)
		time.Sleep(2 * pause)
		if err := os.Remove(r.ballast(i)); err != nil {
			r.t.Error(err)
		}
	}}
	if os.Getenv(roomEnv) == "" {
		return []fault{slow}
	}
	return []fault{slow, full}
}

// fill fills a replica's disk.
func (r *rig) fill(i int) {
	f, err := os.Create(r.ballast(i))
	if err != nil {
		r.t.Error(err)
		return
	}
	defer f.Close()
	piece := make([]byte, 1<<20)
	for size := len(piece); size >= 4096; {
		if _, err := f.Write(piece[:size]); errors.Is(err, unix.ENOSPC) {
			size /= 2
		} else if err != nil {
			r.t.Error(err)
			return
		}
	}
}

// slowDisk slows down each write to a file and each sync of this process. The returned function sets by how much. The
// kernel asks before each of these calls.
func slowDisk() (set func(time.Duration), err error) {
	program := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}}
	for _, number := range []uint32{unix.SYS_PWRITE64, unix.SYS_FSYNC, unix.SYS_FDATASYNC} {
		program = append(program, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: number, Jf: 1}, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF})
	}
	program = append(program, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	p := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return nil, err
	}
	const flags = unix.SECCOMP_FILTER_FLAG_TSYNC | unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH | unix.SECCOMP_FILTER_FLAG_NEW_LISTENER
	listener, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&p)))
	if errno != 0 {
		return nil, fmt.Errorf("no disk gets slow: %w", errno)
	}
	var delay atomic.Int64
	go func() {
		for {
			var asked struct {
				id uint64
				_  [72]byte
			}
			switch _, _, errno := unix.Syscall(unix.SYS_IOCTL, listener, unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&asked))); errno {
			case 0:
			case unix.EINTR, unix.ENOENT, unix.EAGAIN: // the caller was interrupted
				continue
			default:
				panic(errno)
			}
			answer := func() {
				r := struct {
					id    uint64
					val   int64
					err   int32
					flags uint32
				}{id: asked.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
				_, _, _ = unix.Syscall(unix.SYS_IOCTL, listener, unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&r))) // likewise
			}
			if wait := time.Duration(delay.Load()); wait > 0 {
				time.AfterFunc(wait, answer)
			} else {
				answer()
			}
		}
	}()
	return func(wait time.Duration) { delay.Store(int64(wait)) }, nil
}
