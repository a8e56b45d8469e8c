package hosthooks

import (
	"os"
	"sync"
	"time"

	"callgate/internal/install"
)

// Stale returns a function that reports whether the program or its configuration file has changed since the call.
func Stale(config string) func() bool {
	program, _ := os.Executable() // an unknown one never changes
	state := func() (at [2]time.Time) {
		for i, path := range []string{program, config} {
			if info, err := os.Stat(path); err == nil {
				at[i] = info.ModTime()
			}
		}
		return at
	}
	began := state()
	return func() bool { return state() != began }
}

// OwnEntries returns a function that returns the names of callgate's entries among a host's MCP servers. It reads a
// host's files at most once a second.
func OwnEntries() func(host, project string) []string {
	type seen struct {
		at    time.Time
		names []string
	}
	var mu sync.Mutex
	cache := map[string]seen{}
	return func(host, project string) []string {
		mu.Lock()
		defer mu.Unlock()
		key := host + "\x00" + project
		if s, ok := cache[key]; ok && time.Since(s.at) < time.Second {
			return s.names
		}
		found, err := install.Find([]string{host})
		if err != nil {
			return nil
		}
		machine, err := install.ThisMachine(project)
		if err != nil {
			return nil
		}
		program, err := os.Executable()
		if err != nil {
			return nil
		}
		names := install.OwnEntries(machine, &found[0], program)
		if len(cache) > 1000 {
			clear(cache)
		}
		cache[key] = seen{time.Now(), names}
		return names
	}
}
