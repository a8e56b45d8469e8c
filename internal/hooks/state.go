package hooks

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// state is what people switched at run time: a file that all processes of the worker share. It is read again
// when it changed.
type state struct {
	path string

	mu       sync.Mutex
	read     bool
	modified time.Time
	size     int64
	switched map[string]bool
	err      error
}

// stateFile is the file's content: hooks by name that are not as the configuration has them.
type stateFile struct {
	Switched map[string]bool `json:"switched"`
}

// get returns what is switched. The caller MUST NOT change it.
func (s *state) get() (map[string]bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var modified time.Time
	var size int64
	info, err := os.Stat(s.path)
	if err == nil {
		modified, size = info.ModTime(), info.Size()
	}
	if s.read && modified.Equal(s.modified) && size == s.size {
		return s.switched, s.err
	}
	s.read, s.modified, s.size = true, modified, size
	s.switched, s.err = readState(s.path)
	return s.switched, s.err
}

func readState(path string) (map[string]bool, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var f stateFile
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f.Switched, nil
}

// set switches one hook. A crash leaves the old file or the new one, and processes that write at once do not
// lose each other's changes.
func (s *state) set(name string, on bool) (err error) {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return err
	}
	lock := flock.New(s.path + ".lock")
	if err := lock.Lock(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	switched, err := readState(s.path)
	if err != nil {
		return err
	}
	if switched == nil {
		switched = map[string]bool{}
	}
	switched[name] = on
	text, err := json.MarshalIndent(stateFile{switched}, "", "  ")
	if err != nil {
		return err
	}
	if err := writeFile(s.path, append(text, '\n')); err != nil {
		return err
	}
	s.mu.Lock()
	s.read = false // two changes in one tick of the clock may be of one size
	s.mu.Unlock()
	return nil
}

// writeFile replaces the file; it holds all of text or what it held before.
func writeFile(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".*.tmp") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
