package checkpoint

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"slices"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"

	"callgate/internal/nolink"
)

// FileDiff is the difference of one path between what was kept and now.
type FileDiff struct {
	Path         string `json:"path"`
	What         string `json:"state"`                  // created, changed, deleted or leftOut: what has happened since
	Before       Entry  `json:"before"`                 // what was kept
	Now          Entry  `json:"now"`                    // what is there
	Diff         string `json:"diff,omitempty"`         // unified, from what was kept to now; "" if not text
	Binary       bool   `json:"binary,omitempty"`       // a side is not text, or there is too much to compare
	Hidden       bool   `json:"hidden,omitempty"`       // the rules deny reading it: only the change itself is shown
	ChangedSince bool   `json:"changedSince,omitempty"` // it is not as the call left it: restoring needs force
	Gone         bool   `json:"gone,omitempty"`         // Left: the state after the call exists nowhere any more
}

// ShowOptions selects what Diff and Left show.
type ShowOptions struct {
	Paths []string // absolute; only these and what is beneath them; none means all
	// Hidden reports whether the rules deny reading the file now. It MUST NOT be nil; it may always return false.
	Hidden func(path string) bool
}

// Limits for comparing line by line, in bytes: for one file, and for all files together.
const (
	maxDiff  = 1 << 20
	maxDiffs = 4 << 20
)

// Diff returns how the paths of a checkpoint differ now from what was kept. It writes nothing.
func (s *Store) Diff(ctx context.Context, id string, o ShowOptions) ([]FileDiff, error) {
	p, err := s.plan(ctx, id, o.Paths)
	if err != nil {
		return nil, err
	}
	defer p.kept.close()
	return p.show(p.steps, o, func(st step) ([]byte, error) { return p.current(st.Path) }), nil
}

// Left returns what the call of a checkpoint itself changed. The content is known if the file is still as the call left
// it, or if a later checkpoint kept it.
func (s *Store) Left(id string, o ShowOptions) (list []FileDiff, err error) {
	p := &plan{store: s}
	if p.checkpoint, err = s.Get(id); err != nil {
		return nil, err
	}
	segments, err := s.volume.list()
	if err != nil {
		return nil, err
	}
	if p.kept, err = s.contents(p.checkpoint.segment); err != nil {
		return nil, err
	}
	all := []*contents{p.kept}
	defer func() {
		for _, c := range all {
			err = errors.Join(err, c.close())
		}
	}()
	var steps []step
	for _, x := range p.checkpoint.Changed {
		steps = append(steps, step{Change: x})
	}
	return p.show(steps, o, func(st step) ([]byte, error) {
		if data, err := p.current(st.Path); err == nil && sha256.Sum256(data) == st.After.Hash {
			return data, nil
		}
		for _, c := range all {
			if data, err := c.get(st.After.Hash); err == nil {
				return data, nil
			}
		}
		for len(segments) > 0 {
			name := segments[0].name
			segments = segments[1:]
			c, err := s.contents(name)
			if err != nil {
				continue // a segment that is being swept keeps nothing
			}
			all = append(all, c)
			if data, err := c.get(st.After.Hash); err == nil {
				return data, nil
			}
		}
		return nil, errGone
	}), nil
}

var errGone = errors.New("the state after the call is gone")

// show compares the sides of each step. after reads the second side.
func (p *plan) show(steps []step, o ShowOptions, after func(step) ([]byte, error)) (out []FileDiff) {
	room := maxDiffs
	for _, st := range steps {
		d := FileDiff{Path: st.Path, What: st.What(), Before: st.Before, Now: st.After, ChangedSince: st.changedSince}
		switch {
		case st.Secret || o.Hidden(st.Path):
			d.Hidden = true
			d.Before, d.Now = Entry{Kind: d.Before.Kind, Mode: d.Before.Mode}, Entry{Kind: d.Now.Kind, Mode: d.Now.Mode}
		case st.Before.Kind == File || st.After.Kind == File:
			if d.Binary = room <= 0; !d.Binary {
				var err error
				d.Diff, err = p.text(st, after)
				d.Gone = errors.Is(err, errGone)
				d.Binary = err != nil && !d.Gone
				room -= len(d.Diff)
			}
		}
		out = append(out, d)
	}
	return out
}

var errBinary = errors.New("it is not text, or too large to compare")

// text compares the two sides of a file, one of which may be absent.
func (p *plan) text(st step, after func(step) ([]byte, error)) (string, error) {
	var sides [2][]byte
	for i, e := range []Entry{st.Before, st.After} {
		switch {
		case e.Kind == Symlink:
			sides[i] = []byte(e.Target + "\n")
		case e.Kind != File:
		case e.Size > maxDiff:
			return "", errBinary
		case i == 0:
			data, err := p.kept.get(e.Hash)
			if err != nil {
				return "", err
			}
			sides[i] = data
		default:
			data, err := after(st)
			if err != nil {
				return "", err
			}
			sides[i] = data
		}
	}
	if !isText(sides[0]) || !isText(sides[1]) {
		return "", errBinary
	}
	if slices.Equal(sides[0], sides[1]) {
		return "", nil // only the mode differs, or one side is absent and the other empty
	}
	return string(diff.Diff("kept", sides[0], "now", sides[1])), nil
}

// current reads what is at path now.
func (p *plan) current(path string) ([]byte, error) {
	dir, name, _, err := openFolderOf(path, p.checkpoint.Workspace)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxDiff {
		return nil, os.ErrInvalid
	}
	f, err := nolink.File(dir, name, info)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, info.Size())
}

func isText(data []byte) bool {
	return utf8.Valid(data) && bytes.IndexByte(data, 0) < 0
}
