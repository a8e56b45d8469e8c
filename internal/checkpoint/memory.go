package checkpoint

import (
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"
)

// memory is a volume that ends with the process.
type memory struct {
	mu       sync.Mutex
	segments map[string]*memorySegment
}

type memorySegment struct {
	mu       sync.Mutex
	bytes    []byte
	held     bool
	modified time.Time
}

func newMemory() *memory { return &memory{segments: map[string]*memorySegment{}} }

func (v *memory) create(name string) (medium, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := &memorySegment{held: true, modified: time.Now()}
	v.segments[name] = s
	return s, nil
}

func (v *memory) intact(string, medium) bool { return true }

func (v *memory) release(name string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if s := v.segments[name]; s != nil {
		s.held = false
	}
	return nil
}

func (v *memory) open(name string) (reader, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if s := v.segments[name]; s != nil {
		return s, nil
	}
	return nil, fs.ErrNotExist
}

func (v *memory) list() (found []listed, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for name, s := range v.segments {
		s.mu.Lock()
		found = append(found, listed{name, int64(len(s.bytes)), s.modified})
		s.mu.Unlock()
	}
	slices.SortFunc(found, func(a, b listed) int { return strings.Compare(a.name, b.name) })
	return found, nil
}

func (v *memory) sweep(remove func(listed) bool) error {
	all, err := v.list()
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, s := range all {
		if !v.segments[s.name].held && remove(s) {
			delete(v.segments, s.name)
		}
	}
	return err
}

func (s *memorySegment) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes, s.modified = append(s.bytes, p...), time.Now()
	return len(p), nil
}

func (s *memorySegment) ReadAt(p []byte, at int64) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at >= int64(len(s.bytes)) {
		return 0, io.EOF
	}
	n := copy(p, s.bytes[at:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (s *memorySegment) Truncate(size int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes = s.bytes[:size]
	return nil
}

func (s *memorySegment) Sync() error  { return nil }
func (s *memorySegment) Close() error { return nil }

// free returns false, so that Check skips segments in memory.
func (m *memory) free(string) (bool, error) { return false, nil }
