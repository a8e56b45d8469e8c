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

// keeperName is the name of the process that puts up a wall and starts the program.
const keeperName = "callgate-guard"

// order is the first message to the keeper, sent through a pipe.
type order struct {
	Path string
	Args []string
	Kind Kind
	Wall Wall
	Maps bool // the user namespace has no mapping yet: the keeper maps UID and GID
	UID  int
	GID  int

	Proxy int    // with Namespaces: the descriptor through which to send the proxy's listener; -1 for none
	Port  uint64 // with Landlock: the proxy's port
	Group int    // the descriptor that puts a process into its cgroup; -1 for none

	proxySocket *os.File // the file that becomes descriptor Proxy
	paths       []boxed  // the box's, sorted; nil until the watcher needs them
}

// answerTime bounds how long a keeper may take to start a program: it only waits for the file system.
const answerTime = 20 * time.Second

// broken holds the kinds that this system refuses, and why.
var broken sync.Map // attempted → string

type attempted struct {
	kind Kind
	net  Net // "" without a box
}

// Keeper is the process between callgate and a program. It is the ancestor of everything that the program starts, even
// after setsid or a double fork, and outlives all of it.
type Keeper struct {
	// PID is the program's process id. With namespaces and a box it is the keeper's, the only id that callgate can see.
	PID int
	// Proxy accepts what the program sends to the network; nil unless its box has ProxyNet. Release closes it.
	Proxy net.Listener

	orders      *os.File
	reports     *os.File
	lines       *bufio.Reader
	ended       chan struct{}
	status      unix.WaitStatus
	known       bool // status was reported
	refused     func(Access)
	unseen      string  // see State
	limits      string  // see State
	group       *cgroup // nil for none
	left        string
	reportsDone chan struct{} // closed when the keeper has nothing more to report
	temp        string        // the program's private temporary folder; Release removes it
}

// Start starts cmd behind the wall, with a keeper. It returns when the program runs or could not be started.
// cmd.Process is the keeper's: cmd.Wait returns when everything that the program started has ended, with the program's
// exit code. The keeper leads a new session and group. cmd MUST have no ExtraFiles. The caller MUST call Release after
// cmd.Wait.
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

// kinds lists the kinds of wall of this system, the better one first.
var kinds = []Kind{Namespaces, Landlock}

// Probe puts up the wall around nothing, and returns which kind works here.
func (w *Wall) Probe() State {
	cmd := &exec.Cmd{Env: []string{}}
	k, s, err := w.Start(cmd)
	switch {
	case err != nil && s.Kind == "":
		return State{Kind: None, Why: err.Error()}
	case err != nil:
		return s
	}
	_ = cmd.Wait() // it has already reported
	k.Release()
	return s
}

// unrefused returns the error inside a refusal, for callers that have no other kind to try.
func unrefused(err error) error {
	if refused, ok := errors.AsType[*refusal](err); ok {
		return refused.error
	}
	return err
}

// refusal is an error of the wall, not of the program: another kind may work.
type refusal struct {
	error
	always bool // it will be the same for the next program
}

