package guard

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
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

// keeperName is what the process is called that puts up a wall and starts the program.
const keeperName = "callgate-guard"

// order is what the keeper is told, through a pipe.
type order struct {
	Path string
	Args []string
	Kind Kind
	Wall Wall
	Maps bool // the user namespace has no mapping yet: UID and GID are to be mapped
	UID  int
	GID  int

	Proxy int    // in Namespaces: the descriptor that the proxy's listener goes to; -1 for none
	Port  uint64 // in Landlock: where the proxy is
	Group int    // the descriptor that puts a process into its group; -1 for none

	far *os.File // what the descriptor Proxy is made of
}

// answerTime bounds how long a keeper may take to start a program: it waits for nothing but the file system.
const answerTime = 20 * time.Second

// broken remembers which kinds this system refuses, and why.
var broken sync.Map // attempted → string

type attempted struct {
	kind Kind
	net  Net // "" without a box
}

// Keeper is the process between callgate and a program. It is the ancestor of everything that the program starts, also
// after setsid or a double fork, and outlives all of it.
type Keeper struct {
	// PID is the program's process id. With namespaces and a box it is the keeper's, the only one that callgate can see.
	PID int
	// Proxy is what the program connects to instead of the network; nil unless its box says ProxyNet. Release closes it.
	Proxy net.Listener

	orders  *os.File
	reports *os.File
	lines   *bufio.Reader
	ended   chan struct{}
	status  unix.WaitStatus
	known   bool // status was reported
	refused func(Access)
	unseen  string  // see State
	limits  string  // see State
	group   *cgroup // nil for none
	left    string
	over    chan struct{} // closed when the keeper has nothing more to report
	temp    string        // folder of the program's own, removed with it
}

// Start starts cmd behind the wall, with a keeper. cmd.Process is the keeper's: cmd.Wait returns when nothing that the
// program started is left, with the program's exit code. It leads a session and a group of its own. cmd has to have no
// ExtraFiles. Start returns when the program runs or could not be started. The caller MUST call Release once it has
// waited.
func (w *Wall) Start(cmd *exec.Cmd) (*Keeper, State, error) {
	if w == nil || w.Box == nil && (w.Mode == Off || w.Mode == "") {
		k, err := (&Wall{}).startAs(None, cmd)
		return k, State{Kind: None, Why: "it is off"}, unrefused(err)
	}
	var why []string
	for _, kind := range kinds {
		if w.kinds != nil && !slices.Contains(w.kinds, kind) {
			why = append(why, fmt.Sprintf("%s: not wanted", kind))
			continue
		}
		this := attempted{kind: kind}
		if w.Box != nil {
			this.net = w.Box.Net
		}
		if reason, known := broken.Load(this); known {
			why = append(why, fmt.Sprintf("%s: %v", kind, reason))
			continue
		}
		k, err := w.startAs(kind, cmd)
		refused := (*refusal)(nil)
		if !errors.As(err, &refused) {
			s := State{Kind: kind, Boxed: w.Box != nil}
			if k != nil {
				s.Unseen, s.Limits = k.unseen, k.limits
			}
			return k, s, err
		}
		why = append(why, fmt.Sprintf("%s: %v", kind, refused.error))
		if refused.always {
			broken.Store(this, refused.Error())
		}
	}
	s := State{Kind: None, Why: strings.Join(why, "; ")}
	if w.Box != nil {
		return nil, s, fmt.Errorf("sandbox: this system has none: %s", s.Why)
	}
	if w.Mode == Require {
		return nil, s, fmt.Errorf("guard: require is set, and this system has none: %s", s.Why)
	}
	k, err := w.startAs(None, cmd)
	return k, s, unrefused(err)
}

// kinds are those of this system, the better one first.
var kinds = []Kind{Namespaces, Landlock}

// Probe puts up the wall around nothing, and says which kind works here.
func (w *Wall) Probe() State {
	cmd := &exec.Cmd{Env: []string{}}
	k, s, err := w.Start(cmd)
	switch {
	case err != nil && s.Kind == "":
		return State{Kind: None, Why: err.Error()}
	case err != nil:
		return s
	}
	_ = cmd.Wait() // it has said what it had to say
	k.Release()
	return s
}

// unrefused is err where there is no other kind to try.
func unrefused(err error) error {
	if refused, ok := errors.AsType[*refusal](err); ok {
		return refused.error
	}
	return err
}

// refusal is an error of the wall and not of the program: another kind may work.
type refusal struct {
	error
	always bool // and will be the same for the next program
}

// again makes cmd one that Start can be called on once more.
func again(cmd *exec.Cmd) {
	cmd.Process, cmd.ProcessState, cmd.Err = nil, nil, nil
}

