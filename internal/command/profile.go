//go:build profile

package command

import (
	"fmt"
	"os"
	"runtime/pprof"
	"time"
)

// With the build tag profile, which make bench sets, callgate writes a CPU profile of the process to the file in
// CALLGATE_CPUPROFILE. It stops once a file with the same name and the ending .stop exists, and removes that file.
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
	_ = os.Unsetenv("CALLGATE_CPUPROFILE") // not for programs that callgate starts
	go func() {
		for { // until the benchmark stops it
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
