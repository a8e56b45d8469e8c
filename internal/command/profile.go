//go:build profile

package command

import (
	"fmt"
	"os"
	"runtime/pprof"
	"time"
)

// A build with the tag profile, which make bench makes, writes a CPU profile of the process to the file that
// CALLGATE_CPUPROFILE names, until there is a file beside it with the ending .stop, which it removes then.
func init() {
	path := os.Getenv("CALLGATE_CPUPROFILE")
	if path == "" {
		return
	}
	f, err := os.Create(path)
	if err == nil {
		err = pprof.StartCPUProfile(f)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "callgate: profile:", err)
		return
	}
	_ = os.Unsetenv("CALLGATE_CPUPROFILE") // it is not for what callgate starts
	go func() {
		for { // the bench says when
			if _, err := os.Stat(path + ".stop"); err == nil {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		pprof.StopCPUProfile()
		_ = f.Close()
		_ = os.Remove(path + ".stop")
	}()
}