// startAs starts a keeper and waits until the program runs.
func (w *Wall) startAs(kind Kind, cmd *exec.Cmd) (*Keeper, error) {
	orderR, orderW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	reportR, reportW, err := os.Pipe()
	if err != nil {
		orderR.Close()
		orderW.Close()
		return nil, err
	}
	k := &Keeper{orders: orderW, reports: reportR, lines: bufio.NewReaderSize(reportR, 256), ended: make(chan struct{}), over: make(chan struct{})}
	o := order{Path: cmd.Path, Args: cmd.Args, Kind: kind, Wall: *w, UID: os.Geteuid(), GID: os.Getegid(), Proxy: -1, Group: -1}
	files, env := []*os.File{orderR, reportW}, cmd.Env
	defer func() {
		for _, f := range files {
			f.Close() // the keeper's; it may be closed
		}
	}()
	var listener *os.File
	if w.Box != nil {
		k.refused = w.Box.Refused
		k.bound(w)
		if listener, err = k.prepare(&o, cmd); err != nil {
			k.Release()
			cmd.Env = env
			return nil, &refusal{err, false}
		}
	}
	if listener != nil {
		defer listener.Close()
		files = append(files, o.far)
	}
	if k.group != nil {
		o.Group = 3 + len(files)
		files = append(files, k.group.procs)
	}
	if err := k.launch(&o, cmd, files, listener); err != nil {
		cmd.Env = env
		return nil, err
	}
	return k, nil
}

// bound makes a group of processes for limits that a group can hold, if this system lets it.
func (k *Keeper) bound(w *Wall) {
	l := w.Box.Limits
	k.group = w.group
	if l.Memory == 0 && l.Processes == 0 {
		if l != (Limits{}) {
			k.limits = "rlimits"
		}
		return
	}
	places, err := w.cgroups, error(nil)
	if places == nil {
		places, err = delegated()
	}
	if err == nil {
		k.group, err = places.group(&l)
	}
	if k.limits = "cgroup"; err != nil {
		k.limits = "rlimits (cgroup v2: " + err.Error() + ")"
	}
}

// prepare makes what a box has of its own: a temporary folder and a proxy's listener. listener is where the one of
// Namespaces comes from.
func (k *Keeper) prepare(o *order, cmd *exec.Cmd) (listener *os.File, err error) {
	box := *o.Wall.Box
	o.Wall.Box = &box
	temp, address := "/tmp", proxyAddress
	if o.Kind == Landlock {
		if k.temp, err = os.MkdirTemp("", "callgate-"); err != nil {
			return nil, err
		}
		temp = k.temp
		box.Write = append(slices.Clone(box.Write), temp)
	}
	cmd.Env = append(slices.Clone(cmd.Env), "TMPDIR="+temp, "TMP="+temp, "TEMP="+temp)
	switch {
	case box.Net != ProxyNet:
		return nil, nil
	case o.Kind == Landlock:
		if k.Proxy, err = net.Listen("tcp4", "127.0.0.1:0"); err != nil { //nolint:noctx // at once
			return nil, err
		}
		address = k.Proxy.Addr().String()
		o.Port = uint64(k.Proxy.Addr().(*net.TCPAddr).Port)
	default:
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		listener, o.far = os.NewFile(uintptr(pair[0]), "listener"), os.NewFile(uintptr(pair[1]), "listener")
		o.Proxy = 5
	}
	if box.Env != nil {
		cmd.Env = append(cmd.Env, box.Env(address)...)
	}
	return listener, nil
}

