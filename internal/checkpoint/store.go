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
	Dir          string        // where checkpoints are kept, shared by several processes; "" keeps them in memory
	MaxBytes     int64         // of everything that is kept; 512 MiB, at least 1 MiB
	MaxFile      int64         // of one file; larger ones are left out; 16 MiB
	MaxAge       time.Duration // after which checkpoints are removed; 7 days
	MaxTree      int64         // new bytes that one checkpoint takes of folders and workspaces; an eighth of MaxBytes
	MaxTreeFiles int           // files that one checkpoint looks at in folders and workspaces; 50000
	MaxTreeTime  time.Duration // that one checkpoint spends on them; 2 s

	Home string // a git repository that holds the home folder is not kept as a workspace

	// Protected reports whether a path belongs to callgate: it is neither kept nor restored. May be nil.
	Protected func(path string) bool
	Logger    *slog.Logger
}

// defaults are what zero values mean.
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

// segments is into how many a full store is divided: what is removed for a new one is about this part of it.
const segments = 8

// Store keeps checkpoints. Its methods may be called by many goroutines at once, and several processes may
// have the same folder open. A store that nothing was kept in has written nothing but its folder.
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

// Open opens the store of a data directory.
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

// Close ends the writing. What was kept stays.
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

// pin returns the segment that a checkpoint is to be taken into, which stays until unpin.
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

// retire ends the writing of old segments that nobody uses; the caller holds mu.
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

// sweep removes what is too old, and the oldest if there is too much; the caller holds mu. The segment that
// this process writes counts, and that of others too, but they are not removed.
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

// event is what became known of a checkpoint after it was taken.
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

// noteLater is note for what happens when no checkpoint is being taken.
func (s *Store) noteLater(e event) error {
	g, err := s.pin()
	if err != nil {
		return err
	}
	defer s.unpin(g, 0)
	return s.note(g, e)
}
