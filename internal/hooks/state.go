package hooks

import (
	"os"
	"path/filepath"
	"sync"

	"callgate/internal/durable"
)

// state holds what people switched at run time, in a file that all processes of the worker share. It is read again when
// it changes.
type state struct {
	path string

	mu       sync.Mutex
	last     durable.Stamp // as the file was when it was read; none before
	switched map[string]bool
	err      error
}

// stateFile is the file's content: the hooks that people switched, by name.
type stateFile struct {
	Switched map[string]bool `json:"switched"`
}

// get returns what people switched, by hook name. The caller MUST NOT change the map.
func (s *state) get() (map[string]bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, err := durable.LookThrough(s.path)
	if err == nil && now.Same(s.last) {
		return s.switched, s.err
	}
	s.last = now
	s.switched, s.err = readState(s.path)
	return s.switched, s.err
}

func readState(path string) (map[string]bool, error) {
	var f stateFile
	err := durable.LoadJSON(path, 1<<20, &f)
	return f.Switched, err
}

// set switches one hook. A crash leaves the old file or the new one. Processes that write at the same time do not lose
// each other's changes.
func (s *state) set(name string, on bool) error {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return err
	}
	err := durable.Locked(s.path+".lock", func() error {
		switched, err := readState(s.path)
		if err != nil {
			return err
		}
		if switched == nil {
			switched = map[string]bool{}
		}
		switched[name] = on
		return durable.SaveJSON(s.path, stateFile{switched})
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.last = durable.Stamp{} // two changes in one tick of the clock may have the same size
	s.mu.Unlock()
	return nil
}
