package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// Filter selects checkpoints. Empty fields do not restrict.
type Filter struct {
	SessionID string
	Path      string // absolute: only checkpoints about it or something beneath it
	Idle      bool   // include calls that changed nothing, and cleared checkpoints
	Limit     int    // at most this many; 0 means all
}

// view holds what was read of one segment. It only grows.
type view struct {
	read        int64
	checkpoints []*Checkpoint
	events      []event
}

// List returns checkpoints of all processes that share the store, newest first.
func (s *Store) List(f Filter) ([]Checkpoint, error) {
	all, err := s.read()
	out := make([]Checkpoint, 0, len(all))
	for _, c := range all {
		if f.SessionID != "" && c.SessionID != f.SessionID ||
			!f.Idle && (c.Cleared || c.Ended && len(c.Changed) == 0) || f.Path != "" && !c.concerns(f.Path) {
			continue
		}
		if out = append(out, c); f.Limit > 0 && len(out) == f.Limit {
			break
		}
	}
	return out, err
}

// concerns reports whether the checkpoint is about the path or something beneath it.
func (c *Checkpoint) concerns(path string) bool {
	if c.Ended {
		return slices.ContainsFunc(c.Changed, func(x Change) bool { return beneath(x.Path, path) })
	}
	return slices.ContainsFunc(c.Before, func(k Kept) bool { return beneath(k.Path, path) || k.Scope != Alone && beneath(path, k.Path) })
}

// Get returns one checkpoint by its ID or a unique prefix of it. Otherwise the error wraps ErrUnknown.
func (s *Store) Get(id string) (Checkpoint, error) {
	all, err := s.read()
	var found []Checkpoint
	for _, c := range all {
		if c.ID == id {
			found = []Checkpoint{c}
			break
		}
		if id != "" && strings.HasPrefix(c.ID, id) {
			found = append(found, c)
		}
	}
	switch {
	case len(found) == 1 && found[0].Cleared:
		return Checkpoint{}, fmt.Errorf("%w: %s was cleared when its verification succeeded", ErrUnknown, found[0].ID)
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return Checkpoint{}, fmt.Errorf("%w: %d checkpoints begin with %q", ErrUnknown, len(found), id)
	}
	return Checkpoint{}, errors.Join(fmt.Errorf("%w: %q (callgate checkpoints list)", ErrUnknown, id), err)
}

// read returns all checkpoints, newest first. A segment that cannot be read does not hide the others.
func (s *Store) read() ([]Checkpoint, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	names, err := s.volume.list()
	seen := map[string]*view{}
	byID := map[string]*Checkpoint{}
	var order []*Checkpoint
	for _, l := range names {
		v := s.views[l.name]
		if v == nil {
			v = &view{}
		}
		if readErr := s.readSegment(l, v); errors.Is(readErr, fs.ErrNotExist) {
			continue // removed meanwhile
		} else if readErr != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", l.name, readErr))
		}
		seen[l.name] = v
		for _, c := range v.checkpoints {
			c := *c
			byID[c.ID] = &c
			order = append(order, &c)
		}
	}
	s.views = seen
	for _, l := range names {
		if v := seen[l.name]; v != nil {
			for i := range v.events {
				if c := byID[v.events[i].ID]; c != nil {
					c.apply(&v.events[i])
				}
			}
		}
	}
	slices.SortStableFunc(order, func(a, b *Checkpoint) int { return b.CreatedAt.Compare(a.CreatedAt) })
	out := make([]Checkpoint, len(order))
	for i, c := range order {
		out[i] = *c
	}
	return out, err
}

func (c *Checkpoint) apply(e *event) {
	if e.Ended {
		c.Ended, c.Changed = true, e.Changed
	}
	c.Verified = c.Verified || e.Verified
	c.Cleared = c.Cleared || e.Cleared
	if e.Restored.After(c.Restored) {
		c.Restored = e.Restored
	}
}

// readSegment reads what was added to a segment since v was read.
func (s *Store) readSegment(l listed, v *view) error {
	r, err := s.volume.open(l.name)
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		h, err := readHeader(r, v.read, l.size)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.kind == recordCheckpoint || h.kind == recordEvent {
			payload, err := readPayload(r, v.read, h)
			if err == nil {
				err = v.add(h.kind, payload, l.name)
			}
			if err != nil { // a power cut can damage one, without harm to those after it
				s.o.Logger.Warn("a record of the checkpoints cannot be read", "segment", l.name, "error", err)
			}
		}
		v.read += headerSize + h.size
	}
}

func (v *view) add(kind byte, payload []byte, segment string) error {
	if kind == recordCheckpoint {
		c := &Checkpoint{segment: segment}
		if err := json.Unmarshal(payload, c); err != nil {
			return err
		}
		v.checkpoints = append(v.checkpoints, c)
		return nil
	}
	var e event
	if err := json.Unmarshal(payload, &e); err != nil {
		return err
	}
	v.events = append(v.events, e)
	return nil
}

// contents reads the contents of a segment by hash. It scans the segment on first use.
type contents struct {
	r     reader
	size  int64
	where map[Hash]span
}

func (s *Store) contents(name string) (*contents, error) {
	r, err := s.volume.open(name)
	if err != nil {
		return nil, err
	}
	names, err := s.volume.list()
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	for _, l := range names {
		if l.name == name {
			return &contents{r: r, size: l.size}, nil
		}
	}
	return nil, errors.Join(fs.ErrNotExist, r.Close())
}

func (c *contents) close() error { return c.r.Close() }

// get returns the bytes with the hash.
func (c *contents) get(hash Hash) ([]byte, error) {
	if c.where == nil {
		c.where = map[Hash]span{}
		for at := int64(0); ; {
			h, err := readHeader(c.r, at, c.size)
			if err != nil {
				break // the end, or what cannot be read: get reports missing contents
			}
			if h.kind == recordContent {
				c.where[h.hash] = span{at, h.size}
			}
			at += headerSize + h.size
		}
	}
	at, ok := c.where[hash]
	if !ok {
		return nil, fmt.Errorf("the content %x… is not in the store", hash[:6])
	}
	return readPayload(c.r, at.at, header{recordContent, at.size, hash})
}

// entries returns the entries of a kept folder.
func (c *contents) entries(hash Hash) (list []Entry, err error) {
	text, err := c.get(hash)
	if err != nil {
		return nil, err
	}
	return list, json.Unmarshal(text, &list)
}