// launch starts the keeper's process with its files, gives it its order and hears how that went.
func (k *Keeper) launch(o *order, cmd *exec.Cmd, files []*os.File, listener *os.File) error {
	attr := syscall.SysProcAttr{}
	if cmd.SysProcAttr != nil {
		attr = *cmd.SysProcAttr
	}
	wanted := attr
	attr.Setpgid, attr.Setsid = false, true // a session of its own has no controlling terminal, and is a group too
	if o.Kind == Namespaces {
		o.Maps = namespaces(&attr, o.Wall.Box)
	}
	path, args, extra := cmd.Path, cmd.Args, cmd.ExtraFiles
	cmd.Path, cmd.Args, cmd.ExtraFiles, cmd.SysProcAttr = "/proc/self/exe", []string{keeperName}, files, &attr
	err := cmd.Start()
	cmd.Path, cmd.Args, cmd.ExtraFiles, cmd.SysProcAttr = path, args, extra, &wanted
	if err != nil {
		k.Release()
		again(cmd)
		if o.Kind == Namespaces { // where they are switched off, the clone itself fails
			return &refusal{err, errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS)}
		}
		return err
	}
	for _, f := range files {
		f.Close() // else the end of the reports is not seen
	}
	report, err := k.instruct(o)
	if err != nil {
		return k.fail(cmd, err)
	}
	text := strings.TrimSpace(report[1:])
	switch report[0] {
	case reportStarted:
		var started start
		if err = json.Unmarshal([]byte(text), &started); err == nil && listener != nil {
			k.Proxy, err = receive(int(listener.Fd()))
		}
		k.PID, k.unseen = started.PID, started.Unseen
		if started.Apart != "" {
			k.limits = "rlimits (cgroup v2: " + started.Apart + ")"
		}
		if err != nil {
			return k.fail(cmd, err)
		}
		if o.Kind == Namespaces && o.Wall.Box != nil {
			k.PID = cmd.Process.Pid
		}
		go k.listen()
		return nil
	case reportProgram:
		_ = k.fail(cmd, nil)
		return &exec.Error{Name: path, Err: errnoOf(text)}
	}
	err = k.fail(cmd, errors.New(text))
	again(cmd)
	return &refusal{err, true}
}

// instruct gives the keeper its order and returns its first report.
func (k *Keeper) instruct(o *order) (string, error) {
	if err := json.NewEncoder(k.orders).Encode(o); err != nil && !errors.Is(err, unix.EPIPE) {
		return "", fmt.Errorf("tell the guard: %w", err)
	}
	_ = k.reports.SetReadDeadline(time.Now().Add(answerTime)) // a pipe takes deadlines
	report, err := k.lines.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("the guard does not answer: %w", err)
	}
	_ = k.reports.SetReadDeadline(time.Time{})
	return report, nil
}

// listen takes the keeper's reports until it has ended.
func (k *Keeper) listen() {
	defer close(k.over)
	for {
		report, err := k.lines.ReadString('\n')
		if err != nil {
			if !k.known {
				close(k.ended)
			}
			return
		}
		text := strings.TrimSpace(report[1:])
		switch report[0] {
		case reportEnded:
			status, err := strconv.ParseUint(text, 10, 32)
			k.status, k.known = unix.WaitStatus(status), err == nil
			close(k.ended)
		case reportLeft:
			k.left = text
		case reportRefused:
			var a Access
			if json.Unmarshal([]byte(text), &a) == nil && k.refused != nil {
				k.refused(a)
			}
			_, _ = k.orders.Write([]byte{heard}) // it is closed when everything is to end
		}
	}
}

// Ended is closed when the program itself has ended. What it started may still run.
func (k *Keeper) Ended() <-chan struct{} { return k.ended }

// Status is how the program ended. It MUST be asked for after Ended. ok is false when the keeper was ended first.
func (k *Keeper) Status() (status unix.WaitStatus, ok bool) { return k.status, k.known }

// EndAll makes the keeper kill the program and everything that it started. It does not wait for that.
func (k *Keeper) EndAll() { k.orders.Close() }

// Release returns the ids of processes that could not be ended, "" for none. cmd MUST have been waited for.
func (k *Keeper) Release() (left string) {
	k.orders.Close()
	if k.PID != 0 {
		<-k.over
	}
	k.reports.Close()
	if k.Proxy != nil {
		k.Proxy.Close() // it may be closed
	}
	k.group.remove()
	if k.temp != "" {
		_ = os.RemoveAll(k.temp) // what is left of it is the system's to clean
	}
	return k.left
}

// fail reaps a keeper that did not start the program.
func (k *Keeper) fail(cmd *exec.Cmd, err error) error {
	_ = cmd.Process.Kill() // it may have ended
	_ = cmd.Wait()         // its error is that it ended
	k.Release()
	return err
}

// errnoOf is the error that the keeper had when it tried to start the program.
func errnoOf(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil {
		return errors.New(text)
	}
	return syscall.Errno(n)
}

// namespaces makes the child begin in a user and a mount namespace of its own, with a box in more. maps says that the
// child has to write its own mapping: a process that nobody may look into, as callgate is, cannot write that of its
// child.
func namespaces(attr *syscall.SysProcAttr, box *Box) (maps bool) {
	attr.Cloneflags |= unix.CLONE_NEWUSER | unix.CLONE_NEWNS
	if box != nil {
		attr.Cloneflags |= unix.CLONE_NEWPID | unix.CLONE_NEWIPC
		if box.Net != OpenNet {
			attr.Cloneflags |= unix.CLONE_NEWNET
		}
	}
	if os.Geteuid() != 0 {
		attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_SETFCAP, unix.CAP_NET_ADMIN}
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
