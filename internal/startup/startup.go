// Package startup keeps short commands from spending time on garbage collection at the start. Go collects first at 4
// MiB, and the tables of callgate's packages alone fill that twice before main begins.
package startup

import (
	"os"
	"runtime"
	"runtime/debug"
	"time"
)

const (
	first = 400 // percent: the first collection comes at 16 MiB
	usual = 100
	start = time.Second // by then a program that stays has started
)

// The package has few imports and its name comes before those of other modules, so this runs before their tables are
// made. Go's own percentage holds again from the first collection on, or once the program has started.
func init() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(first)
	over := func(percent int) { debug.SetGCPercent(percent) }
	runtime.AddCleanup(new([64]byte), over, usual)
	time.AfterFunc(start, func() { over(usual) })
}
