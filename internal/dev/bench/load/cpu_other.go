//go:build !linux

package load

import (
	"os"
	"time"
)

// CPUOf returns false: this system does not report processor time.
func CPUOf(int) (time.Duration, bool) { return 0, false }

// WakeupsOf returns false: this system does not report wake-ups.
func WakeupsOf(int) (int64, bool) { return 0, false }

// PeakOf returns 0: this system does not report peak memory.
func PeakOf(*os.ProcessState) int64 { return 0 }
