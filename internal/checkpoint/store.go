package checkpoint

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// Options of a Store. Zero values mean the defaults.
type Options struct {
	Dir          string        // folder of the checkpoints, shared by several processes; "" keeps them in memory
	MaxBytes     int64         // in all; 512 MiB, at least 1 MiB
	MaxFile      int64         // of one file; larger files are left out; 16 MiB
	MaxAge       time.Duration // after that, checkpoints are removed; 7 days
	MaxTree      int64         // new bytes of folders and workspaces in one checkpoint; an eighth of MaxBytes
	MaxTreeFiles int           // files that one checkpoint visits in folders and workspaces; 50000
	MaxTreeTime  time.Duration // time that one checkpoint spends on them; 2 s

	Home string // a git repository with the home folder in it is not kept as a workspace

	// Protected reports whether a path belongs to callgate and is neither kept nor restored. May be nil.
	Protected func(path string) bool
	Logger    *slog.Logger
}

// defaults are the values for zero fields.
var defaults = Options{
	MaxBytes: 512 << 20, MaxFile: 16 << 20, MaxAge: 7 * 24 * time.Hour, MaxTreeFiles: 50_000, MaxTreeTime: 2 * time.Second,
}

func (o Options) withDefaults() Options {
	d := defaults
	o.MaxBytes = max(cmp.Or(o.MaxBytes, d.MaxBytes), 1<<20)
	o.MaxFile = min(cmp.Or(o.MaxFile, d.MaxFile), o.MaxBytes/4)
	o.MaxAge = cmp.Or(o.MaxAge, d.MaxAge)
	o.MaxTree = min(cmp.Or(o.MaxTree, o.MaxBytes/segments), o.MaxBytes/4)
	o.MaxTreeFiles = cmp.Or(o.MaxTreeFiles, d.MaxTreeFiles)
	o.MaxTreeTime = cmp.Or(o.MaxTreeTime, d.MaxTreeTime)
	if o.Protected == nil {
		o.Protected = func(string) bool { return false }
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o
}

// segments is how many segments a full store has. Making room removes about one of them.
const segments = 8

// Store keeps checkpoints. It is safe for concurrent use, and several processes may open the same folder. A store in
// which nothing was kept has written nothing but its folder.
type Store struct {
	o      Options
	volume volume
	cache  statCache
	ignore ignoreCache

	mu     sync.Mutex
	active *segment // nil until something is kept
	old    []*segment
	since  int64 // bytes kept since the last sweep
	views  map[string]*view
	closed bool

	failed   error // why the last checkpoint could not be written
	failedAt time.Time
}

// Open opens the store in the folder o.Dir.
func Open(o Options) (*Store, error) {
	s := &Store{o: o.withDefaults(), views: map[string]*view{}}
	if o.Dir == "" {
		s.volume = newMemory()
		return s, nil
	}
	v, err := openFolder(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("checkpoints: %w", err)
	}
	s.volume = v
	return s, nil
}

// Close ends writing. What was kept stays.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.active != nil {
		s.old = append(s.old, s.active)
		s.active = nil
	}
	return s.retire(true)
}

// pin returns the segment for a new checkpoint. The segment stays until unpin.
func (s *Store) pin() (*segment, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("the store is closed")
	}
	full := s.o.MaxBytes / segments
	if a := s.active; a != nil && (a.written() >= full || !a.usable() || !s.volume.intact(a.name, a.file)) {
		s.old, s.active = append(s.old, a), nil
	}
	if s.active == nil || s.since >= min(full, maxUnwritten) {
		if err := errors.Join(s.retire(false), s.sweep()); err != nil {
			s.o.Logger.Warn("old checkpoints could not be removed", "error", err)
		}
	}
	if s.active == nil {
		name := time.Now().UTC().Format("20060102T150405.000000000Z-") + strings.ToLower(rand.Text()[:8]) + segmentExt
		file, err := s.volume.create(name)
		if err != nil {
			return nil, err
		}
		s.active = &segment{name: name, file: file, known: map[Hash]span{}}
	}
	s.active.users++
	return s.active, nil
}

func (s *Store) unpin(g *segment, grown int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g.users--
	s.since += grown
}

// retire stops writing old segments that nobody uses, or all of them. The caller holds mu.
func (s *Store) retire(all bool) (err error) {
	var busy []*segment
	for _, g := range s.old {
		if g.users > 0 && !all {
			busy = append(busy, g)
			continue
		}
		err = errors.Join(err, g.file.Close(), s.volume.release(g.name))
	}
	s.old = busy
	return err
}

// sweep removes checkpoints that are too old, and the oldest if there is too much. The caller holds mu. The segments
// that this and other processes write count, but are not removed.
func (s *Store) sweep() error {
	s.since = 0
	all, err := s.volume.list()
	if err != nil {
		return err
	}
	total := int64(0)
	for _, l := range all {
		total += l.size
	}
	reserve := s.o.MaxBytes / segments // for what is about to be kept
	needed := false
	for _, l := range all {
		needed = needed || total+reserve > s.o.MaxBytes || time.Since(l.modified) > s.o.MaxAge
	}
	if !needed {
		return nil
	}
	return s.volume.sweep(func(l listed) bool {
		if total+reserve <= s.o.MaxBytes && time.Since(l.modified) <= s.o.MaxAge {
			return false
		}
		total -= l.size
		return true
	})
}

// event is what became known about a checkpoint after it was taken.
type event struct {
	ID       string    `json:"id"`
	Changed  []Change  `json:"changed,omitempty"`
	Ended    bool      `json:"ended,omitempty"`
	Verified bool      `json:"verified,omitempty"`
	Restored time.Time `json:"restored,omitzero"`
	Cleared  bool      `json:"cleared,omitempty"`
}

func (s *Store) note(g *segment, e event) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return g.record(recordEvent, text, false)
}

// noteLater is note for events while no checkpoint is being taken.
func (s *Store) noteLater(e event) error {
	g, err := s.pin()
	if err != nil {
		return err
	}
	defer s.unpin(g, 0)
	return s.note(g, e)
}
