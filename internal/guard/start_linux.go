package guard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// launcherName is what the process is called that puts up a wall and becomes the program.
const launcherName = "callgate-guard"

// order is what the launcher is told, through a pipe.
type order struct {
	Path   string
	Args   []string
	Kind   Kind
	Hidden []string
	Fixed  []string
	Maps   bool // the user namespace has no mapping yet: UID and GID are to be mapped
	UID    int
	GID    int
}

// answerTime bounds how long a launcher may take: it waits for nothing but the file system.
const answerTime = 20 * time.Second

// broken remembers which kinds this system refuses, and why.
var broken sync.Map // Kind → string

// start tries the kinds of wall, the best first.
func (w *Wall) start(cmd *exec.Cmd, start func(*exec.Cmd) error) (State, error) {
	var why []string
	for _, kind := range []Kind{Namespaces, Landlock} {
		if w.kinds != nil && !slices.Contains(w.kinds, kind) {
			continue
		}
		if reason, known := broken.Load(kind); known {
			why = append(why, fmt.Sprintf("%s: %v", kind, reason))
			continue
		}
		err := w.startAs(kind, cmd, start)
		refused := (*refusal)(nil)
		if !errors.As(err, &refused) {
			return State{Kind: kind}, err
		}
		why = append(why, fmt.Sprintf("%s: %v", kind, refused.error))
		if refused.always {
			broken.Store(kind, refused.Error())
		}
	}
	s := State{None, strings.Join(why, "; ")}
	if w.Mode == Require {
		return s, nil
	}
	return s, start(again(cmd))
}

// refusal is an error of the wall and not of the program: another kind may work.
type refusal struct {
	error
	always bool // and will be the same for the next program
}

// again is a fresh command like cmd, which Start can be called on.
func again(cmd *exec.Cmd) *exec.Cmd {
	cmd.Process, cmd.ProcessState, cmd.Err = nil, nil, nil
	return cmd
}

// startAs starts the launcher in place of the program, and waits for its word.
func (w *Wall) startAs(kind Kind, cmd *exec.Cmd, start func(*exec.Cmd) error) error {
	orderR, orderW, err := os.Pipe()
	if err != nil {
		return err
	}
	defer orderW.Close()
	defer orderR.Close()
	answerR, answerW, err := os.Pipe()
	if err != nil {
		return err
	}
	defer answerR.Close()
	defer answerW.Close()

	o := order{Path: cmd.Path, Args: cmd.Args, Kind: kind, Hidden: w.Hidden, Fixed: w.Fixed, UID: os.Geteuid(), GID: os.Getegid()}
	attr := syscall.SysProcAttr{}
	if cmd.SysProcAttr != nil {
		attr = *cmd.SysProcAttr
	}
	wanted := attr
	if kind == Namespaces {
		o.Maps = namespaces(&attr)
	}
	path, args, extra := cmd.Path, cmd.Args, cmd.ExtraFiles
	cmd.Path, cmd.Args, cmd.ExtraFiles, cmd.SysProcAttr = "/proc/self/exe", []string{launcherName}, []*os.File{orderR, answerW}, &attr
	err = start(cmd)
	cmd.Path, cmd.Args, cmd.ExtraFiles, cmd.SysProcAttr = path, args, extra, &wanted
	if err != nil {
		again(cmd)
		if kind == Namespaces { // where they are switched off, the clone itself fails
			return &refusal{err, errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS)}
		}
		return err
	}
	answerW.Close()
	orderR.Close()
	if err := json.NewEncoder(orderW).Encode(&o); err != nil && !errors.Is(err, unix.EPIPE) {
		return w.fail(cmd, fmt.Errorf("tell the guard: %w", err))
	}
	orderW.Close()
	_ = answerR.SetReadDeadline(time.Now().Add(answerTime)) // a pipe takes deadlines
	answer, err := io.ReadAll(answerR)
	switch {
	case err != nil:
		return w.fail(cmd, fmt.Errorf("the guard does not answer: %w", err))
	case len(answer) == 0: // became the program: the pipe closed at exec
		return nil
	}
	err = w.fail(cmd, errors.New(string(bytes.TrimSpace(answer[1:]))))
	if answer[0] == answerProgram {
		return &exec.Error{Name: path, Err: errnoOf(answer[1:])}
	}
	again(cmd)
	return &refusal{err, true}
}

// errnoOf is the error that the launcher had when it tried to become the program.
func errnoOf(text []byte) error {
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return errors.New(string(text))
	}
	return syscall.Errno(n)
}

// fail reaps a launcher that did not become the program.
func (w *Wall) fail(cmd *exec.Cmd, err error) error {
	_ = cmd.Process.Kill() // it may have ended
	_ = cmd.Wait()         // its error is that it ended
	return err
}

// namespaces makes the child begin in a user and a mount namespace of its own. maps says that the child has to write its
// own mapping: a process that nobody may look into, as callgate is, cannot write that of its child.
func namespaces(attr *syscall.SysProcAttr) (maps bool) {
	attr.Cloneflags |= unix.CLONE_NEWUSER | unix.CLONE_NEWNS
	if os.Geteuid() != 0 {
		attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_SETFCAP}
		return true
	}
	// For root every user keeps its number, so that files still belong to whom they belonged.
	attr.UidMappings, attr.GidMappings = extents("/proc/self/uid_map"), extents("/proc/self/gid_map")
	attr.GidMappingsEnableSetgroups = true
	return false
}

// extents are the users that callgate's own namespace has, each mapped to itself.
func extents(path string) []syscall.SysProcIDMap {
	text, err := os.ReadFile(path)
	if err != nil {
		return []syscall.SysProcIDMap{{Size: 1}}
	}
	var list []syscall.SysProcIDMap
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) != 3 {
			continue
		}
		first, err1 := strconv.Atoi(f[0])
		size, err2 := strconv.Atoi(f[2])
		if err1 == nil && err2 == nil {
			list = append(list, syscall.SysProcIDMap{ContainerID: first, HostID: first, Size: size})
		}
	}
	return list
}

// Harden keeps other processes of the same user from looking into this one: no ptrace, no reading of its memory,
// environment and descriptors, no core dump.
func Harden() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("close this process to others: %w", err)
	}
	return nil
}

// real resolves the links of a path that exists.
func real(path string) (string, bool) {
	path, err := filepath.EvalSymlinks(path)
	return path, err == nil
}
