package rag

import (
	"errors"
	"io/fs"
	"os"
	"sync/atomic"
)

// snapshot is an index at one moment. It never changes. A search uses one snapshot from start to end.
type snapshot struct {
	parts    []part
	manifest manifest
	stat     fs.FileInfo // of the manifest's file; nil: there is none

	first  []int // number of each part's first row among all rows
	rows   int   // of all parts, dead ones included
	live   int
	length float64 // average, in terms, of the live rows

	refs atomic.Int32
}

// newSnapshot returns a snapshot with one reference. It takes over the references to parts.
func newSnapshot(m manifest, parts []part, stat fs.FileInfo) *snapshot {
	s := &snapshot{parts: parts, manifest: m, stat: stat}
	total := 0.0
	for i := range parts {
		p := &parts[i]
		s.first = append(s.first, s.rows)
		s.rows += p.rows.len()
		s.live += p.live()
		for row, n := range p.rows.Length {
			if !p.dead.Contains(uint32(row)) {
				total += float64(n)
			}
		}
	}
	s.length = max(1, total/float64(max(1, s.live)))
	s.refs.Store(1)
	return s
}

func (s *snapshot) release() error {
	if s.refs.Add(-1) > 0 {
		return nil
	}
	return releaseAll(s.parts)
}

func releaseAll(parts []part) error {
	var failed []error
	for i := range parts {
		failed = append(failed, parts[i].release())
	}
	return errors.Join(failed...)
}

// at returns the part that holds row n of the snapshot, and the row's number in that part.
func (s *snapshot) at(n int) (*part, int) {
	lo, hi := 0, len(s.parts)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; s.first[mid] <= n {
			lo = mid
		} else {
			hi = mid
		}
	}
	return &s.parts[lo], n - s.first[lo]
}

// acquire returns the newest snapshot. The caller MUST release it.
func (x *Index) acquire() (*snapshot, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil, ErrClosed
	}
	if x.disk != nil {
		if err := x.refresh(); err != nil {
			return nil, err
		}
	}
	x.current.refs.Add(1)
	return x.current, nil
}

// refresh loads the manifest if it has been replaced, and returns a *DamagedError if it cannot. The caller holds x.mu.
func (x *Index) refresh() error {
	stat, err := os.Stat(x.disk.path(manifestName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if sameFile(stat, x.current.stat) {
		return nil
	}
	// Segments that no manifest names get removed, so a reader of the old manifest may come too late.
	for range 5 {
		var s *snapshot
		if s, err = x.load(); err == nil {
			old := x.current
			x.current = s
			return old.release()
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return &DamagedError{Dir: x.disk.dir, Err: err}
}

func sameFile(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

// load reads the manifest and opens its segments. The caller holds x.mu.
func (x *Index) load() (*snapshot, error) {
	stat, err := os.Stat(x.disk.path(manifestName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	m, err := readManifest(x.disk, manifestName)
	if err != nil {
		return nil, err
	}
	var parts []part
	for i := range m.Segments {
		p, err := x.open(&m.Segments[i], x.current.parts)
		if err != nil {
			return nil, errors.Join(err, releaseAll(parts))
		}
		parts = append(parts, p)
	}
	return newSnapshot(*m, parts, stat), nil
}

// Rest gives the memory of mapped files back to the system, for an index that is not searched for a while. The next
// search reads them again.
func (x *Index) Rest() error {
	s, err := x.acquire()
	if err != nil {
		return err
	}
	for i := range s.parts {
		err = errors.Join(err, s.parts[i].words.Rest())
	}
	return errors.Join(err, s.release())
}
