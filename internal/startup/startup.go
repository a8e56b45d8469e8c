// Package startup keeps short commands from spending time on garbage collection at the start. Go first collects at 4
// MiB, and the tables of callgate's packages alone fill that twice before main begins.
package startup

import (
	"os"
	"runtime"
	"runtime/debug"
	"time"
)

const (
	first = 400 // percent: puts the first collection at 16 MiB
	usual = 100
	start = time.Second // by then a long-running program has started
)

// This runs before other modules make their tables, because the package has few imports and its name sorts first. Go's
// own percentage applies again after the first collection, or once the program has started.
func init() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(first)
	over := func(percent int) { debug.SetGCPercent(percent) }
	runtime.AddCleanup(new([64]byte), over, usual)
	time.AfterFunc(start, func() { over(usual) })
}
