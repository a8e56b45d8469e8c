package guard

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The keeper's reports, one per line.
const (
	reportWall    = 'w' // the wall could not be put up, and why
	reportProgram = 'p' // the program could not be started: the number of the error
	reportStarted = 's' // the program runs: a start, as JSON
	reportRefused = 'r' // the box refuses the program a file: an Access, as JSON; it waits for heard
	reportEnded   = 'e' // the program has ended: its wait status
	reportLeft    = 'l' // processes that the keeper could not end
)

// start is the keeper's report of a program that it has started.
type start struct {
	PID    int
	Unseen string // why nobody hears which files its box refuses; "" if that is heard, or there is no box
	Apart  string // why the program is not in its cgroup; "" if it is, or there is no cgroup
}

// heard is callgate's answer to reportRefused.
const heard = 'h'

// init runs the keeper. Any step that fails ends it, so a program never runs behind half a wall.
func init() {
	if len(os.Args) == 1 && os.Args[0] == keeperName {
		syscall.Exit(keep()) // it has nothing left to write
	}
}

// keep starts the program, stays until everything that the program started has ended, and returns the program's exit
// code. The first line that it reads is its order. After that, anything but heard, or the end of the pipe, tells it to
// end everything. callgate holds the other end, so the pipe also ends when callgate dies.
func keep() int {
	closeInherited()
	in, out := bufio.NewReader(os.NewFile(3, "orders")), os.NewFile(4, "reports")
	var o order
	line, err := in.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &o)
	}
	if err == nil && o.Wall.Box != nil {
		o.Wall.Box.distrustLinks()
	}
	if err == nil {
		err = o.confine()
	}
	if err == nil { // orphans below become children of the keeper
		err = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	}
	if err == nil {
		err = Harden()
	}
	if err != nil {
		fmt.Fprintf(out, "%c%v\n", reportWall, err)
		return 126
	}
	// The keeper is in the process group that callgate asks to end. The program does not inherit a handler.
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGTSTP, unix.SIGUSR1, unix.SIGUSR2)

	running, answers := make(chan struct{}), make(chan struct{})
	report := func(a Access) {
		<-running // the first report is that the program has started
		if text, err := json.Marshal(a); err == nil {
			fmt.Fprintf(out, "%c%s\n", reportRefused, text)
			<-answers
		}
	}
	about, err := o.start(report)
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno) && errno != 0 && errors.As(err, new(*startError)):
		fmt.Fprintf(out, "%c%d\n", reportProgram, int(errno))
		return 127
	case err != nil:
		fmt.Fprintf(out, "%c%v\n", reportWall, err)
		return 126
	}
	letGo()
	started, err := json.Marshal(about)
	if err != nil {
		return 126 // which ends the program
	}
	fmt.Fprintf(out, "%c%s\n", reportStarted, started)
	close(running)
	go func() {
		for {
			if b, err := in.ReadByte(); err != nil || b != heard {
				break
			}
			answers <- struct{}{}
		}
		left := endAll()
		fmt.Fprintf(out, "%c%s\n", reportLeft, strings.Join(left, " "))
		os.Exit(125)
	}()
	return reap(about.PID, out)
}

// closeInherited keeps from the program every descriptor beyond its streams that callgate was started with: a host may
// have left anything open.
func closeInherited() {
	if unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	entries, err := os.ReadDir("/proc/self/fd") // older than Linux 5.11
	if err != nil {
		unix.CloseOnExec(3)
		unix.CloseOnExec(4)
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}

// startError is a failure to start the program itself.
type startError struct{ error }

func (e *startError) Unwrap() error { return e.error }

// start starts the program from a dedicated thread that never ends: the kernel kills the program when the thread that
// forked it ends.
func (o *order) start(report func(Access)) (about start, err error) {
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		if err = o.restrict(); err == nil && o.Path != "" {
			attr := syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}}
			box := o.Wall.Box
			attr.Sys.Ptrace = box != nil && box.Limits != Limits{} // it stops before its first instruction
			if box != nil {
				if listener, err := o.watch(); err != nil {
					about.Unseen = err.Error()
				} else {
					go (&watcher{listener: listener, order: o, report: report}).run()
				}
			}
			if about.PID, err = syscall.ForkExec(o.Path, o.Args, &attr); err != nil {
				err = &startError{err}
			} else if attr.Sys.Ptrace {
				about.Apart, err = o.limit(about.PID)
			}
		}
		close(done)
		select {}
	}()
	<-done
	return about, err
}

// letGo closes the program's streams in the keeper: their readers must see the end when the program closes them.
func letGo() {
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	for fd := range 3 {
		if err != nil {
			_ = unix.Close(fd)
		} else {
			_ = unix.Dup3(null, fd, 0)
		}
	}
}

// reap waits for every child until none is left, and reports the end of the program. It returns the exit code.
func reap(program int, out *os.File) (code int) {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WALL, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil: // ECHILD
			return code
		case pid == program:
			fmt.Fprintf(out, "%c%d\n", reportEnded, status)
			if code = status.ExitStatus(); code < 0 {
				code = 128 + int(status.Signal())
			}
		}
	}
}

// Limits for ending what is left.
const (
	endingLimit = 5 * time.Second // a process blocked in the kernel cannot be killed
	endingPause = 2 * time.Millisecond
)

// endAll kills every process below this one, and returns the ids of those that do not die. It stops all of them first,
// so that none can start another while the rest are killed. Only reap knows that nothing is left, and then ends the
// keeper: a list of processes can miss one whose parent ends while the list is read.
func endAll() (left []string) {
	for deadline := time.Now().Add(endingLimit); ; time.Sleep(endingPause) {
		stopped := map[int]bool{}
		for range 100 {
			before := len(stopped)
			for _, pid := range below(os.Getpid()) {
				if !stopped[pid] {
					stopped[pid] = true
					_ = unix.Kill(pid, unix.SIGSTOP)
				}
			}
			if len(stopped) == before {
				break
			}
		}
		for pid := range stopped {
			_ = unix.Kill(pid, unix.SIGKILL) // one that cannot be killed is still there at the deadline
		}
		if time.Now().After(deadline) {
			for pid := range stopped {
				left = append(left, strconv.Itoa(pid))
			}
			return left
		}
	}
}

// below lists the living processes that descend from root.
func below(root int) (pids []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := map[int][]int{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it has ended
		}
		i := strings.LastIndexByte(string(stat), ')') // the name before it may contain anything
		fields := strings.Fields(string(stat[i+1:]))
		if len(fields) < 2 || fields[0] == "Z" || fields[0] == "X" {
			continue
		}
		if parent, err := strconv.Atoi(fields[1]); err == nil {
			children[parent] = append(children[parent], pid)
		}
	}
	for next := children[root]; len(next) > 0; {
		pid := next[0]
		pids = append(pids, pid)
		next = append(next[1:], children[pid]...)
	}
	return pids
}
