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

// startUp is how long a process keeps Go's own setting: to fork a server holds a processor.
const startUp = time.Second

// tuneForStdio sets the Go runtime up for the relay of one host, once it has started. The variable by which users of Go
// set the same wins.
//
// A call crosses several goroutines one after another. On one processor they follow each other on the
// thread that woke up for the message; on more, each hand-over wakes a thread on another core, which costs
// more than what it is woken for.
//
// Who indexes besides needs the other processors: a call must not wait for a file that is taken apart.
func tuneForStdio(indexes bool) {
	time.AfterFunc(startUp, func() {
		if os.Getenv("GOMAXPROCS") == "" && !indexes {
			runtime.GOMAXPROCS(1)
		}
	})
}

// spareHeap is memory that nobody touches, so that the machine need not have it. The collector counts it, and runs
// after that much more: at a heap of a few megabytes it took a sixth of the processor time of serve. A heap of many
// sessions is collected as ever, and so is one whose user set a variable of Go.
func spareHeap() []byte {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return nil
	}
	return make([]byte, 16<<20)
}

// rest gives the system back what the process needs no more, whenever nothing has happened for a while, until ctx ends.
// The collector would leave that until the heap has doubled, which idle sessions never do.
func rest(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	allocated := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	r := rester{wait: restAfter}
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

// rester knows when to rest, by the bytes that the process has allocated in all.
type rester struct {
	seen, freed uint64        // at the last look, and when memory was given back last
	wait        time.Duration // until the next look
}

const (
	restAfter = 4 * time.Second
	restMost  = time.Minute // between looks at a process that stays idle
	quiet     = 256 << 10   // bytes that one allocates between two looks
	worth     = 1 << 20     // bytes since memory was given back
)

// look reports whether it is time to give memory back.
func (r *rester) look(allocated uint64) bool {
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
