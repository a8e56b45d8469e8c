package app

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"callgate/internal/periodic"
)

// startUp is how long a process keeps Go's own setting, because forking a server keeps one processor busy.
const startUp = time.Second

// tuneForStdio tunes the Go runtime for relaying one host, once callgate has started. Go's own variable GOMAXPROCS
// wins.
//
// A call crosses several goroutines one after the other. With one processor they all run on the thread that woke up for
// the message. With more, each hand-over wakes a thread on another core, which costs more than the work that it is
// woken for.
//
// If callgate also indexes, it needs the other processors: a call must not wait for a file that is being split up.
func tuneForStdio(indexes bool) {
	time.AfterFunc(startUp, func() {
		if os.Getenv("GOMAXPROCS") == "" && !indexes {
			runtime.GOMAXPROCS(1)
		}
	})
}

// spareHeap returns memory that nobody touches, so it takes no room in the machine. The collector counts it, and so
// runs only after that much more is allocated: at a heap of a few megabytes, collection took a sixth of serve's
// processor time. A heap of many sessions is collected as before. So is any heap if the user set GOGC or GOMEMLIMIT.
func spareHeap() []byte {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return nil
	}
	return make([]byte, 16<<20)
}

// returnMemory returns unneeded memory to the system whenever nothing has happened for a while, until ctx ends. The
// collector would wait until the heap has doubled, which never happens with idle sessions.
func returnMemory(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	allocated := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	r := idleDetector{wait: restAfter}
	for {
		if !periodic.Sleep(ctx, r.wait) {
			return
		}
		metrics.Read(allocated)
		if r.look(allocated[0].Value.Uint64()) {
			debug.FreeOSMemory()
		}
	}
}

// idleDetector decides when to return memory, from the bytes that the process has allocated in all.
type idleDetector struct {
	seen, freed uint64        // at the last look, and when memory was last returned
	wait        time.Duration // until the next look
}

const (
	restAfter = 4 * time.Second
	restMost  = time.Minute // between looks at a process that stays idle
	quiet     = 256 << 10   // bytes that an idle process may allocate between two looks
	worth     = 1 << 20     // bytes allocated since memory was last returned
)

// look reports whether it is time to return memory.
func (r *idleDetector) look(allocated uint64) bool {
	since := allocated - r.seen
	r.seen = allocated
	if since > quiet {
		r.wait = restAfter
		return false
	}
	r.wait = min(2*r.wait, restMost)
	if allocated-r.freed < worth {
		return false
	}
	r.freed = allocated
	return true
}
