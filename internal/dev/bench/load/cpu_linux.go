package load

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// CPUOf is the processor time that the threads of a process have taken; false where the system does not tell.
func CPUOf(pid int) (total time.Duration, ok bool) {
	ns, ok := sumOf(pid, "schedstat", "", " ")
	return time.Duration(ns), ok
}

// WakeupsOf is how often the threads of a process have slept and been woken; false where the system does not tell.
func WakeupsOf(pid int) (total int64, ok bool) {
	return sumOf(pid, "status", "\nvoluntary_ctxt_switches:\t", "\n")
}

// sumOf adds the numbers that stand between two texts in a file of each thread.
func sumOf(pid int, name, before, after string) (total int64, ok bool) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/%s", pid, name))
	if err != nil {
		return 0, false
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil { // the thread has ended
			continue
		}
		_, rest, found := strings.Cut(string(text), before)
		number, _, _ := strings.Cut(rest, after)
		n, err := strconv.ParseInt(number, 10, 64)
		if !found || err != nil {
			return 0, false
		}
		total += n
	}
	return total, len(files) > 0
}

// PeakOf is the memory that a process that has ended had at most, 0 where the system does not tell.
func PeakOf(p *os.ProcessState) int64 {
	usage, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return usage.Maxrss << 10
}
