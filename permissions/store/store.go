// Package store keeps permissions.jsonc, the file with rules and grants, while people and other processes edit it.
// Without a readable file there is no policy, and callers MUST deny.
package store

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"callgate/internal/durable"
	"callgate/permissions"
)

// Options configures a Store.
type Options struct {
	Home   string       // the home directory, for `~/` and `$HOME/`; "" if unknown
	Logger *slog.Logger // nil logs nothing
	Shared Shared       // where several machines keep the text; nil means in the file
}

// Store is one worker's permissions.jsonc. People and several processes may edit the file meanwhile: each Policy call
// sees the file as it is. It is safe for concurrent use.
type Store struct {
	path   string
	home   string
	logger *slog.Logger
	shared Shared

	changing sync.Mutex // held during a change; locked before mu

	mu     sync.Mutex
	seen   bool // the file has existed: from now on its absence is an error
	stamp  stamp
	data   []byte
	room   []byte // a buffer for reading a young file again
	policy *permissions.Policy
	name   string // the name of the text that policy is from
	err    error  // why the file at stamp is unusable

	revision uint64 // the revision of a shared text
}

// stamp tells whether a file has changed since it was read. With coarse clocks, two writes in quick succession can get
// the same mtime, so a file that was young when it was read is read again.
type stamp struct {
	durable.Stamp // zero if nothing was read
	young         bool
}

// youth is the age up to which a file counts as young.
const youth = 2 * time.Second

func (s stamp) holds(now durable.Stamp) bool { return !s.young && s.Same(now) }

// Open returns the store of the file at path. It does no I/O: the first call of a method creates the file with
// commented defaults if there is none.
func Open(path string, o Options) *Store {
	return &Store{path: path, home: o.Home, shared: o.Shared, logger: cmp.Or(o.Logger, slog.New(slog.DiscardHandler))}
}

// Path returns the file's path.
func (s *Store) Path() string { return s.path }

// Policy returns the rules and grants of the file as it is now. While the file is unchanged, it costs one stat and
// returns the same *Policy. If it returns an error, there is no policy and callers MUST deny: a file that does not
// parse, cannot be read, or has disappeared never means the defaults or the earlier rules.
func (s *Store) Policy() (*permissions.Policy, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shared != nil {
		return s.sharedPolicy()
	}
	now, err := durable.Look(s.path)
	if errors.Is(err, fs.ErrNotExist) && !s.seen {
		if err := s.locked(s.seed); err != nil {
			return nil, err
		}
		now, err = durable.Look(s.path)
	}
	if err != nil {
		return nil, s.forget(err)
	}
	s.seen = true
	if s.stamp.holds(now) {
		return s.policy, s.err
	}
	return s.read()
}

// forget drops what was read and returns why the file cannot be read. The caller holds mu.
func (s *Store) forget(err error) error {
	s.stamp, s.data, s.policy, s.err = stamp{}, nil, nil, nil
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is gone: everything is denied until it is back; restart callgate for a new one", s.path)
	}
	return fmt.Errorf("permissions file: %w", err)
}

// read reads and compiles the file. A text that does not parse is remembered, so it costs one stat too. The caller
// holds mu.
func (s *Store) read() (*permissions.Policy, error) {
	data, info, err := readFile(s.path, s.room)
	if err != nil {
		return nil, s.forget(err)
	}
	unchanged := s.data != nil && bytes.Equal(data, s.data)
	s.stamp = stamp{info.stamp, time.Since(info.ModTime()) < youth}
	if s.room = nil; unchanged {
		s.room = data
		return s.policy, s.err
	}
	s.data = data
	s.policy, s.err = s.compile(data)
	if s.err != nil {
		s.logger.Error("permissions file refused, everything is denied", "error", s.err)
	} else {
		s.logger.Info("permissions file read", "path", s.path, "rules", len(s.policy.File), "grants", len(s.policy.Grants))
	}
	return s.policy, s.err
}

// Version returns a name for the text that Policy uses now, equal for equal texts. With an error, there is no policy.
func (s *Store) Version() (string, error) {
	_, err := s.Policy()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.name, err
}

func (s *Store) compile(data []byte) (*permissions.Policy, error) {
	sum := sha256.Sum256(data)
	s.name = hex.EncodeToString(sum[:12])
	f, err := permissions.ParseFile(s.path, data, s.home)
	if err != nil {
		return nil, err
	}
	return permissions.NewPolicy(nil, f.Rules, f.Grants)
}

// errReplaced means that the opened file is not the one that was checked.
var errReplaced = errors.New("the file keeps being replaced while it is opened")

