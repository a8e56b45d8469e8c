package spawn

import (
	"fmt"
	"log/slog"
	"net"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"

	"callgate/internal/guard"
)

// Tree is the job object of a process: the process and everything that it starts. The system kills all of it when the
// last handle of the job is closed, and so also when callgate dies.
type Tree struct {
	log   *slog.Logger
	wall  *guard.Wall
	state guard.State
	job   windows.Handle
	pid   int // the process's; it leads a console process group
	waited
}

// Plant makes the job. Programs in it run behind wall; nil means no wall. The caller MUST call Release.
func Plant(log *slog.Logger, wall *guard.Wall) (*Tree, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, fmt.Errorf("cannot create a job object: %w", err)
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE},
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		windows.CloseHandle(job)
		return nil, fmt.Errorf("cannot set up a job object: %w", err)
	}
	return &Tree{log: log, wall: wall, job: job, waited: newWaited()}, nil
}

// Start starts cmd and puts it into the job before any input reaches it. A process that cannot be put there is killed.
// The caller MUST NOT wait for cmd: see Ended and Gone.
func (t *Tree) Start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{HideWindow: true, CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
	var err error
	if t.state, err = t.wall.Start(cmd, (*exec.Cmd).Start); err != nil {
		return err
	}
	t.pid = cmd.Process.Pid
	if err := t.adopt(); err != nil {
		cmd.Process.Kill() // fails only if it has ended already
		cmd.Wait()
		return fmt.Errorf("cannot put the process into a job object: %w", err)
	}
	t.wait(cmd)
	return nil
}

// Wall returns the state of the program's wall. It is set once the program has started.
func (t *Tree) Wall() guard.State { return t.state }

func (t *Tree) adopt() error {
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(t.pid))
	if err != nil {
		return err
	}
	defer windows.CloseHandle(h)
	return windows.AssignProcessToJobObject(t.job, h)
}

// Proxy returns nil: this system has no box.
func (t *Tree) Proxy() net.Listener { return nil }

// Terminate asks the process's console group to end. A process without a console cannot be asked.
func (t *Tree) Terminate() {
	if err := windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(t.pid)); err != nil {
		t.log.Debug("cannot ask the process to end", "error", err)
	}
}

// Kill ends all processes of the job.
func (t *Tree) Kill() {
	if err := windows.TerminateJobObject(t.job, 1); err != nil {
		t.log.Error("cannot end the job object", "error", err)
	}
}

// Release closes the job, which kills what is left in it.
func (t *Tree) Release() {
	if err := windows.CloseHandle(t.job); err != nil {
		t.log.Error("cannot close the server's job object", "error", err)
	}
}
