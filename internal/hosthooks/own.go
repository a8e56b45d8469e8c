package hosthooks

import (
	"os"
	"sync"
	"time"

	"callgate/internal/install"
)

// Stale returns what says whether the program or its configuration file changed since.
func Stale(config string) func() bool {
	began := stamp{}
	began.take(config)
	return func() bool {
		now := stamp{}
		now.take(config)
		return now != began
	}
}

// stamp says whether the program or its configuration is still the same.
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

// OwnEntries says by which names a host knows callgate as an MCP server. It looks at the host's files at most once a second.
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