// readFile reads a file that only its owner can change, into room if it fits. It tries again if another process
// replaces the file meanwhile.
func readFile(path string, room []byte) (data []byte, as known, err error) {
	for range 10 {
		if data, as, err = tryReadFile(path, room); !errors.Is(err, errReplaced) {
			break
		}
	}
	return data, as, err
}

// known describes a file as it was before it was read.
type known struct {
	fs.FileInfo
	stamp durable.Stamp
}

func tryReadFile(path string, room []byte) (text []byte, as known, err error) {
	entry, err := os.Lstat(path)
	if err == nil {
		err = checkFile(path, entry)
	}
	if err != nil {
		return nil, as, err
	}
	f, err := durable.Open(path)
	if err != nil {
		return nil, as, err
	}
	defer f.Close() // the file was only read
	if as.stamp, err = durable.StampOf(f); err == nil {
		as.FileInfo, err = f.Stat()
	}
	switch {
	case err != nil:
		return nil, as, err
	case !os.SameFile(entry, as.FileInfo):
		return nil, as, errReplaced
	}
	if need := int(min(as.Size(), permissions.MaxFile)) + bytes.MinRead; cap(room) < need {
		room = make([]byte, 0, need)
	}
	data := bytes.NewBuffer(room[:0])
	_, err = data.ReadFrom(io.LimitReader(f, permissions.MaxFile+1))
	return data.Bytes(), as, err
}

// seed writes the defaults if there is no file. The caller holds the lock between processes.
func (s *Store) seed() error {
	if _, err := os.Lstat(s.path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := durable.Replace(s.path, Seed(s.home), 0o600); err != nil {
		return err
	}
	s.logger.Info("permissions file created with defaults", "path", s.path)
	return nil
}

// AddGrants appends grants to "$always" and keeps comments and order. It reads the file again under a lock that all
// callgate processes share, so no grant is lost. It replaces the file atomically: after a crash the file is either the
// old or the new one. It skips grants that the file already has. After an error the file is unchanged, unless only the
// directory could not be synced.
func (s *Store) AddGrants(grants []permissions.Grant) error {
	_, err := s.edit(func(doc *document) (int, error) { return doc.add(grants) })
	return err
}

// RemoveGrants removes every grant for which drop returns true from "$always", and returns their number. It has the
// guarantees of AddGrants.
func (s *Store) RemoveGrants(drop func(permissions.Grant) bool) (int, error) {
	return s.edit(func(doc *document) (int, error) { return doc.remove(drop) })
}

// errEdited means that somebody saved the file between reading and writing.
var errEdited = errors.New("the permissions file keeps changing while it is written")

// edit changes the document under the lock. change returns how many entries it added or removed; 0 leaves the file
// alone.
func (s *Store) edit(change func(*document) (int, error)) (n int, err error) {
	err = s.update(func(data []byte) ([]byte, error) {
		doc, err := parseDocument(s.path, data, s.home)
		if err != nil {
			return nil, err
		}
		if n, err = change(doc); n == 0 || err != nil {
			return nil, err
		}
		return doc.text()
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// update replaces the text of the file, under the lock, by the result of change. If that is nil, the file stays. If
// somebody saves the file meanwhile, update calls change again with the new text.
func (s *Store) update(change func(data []byte) ([]byte, error)) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	if s.shared != nil {
		return s.sharedUpdate(change)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.locked(func() error {
		if err := s.ensure(); err != nil {
			return err
		}
		for range 3 {
			if err := s.tryUpdate(change); !errors.Is(err, errEdited) {
				return err
			}
		}
		return errEdited
	})
}

// ensure creates the file on first use. The caller holds mu and the lock between processes.
func (s *Store) ensure() error {
	if s.seen {
		return nil
	}
	if err := s.seed(); err != nil {
		return err
	}
	s.seen = true
	return nil
}

func (s *Store) tryUpdate(change func(data []byte) ([]byte, error)) error {
	data, info, err := readFile(s.path, nil)
	if err != nil {
		return s.forget(err)
	}
	written, err := change(data)
	if written == nil || err != nil {
		return err
	}
	now, err := durable.Look(s.path)
	if err != nil {
		return s.forget(err)
	}
	if !now.Same(info.stamp) {
		return errEdited
	}
	return durable.Replace(s.path, written, info.Mode().Perm())
}

// locked creates the directory if needed and runs f with the lock between processes held.
func (s *Store) locked(f func() error) error {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return err
	}
	return durable.Locked(s.path+".lock", f)
}
