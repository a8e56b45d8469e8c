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

// CPUOf returns the processor time of a process's threads; ok is false if the system does not report it.
func CPUOf(pid int) (total time.Duration, ok bool) {
	ns, ok := sumOf(pid, "schedstat", "", " ")
	return time.Duration(ns), ok
}

// WakeupsOf returns how often a process's threads have slept and been woken; ok is false if the system does not report
// it.
func WakeupsOf(pid int) (total int64, ok bool) {
	return sumOf(pid, "status", "\nvoluntary_ctxt_switches:\t", "\n")
}

// sumOf adds up the numbers between two texts in a file of each thread.
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

// PeakOf returns the peak memory of an ended process in bytes; 0 if the system does not report it.
func PeakOf(p *os.ProcessState) int64 {
	usage, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return usage.Maxrss << 10
}
