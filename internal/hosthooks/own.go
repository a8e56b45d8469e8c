package hosthooks

import (
	"os"
	"sync"
	"time"

	"callgate/internal/install"
)

// Stale returns a function that reports whether the program or its configuration file has changed since.
func Stale(config string) func() bool {
	began := stamp{}
	began.take(config)
	return func() bool {
		now := stamp{}
		now.take(config)
		return now != began
	}
}

// stamp identifies the state of the program and its configuration.
type stamp struct{ program, config time.Time }

func (s *stamp) take(config string) {
	at := func(path string) time.Time {
		if info, err := os.Stat(path); err == nil {
			return info.ModTime()
		}
		return time.Time{}
	}
	if program, err := os.Executable(); err == nil {
		s.program = at(program)
	}
	s.config = at(config)
}

// OwnEntries returns a function for the names of callgate's entries among a host's MCP servers. It reads the host's
// files at most once a second.
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
