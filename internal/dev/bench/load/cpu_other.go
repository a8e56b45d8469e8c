//go:build !linux

package load

import (
	"os"
	"time"
)

// CPUOf is the processor time that the threads of a process have taken; false where the system does not tell.
func CPUOf(int) (time.Duration, bool) { return 0, false }

// WakeupsOf is how often the threads of a process have slept and been woken; false where the system does not tell.
func WakeupsOf(int) (int64, bool) { return 0, false }

// PeakOf is the memory that a process that has ended had at most, 0 where the system does not tell.
func PeakOf(*os.ProcessState) int64 { return 0 }
