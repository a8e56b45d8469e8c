package spawn

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// fork starts cmd so that it is killed when callgate dies. The kernel's signal is tied to the thread that
// forks, not to the process: so one goroutine, locked to a thread and never ending, does all the forking.
func fork(cmd *exec.Cmd) error {
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	done := make(chan error, 1)
	forker() <- func() { done <- cmd.Start() }
	return <-done
}

var forker = sync.OnceValue(func() chan<- func() {
	jobs := make(chan func())
	go func() {
		runtime.LockOSThread()
		for job := range jobs {
			job()
		}
	}()
	return jobs
})