// resetCmd resets cmd so that Start can be called on it once more.
func resetCmd(cmd *exec.Cmd) {
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
	k := &Keeper{orders: orderW, reports: reportR, lines: bufio.NewReaderSize(reportR, 256), ended: make(chan struct{}), reportsDone: make(chan struct{})}
	o := order{Path: cmd.Path, Args: cmd.Args, Kind: kind, Wall: *w, UID: os.Geteuid(), GID: os.Getegid(), Proxy: -1, Group: -1}
	files, env := []*os.File{orderR, reportW}, cmd.Env
	defer func() {
		for _, f := range files {
			f.Close() // the keeper has its own copies; these may be closed already
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
		files = append(files, o.proxySocket)
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

// bound makes a cgroup for the limits that it can hold, if this system allows it.
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

// prepare makes what a box needs: a temporary folder and the proxy's listener. With Namespaces, the listener arrives
// later, through the socket that prepare returns.
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
		listener, o.proxySocket = os.NewFile(uintptr(pair[0]), "listener"), os.NewFile(uintptr(pair[1]), "listener")
		o.Proxy = 5
	}
	if box.Env != nil {
		cmd.Env = append(cmd.Env, box.Env(address)...)
	}
	return listener, nil
}

// launch starts the keeper's process with its files, sends its order and waits for the first report.
func (k *Keeper) launch(o *order, cmd *exec.Cmd, files []*os.File, listener *os.File) error {
	attr := syscall.SysProcAttr{}
	if cmd.SysProcAttr != nil {
		attr = *cmd.SysProcAttr
	}
	wanted := attr
	attr.Setpgid, attr.Setsid = false, true // a new session has no controlling terminal, and is a group too
	if o.Kind == Namespaces {
		o.Maps = namespaces(&attr, o.Wall.Box)
	}
	path, args, extra := cmd.Path, cmd.Args, cmd.ExtraFiles
	cmd.Path, cmd.Args, cmd.ExtraFiles, cmd.SysProcAttr = "/proc/self/exe", []string{keeperName}, files, &attr
	err := cmd.Start()
	cmd.Path, cmd.Args, cmd.ExtraFiles, cmd.SysProcAttr = path, args, extra, &wanted
	if err != nil {
		k.Release()
		resetCmd(cmd)
		if o.Kind == Namespaces { // if they are switched off, the clone itself fails
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
	resetCmd(cmd)
	return &refusal{err, true}
}

// instruct gives the keeper its order and returns its first report.
func (k *Keeper) instruct(o *order) (string, error) {
	if err := json.NewEncoder(k.orders).Encode(o); err != nil && !errors.Is(err, unix.EPIPE) {
		return "", fmt.Errorf("tell the guard: %w", err)
	}
	_ = k.reports.SetReadDeadline(time.Now().Add(answerTime)) // pipes support deadlines
	report, err := k.lines.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("the guard does not answer: %w", err)
	}
	_ = k.reports.SetReadDeadline(time.Time{})
	return report, nil
}

// listen handles the keeper's reports until it has ended.
func (k *Keeper) listen() {
	defer close(k.reportsDone)
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
			_, _ = k.orders.Write([]byte{heard}) // closed if everything is to end
		}
	}
}

// Ended returns a channel that is closed when the program itself has ended. What it started may still run.
func (k *Keeper) Ended() <-chan struct{} { return k.ended }

// Status returns how the program ended, once Ended is closed. It MUST NOT be called before that. ok is false if the
// keeper ended first.
func (k *Keeper) Status() (status unix.WaitStatus, ok bool) { return k.status, k.known }

// EndAll makes the keeper kill the program and everything that it started. It does not wait for them to end.
func (k *Keeper) EndAll() { k.orders.Close() }

// Release frees what the keeper holds, and returns the ids of processes that could not be ended; "" if there are none.
// The caller MUST have waited for cmd.
func (k *Keeper) Release() (left string) {
	k.orders.Close()
	if k.PID != 0 {
		<-k.reportsDone
	}
	k.reports.Close()
	if k.Proxy != nil {
		k.Proxy.Close() // it may be closed already
	}
	k.group.remove()
	if k.temp != "" {
		_ = os.RemoveAll(k.temp) // the system cleans up the rest
	}
	return k.left
}

// fail kills and reaps a keeper that did not start the program, and returns err.
func (k *Keeper) fail(cmd *exec.Cmd, err error) error {
	_ = cmd.Process.Kill() // it may have ended already
	_ = cmd.Wait()         // the error only says that it ended
	k.Release()
	return err
}

// errnoOf returns the error that the keeper met when it tried to start the program.
func errnoOf(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil {
		return errors.New(text)
	}
	return syscall.Errno(n)
}

// namespaces makes the child begin in new user and mount namespaces, and in more of them with a box. maps tells the
// child to write its own mapping: callgate does not let others look into it, and such a process cannot write its
// child's.
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
	// For root, every user keeps its number, so that files keep their owners.
	attr.UidMappings, attr.GidMappings = extents("/proc/self/uid_map"), extents("/proc/self/gid_map")
	attr.GidMappingsEnableSetgroups = true
	return false
}

// extents returns the users or groups of callgate's own namespace, each mapped to itself.
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

// Harden keeps other processes of the same user out of this one: no ptrace, no reading of its memory, environment and
// descriptors, no core dump.
func Harden() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("close this process to others: %w", err)
	}
	return nil
}

// resolve resolves the links of a path that exists.
func resolve(path string) (string, bool) {
	path, err := filepath.EvalSymlinks(path)
	return path, err == nil
}
